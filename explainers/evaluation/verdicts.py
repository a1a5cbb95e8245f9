"""How often a verdict names a method, ties or refuses, and how often it holds, from the records of many inputs."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explainers.comparison.standings import SMALLEST
from explainers.comparison.verdict import verdict
from explainers.metrics.intervals import paired
from explainers.results.comparison import Comparison
from explainers.results.verdict import Verdict

Share = list[float]  # mean, low, high

KINDS = ("one", "several", "divided", "tied", "refused")  # of a clear verdict one method, or several
SMALLEST_TRIED = (0.005, 0.01, SMALLEST, 0.05)  # differences in AOPC


@dataclass(frozen=True)
class Judged:
    """The verdict on one input; with another seed; and with random orders under the names of the methods.

    `lucky_somewhere` tells whether one of those random orders beats the others by removing or by keeping.
    """

    verdict: Verdict
    reseeded: Verdict
    lucky: Verdict
    lucky_somewhere: bool


def judge(comparison: Comparison, reseeded: Comparison, smallest: float = SMALLEST) -> Judged:
    """`reseeded` is the same comparison with another seed."""
    random_methods = with_random_orders(comparison, reseeded)
    lucky = verdict(random_methods, finished=True, smallest=smallest)
    return Judged(
        verdict(comparison, finished=True, smallest=smallest),
        verdict(reseeded, finished=True, smallest=smallest),
        lucky,
        set(lucky.within_random) != set(lucky.order),
    )


def with_random_orders(comparison: Comparison, other: Comparison) -> Comparison:
    """The random orders of `other` under the names of the methods; no verdict on them should be given."""
    control = other.random_control
    if control is None:
        raise ValueError("the other comparison has no random orders")
    results = tuple(
        replace(
            result,
            curves=curves,
            metrics={metric: scores[number] for metric, scores in control.scores.items()},
            noise=dict.fromkeys(result.noise, 0.0),
        )
        for number, (result, curves) in enumerate(zip(comparison.results, control.curves, strict=False))
    )
    return replace(comparison, results=results)


def kind(judged: Verdict) -> str:
    if judged.certainty == "clear":
        return "one" if len(judged.best) == 1 else "several"
    return "divided" if judged.divided else judged.certainty


def verdict_rates(pairs: Sequence[tuple[Comparison, Comparison]]) -> dict[str, Any]:
    """Counts and shares, each as mean and 95 % interval over inputs; `pairs` are comparisons with either seed."""
    judged = [judge(*pair) for pair in pairs]
    given = [each for each in judged if each.verdict.best]
    return {
        "inputs": len(judged),
        "methods": [result.attribution.method for result in pairs[0][0].results],
        "kinds": _counts(each.verdict for each in judged),
        "named": dict(Counter(method for each in given for method in each.verdict.best).most_common()),
        "refusals": dict(Counter(_pattern(each.verdict.refusal) for each in judged).most_common()),
        "holds": _holding(given),
        "reseeded": _reseeded(judged),
        "random orders as methods": {
            "beyond all others in one experiment": _share([each.lucky_somewhere for each in judged]),
            "verdict": _share([bool(each.lucky.best) for each in judged]),
        },
        "smallest": {smallest: _reseeded([judge(*pair, smallest) for pair in pairs]) for smallest in SMALLEST_TRIED},
    }


def _counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    counts = Counter(map(kind, verdicts))
    return {each: counts[each] for each in KINDS}


def _holding(given: Sequence[Judged]) -> dict[str, dict[str, Share]]:
    """By operator, and for clear verdicts, ties and both."""
    by_operator: dict[str, dict[str, list[bool]]] = {}
    for each in given:
        for erasure, holds in each.verdict.holds:
            kinds = by_operator.setdefault(erasure, {"all": [], "clear": [], "tied": []})
            kinds["all"].append(holds)
            kinds[each.verdict.certainty].append(holds)
    return {erasure: {name: _share(held) for name, held in kinds.items()} for erasure, kinds in by_operator.items()}


def _reseeded(judged: Sequence[Judged]) -> dict[str, Share]:
    """Of all inputs, and of those on which both seeds give a verdict."""
    both = [(set(each.verdict.best), set(each.reseeded.best)) for each in judged]
    given = [(one, other) for one, other in both if one and other]
    return {
        "verdict with both seeds, or with none": _share([bool(one) == bool(other) for one, other in both]),
        "equally sure": _share([each.verdict.certainty == each.reseeded.certainty for each in judged]),
        "one of the best in common": _share([bool(one & other) for one, other in given]),
        "the same best": _share([one == other for one, other in given]),
        "methods named": [sum(len(one) for one, _ in given) / max(len(given), 1)],
    }


def _share(truths: Sequence[bool]) -> Share:
    """Mean, and the bounds of its interval; empty without inputs."""
    if not truths:
        return []
    interval = paired(np.asarray(truths, dtype=float))
    return [round(value, 3) for value in (interval.mean, interval.low, interval.high)]


def _pattern(refusal: str) -> str:
    """The sentence without its numbers, so that equal reasons are counted together."""
    return re.sub(r"\d+(\.\d+)?", "…", refusal)
