"""A comparison is the fold of the events of a run, in whatever order they come."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from explainers.models.inputs.encoding import Encoding, Unit
from explainers.results.attribution import Attribution, ErasureCurves
from explainers.results.comparison import Comparison
from explainers.results.events import (
    AblatedInputs,
    Duel,
    DuelSide,
    Event,
    Failure,
    MethodResult,
    MethodStarted,
    Narrative,
    NarrativeCheck,
    OperatorCheck,
    RandomControl,
)

ENCODING = Encoding(("good film",), (Unit("good", 0, 4), Unit("film", 5, 9)), (0, 1), (0, 0), (0, 1))
CURVES = ErasureCurves((0, 2), np.zeros((2, 2)), np.zeros((2, 2)), 1)
EMPTY = Comparison(cast(Any, SimpleNamespace(encoding=ENCODING)), (0.25, 0.75), order=("aml", "lime", "occlusion"))


def result(method: str) -> MethodResult:
    return MethodResult(Attribution(method, ENCODING, 1, (1.0, 0.0), signed=True), CURVES, {"aopc_c": 0.5}, {})


def folded(*events: Event) -> Comparison:
    comparison = EMPTY
    for event in events:
        comparison = comparison.with_event(event)
    return comparison


def test_results_and_failures_stand_in_the_order_of_display_whenever_they_come() -> None:
    lime, aml = result("lime"), result("aml")
    failures = Failure("cause", "no file"), Failure("occlusion", "too long")
    comparison = folded(lime, failures[0], aml, failures[1])
    assert comparison.methods == ("aml", "lime")
    assert comparison.results == (aml, lime)
    assert comparison.failures == failures[::-1]  # a narrator is not in the order, so it comes last
    assert comparison.result("lime") is lime
    assert comparison.result("occlusion") is None
    assert (comparison.failure("occlusion"), comparison.failure("lime")) == ("too long", "")


def test_what_only_starts_or_estimates_adds_nothing() -> None:
    assert folded(MethodStarted("lime"), result("lime").attribution) is EMPTY


def test_every_other_event_has_its_place() -> None:
    control = RandomControl((CURVES,), {"aopc_c": (0.0,)})
    ablated = AblatedInputs(("no", "yes"), ("Premise", "Hypothesis"), ((0.5, 0.5),) * 3)
    narrative, check = Narrative("cause", "So.", 1, (), (), 0.1), NarrativeCheck("cause", true=True)
    operators = OperatorCheck("delete"), OperatorCheck("zero")
    duel = Duel((DuelSide("lime", (0,), 0.1, 0.9), DuelSide("aml", (1,), 0.5, 0.5)), 0.75, (0.5,), (0.5,), "lime")
    comparison = folded(operators[0], narrative, check, control, ablated, operators[1], duel)
    assert comparison == replace(
        EMPTY,
        random_control=control,
        ablated_inputs=ablated,
        narratives=(narrative,),
        narrative_checks=(check,),
        operator_checks=operators,
        duels=(duel,),
    )


def test_the_events_of_a_comparison_fold_to_it_again() -> None:
    comparison = folded(
        result("occlusion"),
        Failure("lime", "too long"),
        RandomControl((CURVES,)),
        Narrative("cause", "So.", 1, (), (), 0.1),
        NarrativeCheck("cause"),
        OperatorCheck("zero"),
    )
    assert folded(*comparison.events()) == comparison
