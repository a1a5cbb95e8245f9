"""Agreement by pair of people, by item and over all; Cohen's κ and F1s of several people are means over their pairs."""

from collections.abc import Callable
from itertools import combinations

import numpy as np

from explainers.annotations.agreement import (
    FEW,
    AgreementValue,
    Items,
    alpha,
    bounded,
    cohen,
    common,
    f1,
    f1s,
    fleiss,
    people,
    shared,
)
from explainers.annotations.agreement_tables import Table, confusion, kappas, levels, overlaps
from explainers.annotations.judged import JudgedItem

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
    """By item its α and, of marks, the mean F1s. One item has no interval."""
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
    defined = {pair: each.value for pair, each in values.items() if each.value is not None}
    if not defined:
        first = next(iter(values.values()), None)
        return AgreementValue(name, None, first.items if first else 0, reason=first.reason if first else FEW)
    counted = [item for item in items if any(common(item, *pair) for pair in defined)]
    tables = [np.stack([table(item, *pair) for pair in defined]) for item in counted]  # (pairs, …) each

    def mean(summed: Table) -> Table:
        each = np.stack([statistic(summed[:, number]) for number in range(len(defined))])  # (pairs, R)
        known = ~np.isnan(each)
        total: Table = np.where(known, each, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.where(known.any(axis=0), total, np.nan)

    return bounded(name, float(np.mean(list(defined.values()))), tables, mean)
