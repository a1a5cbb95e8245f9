from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explainers.comparison.decision import card_of
from explainers.comparison.measuring import check_operator, random_orders
from explainers.comparison.runner import run, run_operator_checks
from explainers.errors import Cancelled
from explainers.methods.registry import select
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS, Decision, Settings
from explainers.results.events import MethodResult, OperatorCheck

Compared = Callable[..., Comparison]
FOUR = (0.5, 0.3, 0.2, 0.0)


def falls(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda kept: 0.1 + 0.8 * kept @ np.asarray(weights)


@pytest.fixture
def decision(bert: FrozenModel) -> Decision:
    return Decision(card_of(bert), bert.encode("the film was not good"), 0, Settings(samples=20, steps=3))


def attribution(decision: Decision, method: str, *scores: float) -> Attribution:
    return Attribution(method, decision.encoding, decision.label, scores, signed=True)


def test_the_metrics_are_those_of_the_other_operator(compared: Compared) -> None:
    others = {"zero": falls(*FOUR[::-1])}
    (check,) = compared(falls(*FOUR), {"lime": FOUR}, units=4, others=others).operator_checks
    # under "zero" the first unit weighs 0 and the first two 0.2: COMP is 0 four times and then 0.8 · 0.2
    assert check.erasure == "zero"
    assert check.metrics["lime"]["aopc_c"] == pytest.approx(0.16 / 5)
    assert {"aopc_c", "aopc_s", "log_odds"} <= set(check.metrics["lime"])
    assert "dffot" not in check.metrics["lime"]  # it needs every count
    assert {len(values) for values in check.random.values()} == {RANDOM_ORDERS}


def test_the_operators_are_those_of_the_model_without_the_chosen_one(decision: Decision) -> None:
    assert decision.other_erasures == ("delete", "zero")
    assert replace(decision, settings=Settings(erasure="zero")).other_erasures == ("mask", "delete")


@pytest.mark.parametrize("erasure", ["delete", "zero"])
def test_what_is_known_is_not_asked_again(bert: FrozenModel, decision: Decision, erasure: Erasure) -> None:
    first, second = attribution(decision, "lime", 5, 4, 3, 2, 1), attribution(decision, "occlusion", 1, 5, 2, 4, 3)
    orders = random_orders(decision.encoding, 0)
    whole, one, rest, nothing = Meter(), Meter(), Meter(), Meter()
    expected = check_operator(bert, decision, erasure, [first, second], orders, whole)
    known = check_operator(bert, decision, erasure, [first], orders, one)
    check = check_operator(bert, decision, erasure, [first, second], orders, rest, known)
    assert check_operator(bert, decision, erasure, [first, second], orders, nothing, check) == check
    assert check.random == expected.random
    assert check.metrics["occlusion"] == pytest.approx(expected.metrics["occlusion"], abs=1e-4)
    assert whole.calls <= one.calls + rest.calls
    assert 0 < rest.calls <= 6 < one.calls  # the random orders are not among them: 1 and 3 of five words, and both ends
    assert nothing.calls == 0


def test_a_method_without_metrics_is_known_too(bert: FrozenModel, decision: Decision) -> None:
    lime = attribution(decision, "lime", 5, 4, 3, 2, 1)
    known = OperatorCheck("zero", {"lime": {}}, {"aopc_c": (0.1,)})
    assert check_operator(bert, decision, "zero", [lime], (), Meter(), known) == known


def test_a_method_that_is_no_longer_chosen_is_left_out(bert: FrozenModel, decision: Decision) -> None:
    first, second = attribution(decision, "lime", 5, 4, 3, 2, 1), attribution(decision, "occlusion", 1, 5, 2, 4, 3)
    (known, _) = run_operator_checks(bert, decision, [first, second], Meter())
    (check, _) = run_operator_checks(bert, decision, [second], Meter(), [known])
    assert list(check.metrics) == ["occlusion"]


def test_a_single_random_order_is_no_explanation(bert: FrozenModel, decision: Decision) -> None:
    assert not list(run_operator_checks(bert, decision, [attribution(decision, "random", 5, 4, 3, 2, 1)], Meter()))


def test_results_that_are_known_already_are_checked_with_the_new_ones(bert: FrozenModel, decision: Decision) -> None:
    known = attribution(decision, "lime", 5, 4, 3, 2, 1)
    events = list(run(bert, decision, select(["occlusion"]), Meter(), control_known=True, narrators=(), known=[known]))
    assert isinstance(events[-3], MethodResult)
    assert events[-3].method == "consensus"
    assert [set(event.metrics) for event in events[-2:] if isinstance(event, OperatorCheck)] == [
        {"lime", "occlusion", "consensus"},
        {"lime", "occlusion", "consensus"},
    ]


def test_a_stop_is_raised(bert: FrozenModel, decision: Decision) -> None:
    meter = Meter()
    meter.cancel.set()
    with pytest.raises(Cancelled):
        list(run_operator_checks(bert, decision, [attribution(decision, "lime", 5, 4, 3, 2, 1)], meter))


def test_an_operator_that_fails_says_why_and_leaves_the_others(
    bert: FrozenModel, decision: Decision, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = FrozenModel.probabilities

    def broken(model: FrozenModel, encoding: Encoding, keeps: Any, erasure: Erasure = "mask") -> Any:
        if erasure == "delete":
            raise ValueError("a shape is wrong")
        return original(model, encoding, keeps, erasure)

    monkeypatch.setattr(FrozenModel, "probabilities", broken)
    deleted, zeroed = run_operator_checks(bert, decision, [attribution(decision, "lime", 5, 4, 3, 2, 1)], Meter())
    assert (deleted.failure, dict(deleted.metrics)) == ("Internal error in Crosslight (ValueError).", {})
    assert "lime" in zeroed.metrics
    assert "a shape is wrong" in caplog.text
