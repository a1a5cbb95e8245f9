"""Tables of one item that add up over items, and the statistics of such sums, (R, …) → (R,), NaN where not defined."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from explainers.annotations.judged import JudgedItem

Table = NDArray[np.float64]


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
                {question for question, code in item.codes[each].items() if code} for each in (first, second)
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
