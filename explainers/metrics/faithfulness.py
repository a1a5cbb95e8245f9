"""Faithfulness metrics as plain functions of erasure curves; p is the probability of the explained class.

AOPC-C and AOPC-S follow ERASER (DeYoung et al., 2020) with K ∈ {1, 5, 10, 20, 50} %; log-odds Shrikumar et al. (2017);
DFFOT Serrano and Smith (2019). Their values depend on the erasure operator, which stands next to every number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.refined_curves import refined_curves
from explainers.metrics.spec import CurvesAt, MetricSpec
from explainers.results.comparison import RandomControl
from explainers.results.erasure_curves import PERCENTS, ErasureCurves, curve_counts, metric_counts, top_count
from explainers.results.registry import Registry

Scores = tuple[float, ...]

LEAST_P = 1e-9  # of p in log-odds
SEARCHED_AT_ONCE = 5  # counts per step of the search for a decision flip
DRAWS = 10  # alternative scores at most from which sampling noise is estimated


def comprehensiveness(curves: ErasureCurves, percent: float) -> float:
    """COMP(K) = p(x) - p(x without the top K %)."""
    return curves.full - curves.when_removed(percent)


def sufficiency(curves: ErasureCurves, percent: float) -> float:
    """SUFF(K) = p(x) - p(only the top K %)."""
    return curves.full - curves.when_kept(percent)


def aopc_comprehensiveness(curves: ErasureCurves) -> float:
    """Mean of COMP over `PERCENTS`."""
    return float(np.mean([comprehensiveness(curves, percent) for percent in PERCENTS]))


def aopc_sufficiency(curves: ErasureCurves) -> float:
    """Mean of SUFF over `PERCENTS`."""
    return float(np.mean([sufficiency(curves, percent) for percent in PERCENTS]))


def log_odds(curves: ErasureCurves) -> float:
    """ln p(x without the top 20 %) - ln p(x), p at least 1e-9."""
    return math.log(max(curves.when_removed(20), LEAST_P)) - math.log(max(curves.full, LEAST_P))


def decision_flip(curves: ErasureCurves) -> float:
    """DFFOT: the smallest share of units whose removal changes the predicted class; 1 if none does.

    Read at the counts of the curve: all of them, for inputs of more than 60 units every 2 %. NaN where another class
    than the predicted one is explained: its strongest units are not expected to change the prediction.
    """
    classes = curves.removed.argmax(axis=1)
    if classes[0] != curves.label:
        return math.nan
    flipped = np.flatnonzero(classes != classes[0])
    return float(curves.shares[flipped[0]]) if flipped.size else 1.0


def search_decision_flip(curves_at: CurvesAt, counts: tuple[int, ...]) -> float:
    """DFFOT at `counts`, asking for them only up to the first flip; NaN as in `decision_flip`.

    The class may change and change back, so no count before the flip is left out. Those of `metric_counts` are asked
    one by one, because they are known where a metric at `PERCENTS` was read.
    """
    units = counts[-1]
    curves = curves_at((0,))
    predicted = int(curves.removed[0].argmax())
    if predicted != curves.label:
        return math.nan
    for some in _search_steps(counts):
        flipped = np.flatnonzero(curves_at(some).removed.argmax(axis=1) != predicted)
        if flipped.size:
            return float(some[flipped[0]] / units)
    return 1.0


def _search_steps(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The counts in ascending order without 0, those of the metrics alone, the others a few at a time."""
    known, waiting = set(metric_counts(counts[-1])), list[int]()
    for count in counts[1:]:
        if waiting and (count in known or len(waiting) == SEARCHED_AT_ONCE):
            yield tuple(waiting)
            waiting = []
        if count in known:
            yield (count,)
        else:
            waiting.append(count)
    if waiting:
        yield tuple(waiting)


def curve_area(curves: ErasureCurves, *, kept: bool) -> float:
    """The trapezoid area under p along 0…100 % of the units removed, or kept."""
    line = curves.kept if kept else curves.removed
    return float(np.trapezoid(line[:, curves.label], curves.shares))


METRICS: Registry[MetricSpec] = Registry(
    "metric",
    (
        MetricSpec(
            id="aopc_c",
            name="AOPC-C",
            score=aopc_comprehensiveness,
            higher_is_better=True,
            meaning="Comprehensiveness: mean fall of the probability when the top 1, 5, 10, 20 and 50 % are erased.",
            validated=True,
            verdict="removing",
        ),
        MetricSpec(
            id="aopc_s",
            name="AOPC-S",
            score=aopc_sufficiency,
            higher_is_better=False,
            meaning="Sufficiency: mean fall of the probability when only the top 1, 5, 10, 20 and 50 % are kept.",
            validated=True,
            verdict="keeping",
        ),
        MetricSpec(
            id="log_odds",
            name="Log-odds",
            score=log_odds,
            higher_is_better=False,
            meaning="Change of the log-probability when the top 20 % are erased.",
        ),
        MetricSpec(
            id="dffot",
            name="DFFOT",
            score=decision_flip,
            higher_is_better=False,
            meaning="Decision flip: the smallest share of units, from the top, whose removal changes the prediction. "
            "Only where the predicted class is explained.",
            every_count=True,
            noise="resolution",
            search=search_decision_flip,
        ),
    ),
)


def verdict_metric(experiment: str) -> MetricSpec:
    """The metric that decides the verdict for "removing" or "keeping"."""
    return next(metric for metric in METRICS if metric.verdict == experiment)


def validated_metrics() -> tuple[MetricSpec, ...]:
    """Those that are measured after every epoch while a method is trained."""
    return tuple(metric for metric in METRICS if metric.validated)


def all_metrics(curves: ErasureCurves) -> dict[str, float]:
    """Each metric by id, NaN where it is not defined."""
    return {metric.id: metric.score(curves) for metric in METRICS}


def curves_and_metrics(
    answers: Answers, orders: Sequence[Scores], label: int
) -> tuple[tuple[ErasureCurves, ...], tuple[dict[str, float], ...]]:
    """Of each order the curve and every metric; the curves have few points, at the same counts.

    Metrics that need every count are searched, or all counts are asked where one has no search.
    """
    if any(metric.every_count and metric.search is None for metric in METRICS):
        curves = tuple(erasure_curves(answers, order, label) for order in orders)
    else:
        curves = refined_curves(answers, orders, label)
    values = (_metrics_along(answers, each, order) for each, order in zip(curves, orders, strict=True))
    return curves, tuple(values)


def _metrics_along(answers: Answers, curves: ErasureCurves, scores: Scores) -> dict[str, float]:
    def removed_at(counts: tuple[int, ...]) -> ErasureCurves:
        return erasure_curves(answers, scores, curves.label, counts, kept=False)

    counts = curve_counts(len(scores))
    return {
        metric.id: metric.score(curves) if metric.search is None else metric.search(removed_at, counts)
        for metric in METRICS
    }


def random_control(
    curves: tuple[ErasureCurves, ...], metrics: Sequence[Mapping[str, float]] | None = None
) -> RandomControl:
    """The curves of random orders with their `metrics`, by default those that are read off the curves."""
    values = [all_metrics(each) for each in curves] if metrics is None else metrics
    scores = {metric.id: tuple(each[metric.id] for each in values) for metric in METRICS}
    return RandomControl(curves, scores, {metric.id: metric.aggregate(scores[metric.id]) for metric in METRICS})


def tied_at(scores: tuple[float, ...]) -> tuple[int, ...]:
    """The `PERCENTS` at which the cut falls between equal scores, so that position decides."""
    ordered = sorted(scores, reverse=True)
    cuts = {percent: top_count(len(scores), percent) for percent in PERCENTS}
    return tuple(p for p, cut in cuts.items() if cut < len(scores) and ordered[cut - 1] == ordered[cut])


def sampling_noise(answers: Answers, draws: tuple[tuple[float, ...], ...], label: int) -> dict[str, float]:
    """Each metric's standard deviation over alternative `draws` of the scores, 0 for methods that do not sample.

    Where sampling noise does not apply, the resolution of the metric.
    """
    units = len(answers.encoding.units)
    step = float(max(np.diff(curve_counts(units)))) / units
    every_count = any(metric.every_count and metric.sampling_noise for metric in METRICS)
    counts = curve_counts(units) if every_count else metric_counts(units)
    curves = [erasure_curves(answers, draw, label, counts) for draw in draws[:DRAWS]]
    return {
        metric.id: (float(np.std([metric.score(each) for each in curves])) if curves else 0.0)
        if metric.sampling_noise
        else step
        for metric in METRICS
    }
