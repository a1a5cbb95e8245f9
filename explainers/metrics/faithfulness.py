"""Faithfulness metrics as plain functions of erasure curves, their registry, and how they are measured.

p is the probability of the explained class. AOPC-C and AOPC-S follow ERASER (DeYoung et al., 2020) with
K ∈ {1, 5, 10, 20, 50} %; log-odds Shrikumar et al. (2017); DFFOT Serrano and Smith (2019). Their values depend on the
erasure operator, which stands next to every number.

`measured` is the one loop over metrics: it asks the model only at the counts that a metric reads or searches. The
curves that are drawn start at `first_counts`: the counts of the metrics and the middle of every gap between them. Where
p in the middle of a gap differs by more than TOLERANCE from the straight line between the gap's ends, by removing or by
keeping, both halves get their middle too, and so on, at most down to the counts of `curve_counts`. A bend that does
not show in the middle of a gap is not found.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from explainers.metrics.erasure import MaskedPredictor, erasure_curves, erasure_masks
from explainers.metrics.spec import CurvesAt, MetricSpec
from explainers.results import attribution
from explainers.results.events import RandomControl
from explainers.results.registry import Registry

Scores = tuple[float, ...]
Gap = tuple[int, int]  # places in `curve_counts`
TOLERANCE = 0.08  # of p: how far a drawn line may miss the middle of a gap
LEAST_P = 1e-9  # of p in log-odds
SEARCHED_AT_ONCE = 5  # counts per step of the search for a decision flip
SEARCHED_ORDERS = 5  # random orders for which a metric is searched that needs every count
DRAWS = 10  # alternative scores at most from which sampling noise is estimated


def comprehensiveness(curves: attribution.ErasureCurves, percent: float) -> float:
    """COMP(K) = p(x) - p(x without the top K %)."""
    return curves.full - curves.when_removed(percent)


def sufficiency(curves: attribution.ErasureCurves, percent: float) -> float:
    """SUFF(K) = p(x) - p(only the top K %)."""
    return curves.full - curves.when_kept(percent)


def aopc_comprehensiveness(curves: attribution.ErasureCurves) -> float:
    """Mean of COMP over `PERCENTS`."""
    return float(np.mean([comprehensiveness(curves, percent) for percent in attribution.PERCENTS]))


def aopc_sufficiency(curves: attribution.ErasureCurves) -> float:
    """Mean of SUFF over `PERCENTS`."""
    return float(np.mean([sufficiency(curves, percent) for percent in attribution.PERCENTS]))


def log_odds(curves: attribution.ErasureCurves) -> float:
    """ln p(x without the top 20 %) - ln p(x), p at least 1e-9."""
    return math.log(max(curves.when_removed(20), LEAST_P)) - math.log(max(curves.full, LEAST_P))


def decision_flip(curves: attribution.ErasureCurves) -> float:
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
    known, waiting = set(attribution.metric_counts(counts[-1])), list[int]()
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


METRICS: Registry[MetricSpec] = Registry(
    "metric",
    MetricSpec,
    (
        MetricSpec(
            id="aopc_c",
            name="AOPC-C",
            score=aopc_comprehensiveness,
            higher_is_better=True,
            meaning="Comprehensiveness: mean fall of the probability when the top 1, 5, 10, 20 and 50 % are erased.",
            validated=True,
            decides="removing",
        ),
        MetricSpec(
            id="aopc_s",
            name="AOPC-S",
            score=aopc_sufficiency,
            higher_is_better=False,
            meaning="Sufficiency: mean fall of the probability when only the top 1, 5, 10, 20 and 50 % are kept.",
            validated=True,
            decides="keeping",
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
            f"Only where the predicted class is explained. Of random orders: the mean of {SEARCHED_ORDERS}.",
            every_count=True,
            noise="resolution",
            search=search_decision_flip,
        ),
    ),
    entry_points="crosslight.metrics",
)


def decisive_metric(experiment: str) -> MetricSpec:
    """Return the metric by which an answer is tested for "removing" or "keeping"."""
    return next(metric for metric in METRICS if metric.decides == experiment)


def decisive_metrics() -> tuple[MetricSpec, ...]:
    """Return those by which an answer is tested: AOPC-C and AOPC-S."""
    return tuple(metric for metric in METRICS if metric.decides)


def validated_metrics() -> tuple[MetricSpec, ...]:
    """Those that are measured after every epoch while a method is trained."""
    return tuple(metric for metric in METRICS if metric.validated)


def metrics_at_percents() -> tuple[MetricSpec, ...]:
    """Those that are read at `metric_counts`, so that no other count is asked."""
    return tuple(metric for metric in METRICS if not metric.every_count)


def all_metrics(curves: attribution.ErasureCurves) -> dict[str, float]:
    """Each metric by id as it is read off curves that are known; NaN where it is not defined."""
    return {metric.id: metric.score(curves) for metric in METRICS}


def measured(
    answers: MaskedPredictor,
    scores: Scores,
    label: int,
    metrics: Iterable[MetricSpec] | None = None,
    *,
    curves: attribution.ErasureCurves | None = None,
    searched: tuple[int, ...] | None = None,
) -> dict[str, float]:
    """Each of the metrics (default: all) by id, for the units in the order of `scores`; NaN where it is not defined.

    `curves` hold at least `metric_counts`; without them these are asked. A metric that needs every count is searched
    at the counts `searched`, by default those of `curve_counts`, or read at all of these where it has no search.
    """
    known = erasure_curves(answers, scores, label, attribution.metric_counts(len(scores))) if curves is None else curves
    counts = attribution.curve_counts(len(scores)) if searched is None else searched

    def removed_at(some: tuple[int, ...]) -> attribution.ErasureCurves:
        return erasure_curves(answers, scores, label, some, kept=False)

    values: dict[str, float] = {}
    for metric in METRICS if metrics is None else metrics:
        if metric.search is not None:
            values[metric.id] = metric.search(removed_at, counts)
        else:
            values[metric.id] = metric.score(erasure_curves(answers, scores, label) if metric.every_count else known)
    return values


def prefetch(answers: MaskedPredictor, orders: Sequence[Scores], further: tuple[int, ...] = ()) -> None:
    """Asks in large batches for what `measured` will read of all the orders: `metric_counts`, and the masks without
    the top units at the `further` counts."""
    counts = attribution.metric_counts(len(answers.encoding.units))
    masks = [erasure_masks(order, counts, kept=True) for order in orders]
    masks += [erasure_masks(order, further, kept=False) for order in orders if further]
    if masks:
        answers.probabilities(np.vstack(masks))


def prefetch_decision_flips(answers: MaskedPredictor, orders: Sequence[Scores], label: int) -> None:
    """Asks for what `search_decision_flip` will read of all the orders, at the counts of `curve_counts`: in every step
    of the search the next counts of those that have not flipped yet, in one batch."""
    searched = list(orders)
    for some in ((0,), *_search_steps(attribution.curve_counts(len(answers.encoding.units)))):
        if not searched:
            break
        masks = np.vstack([erasure_masks(order, some, kept=False) for order in searched])
        classes = answers.probabilities(masks).argmax(axis=1).reshape(len(searched), -1)
        stayed = (classes == label).all(axis=1)
        searched = [order for order, stays in zip(searched, stayed, strict=True) if stays]


def curves_and_metrics(
    answers: MaskedPredictor, orders: Sequence[Scores], label: int
) -> tuple[tuple[attribution.ErasureCurves, ...], tuple[dict[str, float], ...]]:
    """For each order the curve and every metric; the curves have few points, at the same counts.

    Metrics that need every count are searched, or all counts are asked where one has no search.
    """
    if any(metric.every_count and metric.search is None for metric in METRICS):
        curves = tuple(erasure_curves(answers, order, label) for order in orders)
    else:
        curves = refined_curves(answers, orders, label)
    pairs = zip(orders, curves, strict=True)
    return curves, tuple(measured(answers, order, label, curves=counts) for order, counts in pairs)


def refined_curves(
    answers: MaskedPredictor, orders: Sequence[tuple[float, ...]], label: int
) -> tuple[attribution.ErasureCurves, ...]:
    """A curve for each of `orders`, all at the same counts, so that a band can be drawn.

    Of several orders the mean line decides where they bend.
    """
    units = len(answers.encoding.units)
    possible, counts = attribution.curve_counts(units), set(attribution.first_counts(units))
    open_gaps = list(pairwise(possible.index(count) for count in attribution.metric_counts(units)))
    while open_gaps := [gap for gap in open_gaps if gap[1] - gap[0] > 1]:
        middles = {(low + high) // 2 for low, high in open_gaps}
        counts |= {possible[middle] for middle in middles}
        lines = _lines(answers, orders, label, tuple(sorted(counts)))
        bent = [gap for gap in open_gaps if _error(lines, possible, gap) > TOLERANCE]
        open_gaps = [half for low, high in bent for half in ((low, (low + high) // 2), ((low + high) // 2, high))]
    return tuple(erasure_curves(answers, order, label, tuple(sorted(counts))) for order in orders)


def _lines(
    answers: MaskedPredictor, orders: Sequence[tuple[float, ...]], label: int, counts: tuple[int, ...]
) -> dict[int, attribution.Floats]:
    """Map each count to p(label) when so many are removed and kept, the mean over the orders, (2,)."""
    masks = np.vstack([erasure_masks(order, counts, kept=True) for order in orders])
    p = answers.probabilities(masks)[:, label].reshape(len(orders), 2, len(counts)).mean(axis=0)
    return dict(zip(counts, p.T, strict=True))


def _error(lines: dict[int, attribution.Floats], possible: Sequence[int], gap: Gap) -> float:
    """How far the straight line over the gap is from the value in its middle."""
    low, middle, high = (possible[place] for place in (gap[0], sum(gap) // 2, gap[1]))
    share = (middle - low) / (high - low)
    return float(np.abs(lines[middle] - (1 - share) * lines[low] - share * lines[high]).max())


def random_control(
    curves: tuple[attribution.ErasureCurves, ...], metrics: Sequence[Mapping[str, float]] | None = None
) -> RandomControl:
    """The curves of random orders with their `metrics`, by default those that are read off the curves. A metric may be
    measured for some of the orders only."""
    values = [all_metrics(curve) for curve in curves] if metrics is None else metrics
    scores = {metric.id: tuple(value[metric.id] for value in values if metric.id in value) for metric in METRICS}
    aggregates = {metric.id: metric.aggregate(scores[metric.id]) for metric in METRICS if scores[metric.id]}
    return RandomControl(curves, {metric: scores[metric] for metric in aggregates}, aggregates)


def postponed_metrics(control: RandomControl) -> tuple[str, ...]:
    """Return the ids of the metrics that were not measured for the random orders, for lack of time."""
    return tuple(metric.id for metric in METRICS if metric.id not in control.scores)


def tied_at(scores: tuple[float, ...]) -> tuple[int, ...]:
    """The `PERCENTS` at which the cut falls between equal scores, so that position decides."""
    ordered = sorted(scores, reverse=True)
    cuts = {percent: attribution.top_count(len(scores), percent) for percent in attribution.PERCENTS}
    return tuple(p for p, cut in cuts.items() if cut < len(scores) and ordered[cut - 1] == ordered[cut])


def sampling_noise(answers: MaskedPredictor, draws: tuple[tuple[float, ...], ...], label: int) -> dict[str, float]:
    """Each metric's standard deviation over alternative `draws` of the scores, 0 for methods that do not sample.

    Where sampling noise does not apply, the resolution of the metric.
    """
    units = len(answers.encoding.units)
    step = float(max(np.diff(attribution.curve_counts(units)))) / units
    metrics = [metric for metric in METRICS if metric.sampling_noise]
    prefetch(answers, draws[:DRAWS])
    values = [measured(answers, draw, label, metrics) for draw in draws[:DRAWS]]
    spread = {metric.id: float(np.std([value[metric.id] for value in values])) if values else 0.0 for metric in metrics}
    return {metric.id: spread.get(metric.id, step) for metric in METRICS}
