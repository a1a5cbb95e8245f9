from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explainers.comparison.operator_check import check_operator, other_operators
from explainers.comparison.runner import random_orders, run, run_operator_checks
from explainers.errors import Cancelled
from explainers.methods.registry import select
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison, MethodResult, Question
from explainers.results.operator_check import OperatorCheck
from explainers.results.settings import Settings

Compared = Callable[..., Comparison]
FOUR = (0.5, 0.3, 0.2, 0.0)


def falls(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda kept: 0.1 + 0.8 * kept @ np.asarray(weights)


@pytest.fixture
def question(bert: FrozenModel) -> Question:
    return Question(bert, bert.encode("the film was not good"), 0, Settings(samples=20, steps=3))


def attribution(question: Question, method: str, *scores: float) -> Attribution:
    return Attribution(method, question.encoding, question.label, scores, signed=True)


def test_the_metrics_are_those_of_the_other_operator(compared: Compared) -> None:
    others = {"zero": falls(*FOUR[::-1])}
    (check,) = compared(falls(*FOUR), {"lime": FOUR}, units=4, others=others).operator_checks
    # under "zero" the first unit weighs 0 and the first two 0.2: COMP is 0 four times and then 0.8 · 0.2
    assert check.erasure == "zero"
    assert check.metrics["lime"]["aopc_c"] == pytest.approx(0.16 / 5)
    assert set(check.metrics["lime"]) == {"aopc_c", "aopc_s", "log_odds"}  # DFFOT needs every count
    assert {len(values) for values in check.random.values()} == {10}


def test_the_operators_are_those_of_the_model_without_the_chosen_one(question: Question) -> None:
    assert other_operators(question) == ("delete", "zero")
    assert other_operators(replace(question, settings=Settings(erasure="zero"))) == ("mask", "delete")


@pytest.mark.parametrize("erasure", ["delete", "zero"])
def test_what_is_known_is_not_asked_again(question: Question, erasure: Erasure) -> None:
    first, second = attribution(question, "lime", 5, 4, 3, 2, 1), attribution(question, "occlusion", 1, 5, 2, 4, 3)
    orders = random_orders(question.model, question.encoding, 0)
    whole, one, rest, nothing = Meter(), Meter(), Meter(), Meter()
    expected = check_operator(question, erasure, [first, second], orders, whole)
    known = check_operator(question, erasure, [first], orders, one)
    check = check_operator(question, erasure, [first, second], orders, rest, known)
    assert check_operator(question, erasure, [first, second], orders, nothing, check) == check
    assert check.random == expected.random
    assert check.metrics["occlusion"] == pytest.approx(expected.metrics["occlusion"], abs=1e-4)
    assert whole.calls <= one.calls + rest.calls
    assert 0 < rest.calls <= 6 < one.calls  # the random orders are not among them: 1 and 3 of five words, and both ends
    assert nothing.calls == 0


def test_a_method_without_metrics_is_known_too(question: Question) -> None:
    each = attribution(question, "lime", 5, 4, 3, 2, 1)
    known = OperatorCheck("zero", {"lime": {}}, {"aopc_c": (0.1,)})
    assert check_operator(question, "zero", [each], (), Meter(), known) == known


def test_a_method_that_is_no_longer_chosen_is_left_out(question: Question) -> None:
    first, second = attribution(question, "lime", 5, 4, 3, 2, 1), attribution(question, "occlusion", 1, 5, 2, 4, 3)
    (known, _) = run_operator_checks(question, [first, second], Meter())
    (check, _) = run_operator_checks(question, [second], Meter(), [known])
    assert list(check.metrics) == ["occlusion"]


def test_a_single_random_order_is_no_explanation(question: Question) -> None:
    assert not list(run_operator_checks(question, [attribution(question, "random", 5, 4, 3, 2, 1)], Meter()))


def test_results_that_are_known_already_are_checked_with_the_new_ones(question: Question) -> None:
    known = attribution(question, "lime", 5, 4, 3, 2, 1)
    events = list(run(question, select(["occlusion"]), Meter(), control_known=True, narrators=(), known=[known]))
    assert isinstance(events[-3], MethodResult)
    assert [set(event.metrics) for event in events[-2:] if isinstance(event, OperatorCheck)] == [
        {"lime", "occlusion"},
        {"lime", "occlusion"},
    ]


def test_a_stop_is_raised(question: Question) -> None:
    meter = Meter()
    meter.cancel.set()
    with pytest.raises(Cancelled):
        list(run_operator_checks(question, [attribution(question, "lime", 5, 4, 3, 2, 1)], meter))


def test_an_operator_that_fails_says_why_and_leaves_the_others(
    question: Question, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = FrozenModel.probabilities

    def broken(model: FrozenModel, encoding: Encoding, keeps: Any, erasure: Erasure = "mask") -> Any:
        if erasure == "delete":
            raise ValueError("a shape is wrong")
        return original(model, encoding, keeps, erasure)

    monkeypatch.setattr(FrozenModel, "probabilities", broken)
    deleted, zeroed = run_operator_checks(question, [attribution(question, "lime", 5, 4, 3, 2, 1)], Meter())
    assert (deleted.failure, dict(deleted.metrics)) == ("Internal error in Crosslight (ValueError).", {})
    assert "lime" in zeroed.metrics
    assert "a shape is wrong" in caplog.text
