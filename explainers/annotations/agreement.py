"""How far several people agree, with the number of items and a 95 % bootstrap interval over items.

Cohen's κ of two people (scikit-learn), Fleiss' κ (1971), Krippendorff's α with missing answers (2011), F1 of
marked units, F1 of marked spans: exact, or relaxed, where a span is matched by any that overlaps it. What is not
defined is None with the reason. `agreement_overview` has them by item, by pair and over all.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.metrics import cohen_kappa_score

from explainers.annotations.agreement_tables import (
    Table,
    alphas,
    coincidences,
    confusion,
    fleiss_counts,
    fleiss_kappas,
    kappas,
    levels,
    overlaps,
)
from explainers.annotations.judged import JudgedItem
from explainers.metrics.intervals import RESAMPLES

Items = Sequence[JudgedItem]
FEW = "Fewer than two people answered the same item."
CONSTANT = "All answers are the same, so that agreement beyond chance is not defined."
NOTHING = "Nobody marked anything."


@dataclass(frozen=True)
class AgreementValue:
    """`value` is None where it is not defined, and `reason` says why. `items` are those that count.

    `low` and `high` bound 95 % of the bootstrap; None with one item, or where a resample is not defined.
    """

    name: str
    value: float | None
    items: int = 0
    low: float | None = None
    high: float | None = None
    reason: str = ""


def people(items: Items) -> tuple[str, ...]:
    return tuple(sorted({person for item in items for person in item.codes}))


def shared(items: Items, one: str, other: str) -> list[JudgedItem]:
    """The items with a question that both people answered; people who gave different classes share none about marks."""
    return [item for item in items if common(item, one, other)]


def common(item: JudgedItem, one: str, other: str) -> frozenset[str]:
    """The questions of an item that both people answered."""
    return frozenset(item.codes.get(one, {}).keys() & item.codes.get(other, {}).keys())


def cohen(items: Items, one: str, other: str) -> AgreementValue:
    name = "Cohen's κ"
    both = shared(items, one, other)
    answers = [
        (item.codes[one][question], item.codes[other][question])
        for item in both
        for question in item.questions
        if question in common(item, one, other)
    ]
    if not answers:
        return AgreementValue(name, None, len(both), reason=FEW)
    known = sorted({code for pair in answers for code in pair})
    if len(known) == 1:
        return AgreementValue(name, None, len(both), reason=CONSTANT)
    first, second = ([known.index(code) for code in codes] for codes in zip(*answers, strict=True))
    tables = [confusion(item, one, other, levels(both)) for item in both]
    return bounded(name, float(cohen_kappa_score(first, second)), tables, kappas)


def alpha(items: Items, *, ordinal: bool) -> AgreementValue:
    """Every question is a unit of the reliability data; people who did not answer it are missing there."""
    name, known = f"Krippendorff's α, {'ordinal' if ordinal else 'nominal'}", levels(items)
    tables = [coincidences(item, known) for item in items]
    counted = [table for table in tables if table.any()]
    if not counted:
        return AgreementValue(name, None, reason=FEW)
    if np.count_nonzero(np.sum(counted, axis=(0, 1))) < 2:
        return AgreementValue(name, None, len(counted), reason=CONSTANT)
    statistic = partial(alphas, ordinal=ordinal)
    (value,) = statistic(np.sum(counted, axis=0)[None])
    return bounded(name, float(value), counted, statistic)


def fleiss(items: Items) -> AgreementValue:
    """Over the questions that were answered by as many people as most are: Fleiss' κ needs equally many for each."""
    name, known = "Fleiss' κ", levels(items)
    counts = [sum(question in own for own in item.codes.values()) for item in items for question in item.questions]
    several = [count for count in counts if count > 1]
    if not several:
        return AgreementValue(name, None, reason=FEW)
    raters = max(sorted(set(several), reverse=True), key=several.count)
    counted = [table for item in items if (table := fleiss_counts(item, known, raters))[-1]]
    (value,) = fleiss_kappas(np.sum(counted, axis=0)[None])
    if math.isnan(value):
        return AgreementValue(name, None, len(counted), reason=CONSTANT)
    return bounded(name, float(value), counted, fleiss_kappas)


def f1(items: Items, one: str, other: str, kind: str) -> AgreementValue:
    """`kind` is "units", "exact spans" or "relaxed spans"."""
    name, both = f"F1 of {kind}", shared(items, one, other)
    if not both:
        return AgreementValue(name, None, reason=FEW)
    tables = [overlaps(item, one, other, kind) for item in both]
    (value,) = f1s(np.sum(tables, axis=0)[None])
    if math.isnan(value):
        return AgreementValue(name, None, len(both), reason=NOTHING)
    return bounded(name, float(value), tables, f1s)


def f1s(summed: Table) -> Table:
    """From rows of hits in one's marks, one's marks, hits in the other's and the other's, (R, 4)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(summed[:, 1] > 0, summed[:, 0] / summed[:, 1], 0.0)
        recall = np.where(summed[:, 3] > 0, summed[:, 2] / summed[:, 3], 0.0)
        harmonic = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), 0.0)
    return np.where(summed[:, 1] + summed[:, 3] > 0, harmonic, np.nan)


def bounded(name: str, value: float, tables: Sequence[Table], statistic: Callable[[Table], Table]) -> AgreementValue:
    """With the interval of the statistic over resampled items. `tables` add up over items; `statistic` takes (R, …)."""
    items = len(tables)
    if items < 2:
        return AgreementValue(name, value, items)
    draws = np.random.default_rng(0).integers(0, items, (RESAMPLES, items))
    times: Table = np.stack([np.bincount(draw, minlength=items) for draw in draws]).astype(float)  # (R, items)
    resampled = statistic(np.tensordot(times, np.stack(tables), axes=1))
    if np.isnan(resampled).mean() > 0.05:
        return AgreementValue(name, value, items)
    low, high = np.nanquantile(resampled, (0.025, 0.975))
    return AgreementValue(name, value, items, float(low), float(high))
