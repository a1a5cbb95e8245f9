"""How far several people agree, with the number of items and a 95 % bootstrap interval over items.

Cohen's κ of two people (scikit-learn), Fleiss' κ (1971), Krippendorff's α with missing answers (2011), F1 of
marked units, F1 of marked spans: exact, or relaxed, where a span is matched by any that overlaps it. What is not
defined is None with the reason. `of_items`, `of_pairs` and `overall` have them.

Tables of one item that add up over items, and the statistics of such sums, (R, …) → (R,), NaN where not defined.

Agreement by pair of people, by item and over all; Cohen's κ and F1s of several people are means over their pairs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from explainers.annotations.judged import JudgedItem
from explainers.metrics.bootstrap import interval_of_rows, item_weights

Table = NDArray[np.float64]
UNDEFINED = 0.05  # of the resamples at most; with more there is no interval


def levels(items: Sequence[JudgedItem]) -> tuple[float, ...]:
    """The values that somebody gave, in order."""
    return tuple(sorted({code for item in items for own in item.codes.values() for code in own.values()}))


def confusion(item: JudgedItem, one: str, other: str, known: Sequence[float]) -> Table:
    """How often each value of one person met each of the other, (V, V); zeros unless both answered."""
    table = np.zeros((len(known), len(known)))
    mine, theirs = item.codes.get(one, {}), item.codes.get(other, {})
    for question in mine.keys() & theirs.keys():
        table[known.index(mine[question]), known.index(theirs[question])] += 1
    return table


def kappas(summed: Table) -> Table:
    """Cohen's κ = (p_o - p_e) / (1 - p_e) of confusion tables (R, V, V)."""
    total = summed.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(summed, axis1=1, axis2=2) / total
        expected = (summed.sum(axis=1) * summed.sum(axis=2)).sum(axis=1) / total**2
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def value_counts(item: JudgedItem, known: Sequence[float]) -> Table:
    """How many people gave each value to each question, (questions, V)."""
    rows = {question: row for row, question in enumerate(item.questions)}
    table = np.zeros((len(rows), len(known)))
    for own in item.codes.values():
        for question, code in own.items():
            table[rows[question], known.index(code)] += 1
    return table


def coincidences(item: JudgedItem, known: Sequence[float]) -> Table:
    """Krippendorff's coincidences: each pair of answers to a question counts 1 / (answers - 1), (V, V)."""
    counts = value_counts(item, known)
    counts = counts[counts.sum(axis=1) > 1]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(known))
    table: Table = (pairs / (counts.sum(axis=1)[:, None, None] - 1)).sum(axis=0)
    return table


def alphas(summed: Table, *, ordinal: bool) -> Table:
    """α = 1 - (n - 1) Σ o_ck δ_ck / Σ n_c n_k δ_ck of coincidences (R, V, V)."""
    totals = summed.sum(axis=2)  # (R, V)
    size = summed.shape[1]
    if ordinal:
        before = totals.cumsum(axis=1) - totals / 2  # up to the middle of each value
        difference = (before[:, :, None] - before[:, None, :]) ** 2
    else:
        difference = np.broadcast_to(1 - np.eye(size), summed.shape)
    observed = (summed * difference).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * difference).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (totals.sum(axis=1) - 1) * observed / expected, np.nan)


def fleiss_counts(item: JudgedItem, known: Sequence[float], raters: int) -> Table:
    """Over questions with so many answers: the sum of each question's agreement, answers by value, and questions."""
    counts = value_counts(item, known)
    counts = counts[counts.sum(axis=1) == raters]
    agreement = ((counts**2).sum() - counts.sum()) / (raters * (raters - 1))
    return np.array([agreement, *counts.sum(axis=0), len(counts)])


def fleiss_kappas(summed: Table) -> Table:
    """κ = (P - P_e) / (1 - P_e) of `fleiss_counts` (R, 1 + V + 1)."""
    answers = summed[:, 1:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = summed[:, 0] / summed[:, -1]
        expected = ((answers / answers.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def overlaps(item: JudgedItem, one: str, other: str, kind: str) -> Table:
    """How many of one's marks the other hits, one's marks, and both with exchanged roles, (4,); 0 where they
    share no question."""
    if not item.codes.get(one, {}).keys() & item.codes.get(other, {}).keys():
        return np.zeros(4)
    counts: list[float] = []
    for first, second in permutations((one, other)):
        if kind == "units":
            mine, theirs = (
                {question for question, code in item.codes[rater].items() if code} for rater in (first, second)
            )
            counts += [len(mine & theirs), len(mine)]
        else:
            spans = item.spans[first], item.spans[second]
            hit = [
                span for span in spans[0] if span in spans[1] or (kind == "relaxed spans" and touches(span, spans[1]))
            ]
            counts += [len(hit), len(spans[0])]
    return np.array(counts, dtype=float)


def touches(span: tuple[int, int, int], others: frozenset[tuple[int, int, int]]) -> bool:
    return any(span[0] == text and start < span[2] and span[1] < end for text, start, end in others)


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
    from sklearn.metrics import cohen_kappa_score  # takes two seconds, and who annotates does not need it

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
    resampled = statistic(np.tensordot(item_weights(items), np.stack(tables), axes=1))
    if np.isnan(resampled[1:]).mean() > UNDEFINED:
        return AgreementValue(name, value, items)
    bounds = interval_of_rows(resampled, items)
    return AgreementValue(name, value, items, bounds.low, bounds.high)


F1_KINDS = ("units", "exact spans", "relaxed spans")
Pair = tuple[str, str]


def of_pairs(items: Items) -> dict[Pair, tuple[AgreementValue, ...]]:
    """Cohen's κ of every two people who share an item and, where they marked evidence, the three F1s."""
    values = {}
    for pair in pairs_of(items):
        both = shared(items, *pair)
        kinds = F1_KINDS if any(item.spans for item in both) else ()
        values[pair] = (cohen(both, *pair), *(f1(both, *pair, kind) for kind in kinds))
    return values


def of_items(items: Items, *, ordinal: bool) -> dict[str, tuple[AgreementValue, ...]]:
    """Map each item to its α and, of marks, the mean F1s. One item has no interval."""
    several = (item for item in items if len(item.codes) > 1)
    return {item.id: (alpha([item], ordinal=ordinal), *mean_f1s([item])) for item in several}


def overall(items: Items, *, ordinal: bool) -> tuple[AgreementValue, ...]:
    """Mean Cohen's κ, Fleiss' κ, α (nominal and, for numbers with an order, ordinal too) and mean F1s of marks."""
    known = levels(items)
    kappa = mean_of_pairs(
        "Cohen's κ", items, cohen, lambda item, one, other: confusion(item, one, other, known), kappas
    )
    both = (alpha(items, ordinal=False), *((alpha(items, ordinal=True),) if ordinal else ()))
    return (kappa, fleiss(items), *both, *mean_f1s(items))


def mean_f1s(items: Items) -> tuple[AgreementValue, ...]:
    """None for answers that are no marks."""
    if not any(item.spans for item in items):
        return ()
    return tuple(_mean_f1(items, kind) for kind in F1_KINDS)


def _mean_f1(items: Items, kind: str) -> AgreementValue:
    return mean_of_pairs(
        f"F1 of {kind}",
        items,
        lambda own, one, other: f1(own, one, other, kind),
        lambda item, one, other: overlaps(item, one, other, kind),
        f1s,
    )


def pairs_of(items: Items) -> list[Pair]:
    """Those who share an item."""
    return [pair for pair in combinations(people(items), 2) if shared(items, *pair)]


def mean_of_pairs(
    name: str,
    items: Items,
    of_pair: Callable[[Items, str, str], AgreementValue],
    table: Callable[[JudgedItem, str, str], Table],
    statistic: Callable[[Table], Table],
) -> AgreementValue:
    """The mean over the pairs for which it is defined; the interval resamples the items of all pairs together."""
    values = {pair: of_pair(items, *pair) for pair in pairs_of(items)}
    defined = {pair: value.value for pair, value in values.items() if value.value is not None}
    if not defined:
        first = next(iter(values.values()), None)
        return AgreementValue(name, None, first.items if first else 0, reason=first.reason if first else FEW)
    counted = [item for item in items if any(common(item, *pair) for pair in defined)]
    tables = [np.stack([table(item, *pair) for pair in defined]) for item in counted]  # (pairs, …) each

    def mean(summed: Table) -> Table:
        statistics = np.stack([statistic(summed[:, number]) for number in range(len(defined))])  # (pairs, R)
        known = ~np.isnan(statistics)
        total: Table = np.where(known, statistics, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.where(known.any(axis=0), total, np.nan)

    return bounded(name, float(np.mean(list(defined.values()))), tables, mean)
