"""Which methods of a comparison take part in its verdict, and which only stand beside it."""

import math
from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.standings import evidence
from explainers.methods.registry import method_spec
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import tied_at
from explainers.results.erasure_curves import PERCENTS

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult

ALIKE = 1e-6  # of the largest score; smaller differences are rounding


def spec_of(result: "MethodResult") -> MethodSpec:
    return method_spec(result.attribution.method)


def abstains(result: "MethodResult", comparison: "Comparison") -> bool:
    """Whether the method explains the predicted class while another one is asked for."""
    return spec_of(result).explains_predicted_only and comparison.question.label != comparison.predicted


def ranks(result: "MethodResult") -> bool:
    """Whether the scores order the units: not if all are equal, or if at every cut the position in the text decides."""
    scores = result.attribution.scores
    alike = float(np.ptp(scores)) <= ALIKE * float(np.abs(scores).max())
    return not alike and len(tied_at(scores)) < len(PERCENTS)


def comparable_results(comparison: "Comparison") -> list["MethodResult"]:
    """The results that may lead: neither optimised on the metrics, nor random, one part or a person's order."""
    specs = ((result, spec_of(result)) for result in comparison.displayed_results)
    return [result for result, spec in specs if spec.comparable and not spec.is_random]


def by_evidence(comparison: "Comparison", last: frozenset[str]) -> tuple[str, ...]:
    """Every finished method, the one with the most evidence (AOPC-C - AOPC-S) first; those in `last` at the end."""
    values = {result.attribution.method: evidence(result.metrics) for result in comparison.results}
    control = comparison.random_control
    if control is not None and control.method in values:
        values[control.method] = evidence(control.metrics)
    defined = {method: -math.inf if math.isnan(value) else value for method, value in values.items()}
    return tuple(sorted(defined, key=lambda method: (method in last, -defined[method])))
