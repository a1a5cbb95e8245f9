"""The faithfulness metrics of three papers as published, where they differ from the project's own definitions.

They share the names COMP and SUFF with ERASER, and differ in the operator, the cuts, the rounding and in what SUFF
removes, so that values of two papers cannot be compared. n is the number of units, p the probability of the class.

Every method on a data set by the metrics of the papers as published.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from explainers.comparison.decision import card_of
from explainers.comparison.runner import example_of, failure
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.measurement import Scores, control_scores, final_attribution, predicted_class
from explainers.methods.registry import applicable
from explainers.methods.spec import MethodSpec
from explainers.metrics.bootstrap import mean_interval
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.prediction_cache import PredictionCache
from explainers.results.attribution import PERCENTS, ErasureCurves, top_count
from explainers.results.decision import Decision
from explainers.results.settings import Settings

AML_PERCENT = 20
AML_DIVISOR = len(PERCENTS) + 1  # of the authors' code; the paper's text says |B|, which is one less
CIMI_COUNTS = (1, 5, 10, 20, 50)
CIEM_PERCENTS = (10, 20, 30, 40, 45)


@dataclass(frozen=True)
class PublishedMetric:
    """`score` reads curves that were measured under `erasure` at `counts` of n, to which both ends are added."""

    id: str
    name: str
    source: str
    erasure: Erasure
    counts: Callable[[int], tuple[int, ...]]
    score: Callable[[ErasureCurves], float]
    higher_is_better: bool
    meaning: str

    def points(self, units: int) -> tuple[int, ...]:
        """The counts at which the curves are measured."""
        return tuple(sorted({0, units, *self.counts(units)}))


def removed(curves: ErasureCurves, count: int) -> float:
    """p(x) - p(x without the top `count` units)."""
    return curves.full - float(curves.removed[curves.counts.index(count), curves.label])


def kept(curves: ErasureCurves, count: int) -> float:
    """p(x) - p(only the top `count` units)."""
    return curves.full - float(curves.kept[curves.counts.index(count), curves.label])


def rounded_down(units: int, percent: float) -> int:
    return int(units * percent / 100 + 1e-9)


def aml_counts(units: int) -> tuple[int, ...]:
    return tuple(rounded_down(units, percent) for percent in (AML_PERCENT, *PERCENTS))


def aml_kept(curves: ErasureCurves, percent: float) -> float:
    """As in the authors' code 0, "nothing is lost", where no unit is kept."""
    count = rounded_down(curves.units, percent)
    return kept(curves, count) if count else 0.0


def aml_aopc_c(curves: ErasureCurves) -> float:
    return sum(removed(curves, rounded_down(curves.units, percent)) for percent in PERCENTS) / AML_DIVISOR


def aml_aopc_s(curves: ErasureCurves) -> float:
    return sum(aml_kept(curves, percent) for percent in PERCENTS) / AML_DIVISOR


def cimi_counts(units: int) -> tuple[int, ...]:
    return tuple(min(count, units) for count in CIMI_COUNTS)


def cimi_comp(curves: ErasureCurves) -> float:
    return float(np.mean([removed(curves, count) for count in cimi_counts(curves.units)]))


def cimi_suff(curves: ErasureCurves) -> float:
    return float(np.mean([kept(curves, count) for count in cimi_counts(curves.units)]))


def ciem_counts(units: int) -> tuple[int, ...]:
    tops = [top_count(units, percent) for percent in CIEM_PERCENTS]
    return tuple({*tops, *(units - top for top in tops)})


def ciem_comp(curves: ErasureCurves) -> float:
    return float(np.mean([removed(curves, top_count(curves.units, percent)) for percent in CIEM_PERCENTS]))


def ciem_suff(curves: ErasureCurves) -> float:
    """The least important units are removed, where ERASER keeps only the most important ones."""
    counts = [curves.units - top_count(curves.units, percent) for percent in CIEM_PERCENTS]
    return float(np.mean([kept(curves, count) for count in counts]))


AML, CIMI, CIEM = "Barkan et al., 2024, A.5", "Wu et al., 2023, A.1.3", "Liu, Zhang et al., Table 2"
AOPC_CODE = "1, 5, 10, 20 and 50 % rounded down, the sum divided by 6 as in the authors' code"

PUBLISHED: tuple[PublishedMetric, ...] = (
    PublishedMetric(
        "aml_comp",
        "AML Comp",
        AML,
        "delete",
        aml_counts,
        lambda curves: removed(curves, rounded_down(curves.units, AML_PERCENT)),
        True,
        "Fall of p when the top 20 %, rounded down, are deleted.",
    ),
    PublishedMetric(
        "aml_suff",
        "AML Suff",
        AML,
        "delete",
        aml_counts,
        lambda curves: aml_kept(curves, AML_PERCENT),
        False,
        "Fall of p when all but the top 20 %, rounded down, are deleted; 0 where that is no unit.",
    ),
    PublishedMetric("aml_aopc_c", "AML A-C", AML, "delete", aml_counts, aml_aopc_c, True, f"Its Comp at {AOPC_CODE}."),
    PublishedMetric("aml_aopc_s", "AML A-S", AML, "delete", aml_counts, aml_aopc_s, False, f"Its Suff at {AOPC_CODE}."),
    PublishedMetric(
        "cimi_comp",
        "CIMI COMP",
        CIMI,
        "zero",
        cimi_counts,
        cimi_comp,
        True,
        "Mean fall of p when the top 1, 5, 10, 20 and 50 units, not percent, become zero embeddings.",
    ),
    PublishedMetric(
        "cimi_suff",
        "CIMI SUFF",
        CIMI,
        "zero",
        cimi_counts,
        cimi_suff,
        False,
        "Mean fall of p when only the top 1, 5, 10, 20 and 50 units are kept; 0 for counts of n and more.",
    ),
    PublishedMetric(
        "ciem_comp",
        "CIEM COMP",
        CIEM,
        "zero",
        ciem_counts,
        ciem_comp,
        True,
        "Mean fall of p when the top 10, 20, 30, 40 and 45 % become zero embeddings.",
    ),
    PublishedMetric(
        "ciem_suff",
        "CIEM SUFF",
        CIEM,
        "zero",
        ciem_counts,
        ciem_suff,
        False,
        "Mean fall of p when the least important 10, 20, 30, 40 and 45 % become zero embeddings.",
    ),
)


Progress = Callable[[str], None]


def published_rows(
    model: FrozenModel, inputs: Sequence[Example], specs: Sequence[MethodSpec], settings: Settings, progress: Progress
) -> list[dict[str, Any]]:
    """A row per method and control with an interval per metric, or the reason why there is none.

    Only metrics whose operator the model has. Raises `DataUnavailable` if no input has a unit.
    """
    metrics = [metric for metric in PUBLISHED if metric.erasure in model.erasures]
    values, reasons = dict[str, list[dict[str, float]]](), dict[str, str]()
    encodings = [
        encoding for encoding in (model.encode(example, settings.unit) for example in inputs) if encoding.units
    ]
    if not encodings:
        raise DataUnavailable("None of the inputs has a word.")
    for number, encoding in enumerate(encodings):
        pooled = model.pooled(PredictionCache())
        decision = Decision(card_of(model), encoding, predicted_class(pooled, encoding), settings)
        orders = control_scores(decision)
        for spec in applicable(specs, example_of(encoding)):
            values.setdefault(spec.id, [])
            try:
                orders[spec.id] = [final_attribution(spec, pooled, decision).scores]
            except Exception as error:  # one method must not end the others
                reasons[spec.id] = failure(spec.id, error).reason
        for method, several in orders.items():
            values.setdefault(method, []).append(
                _mean([published_values(pooled, decision, scores, metrics) for scores in several])
            )
        if (number + 1) % 25 == 0:
            progress(f"{number + 1} of {len(encodings)} inputs")
    return [_row(method, mine, reasons.get(method, "")) for method, mine in values.items()]


def published_values(
    model: FrozenModel, decision: Decision, scores: Scores, metrics: Sequence[PublishedMetric]
) -> dict[str, float]:
    """The metrics of one explanation, by id."""
    result = {}
    for metric in metrics:
        answers = MaskedPredictor(model, decision.encoding, metric.erasure)
        curves = erasure_curves(answers, scores, decision.label, metric.points(len(scores)))
        result[metric.id] = metric.score(curves)
    return result


def _mean(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {id: float(np.mean([values[id] for values in several])) for id in several[0]}


def _row(method: str, values: Sequence[Mapping[str, float]], reason: str) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method, "inputs": len(values)}
    if not values:
        return row | {"reason": reason}
    return row | {"metrics": {id: asdict(mean_interval(np.array([value[id] for value in values]))) for id in values[0]}}
