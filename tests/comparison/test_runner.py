from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from explainers.api import explain
from explainers.comparison import runner
from explainers.comparison.decision import card_of, decide
from explainers.comparison.measuring import run_random_control
from explainers.comparison.runner import (
    Event,
    MethodStarted,
    estimates,
    run,
)
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import METHODS, SLOW, MethodSpec, select
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import METRICS, SEARCHED_ORDERS
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import RANDOM_ORDERS, SAMPLINGS, Decision, Sampling, Settings
from explainers.results.events import Failure, MethodResult, OperatorCheck, RandomControl

SETTINGS = Settings(samples=40, steps=5, sampling="captum")  # which draws exactly 40 for five words
TEXT = "the film was not good"
TEN = "the film was not good but a very dull plot"


@pytest.fixture
def decision(bert: FrozenModel) -> Decision:
    encoding = bert.encode(TEXT)
    return Decision(card_of(bert), encoding, int(bert.probabilities(encoding, np.ones((1, 5))).argmax()), SETTINGS)


def line(event: Event) -> str:
    """started lime | lime 4 | measured lime | failed lime | control | checked delete"""
    match event:
        case MethodStarted(method):
            return f"started {method}"
        case Failure(method, _):
            return f"failed {method}"
        case MethodResult(attribution):
            return f"measured {attribution.method}"
        case RandomControl():
            return "control"
        case OperatorCheck(erasure):
            return f"checked {erasure}"
        case Attribution(method=method, samples=samples):
            return f"{method} {samples}"


def test_quick_methods_come_first_and_the_control_before_the_slow_ones(bert: FrozenModel, decision: Decision) -> None:
    lines = [
        line(event)
        for event in run(bert, decision, METHODS, Meter())
        if isinstance(event, MethodStarted | RandomControl)
    ]
    assert lines == [
        "started aml",
        "started cimi",
        "started ciem",
        "started ivra",
        "started cxplain",
        "started attention_mean",
        "started attention_last",
        "started globenc",
        "started alti",
        "started first_only",
        "started last_only",
        "control",
        "started random",
        "started occlusion",
        "started decompx",
        "started self_ranking",
        "started integrated_gradients",
        "started gradient_x_input",
        "started gradient_shap",
        "started deeplift",
        "started faml",
        "started lime",
        "started kernel_shap",
        "started owen",
        "started solvex",
    ]


def test_a_method_starts_yields_its_estimates_and_is_measured(bert: FrozenModel, decision: Decision) -> None:
    lines = [line(event) for event in run(bert, decision, select(["lime", "occlusion"]), Meter())]
    # 40 samples: stages of 4 and less than 5 words' equations are skipped, then 10, 20, 40
    assert lines == [
        "control",
        "started occlusion",
        "occlusion 0",
        "measured occlusion",
        "started lime",
        "lime 10",
        "lime 20",
        "lime 40",
        "measured lime",
        "measured consensus",
        "checked delete",
        "checked zero",
    ]


@pytest.mark.parametrize("method", ["occlusion", "lime"])
def test_an_available_control_is_not_measured_again(bert: FrozenModel, decision: Decision, method: str) -> None:
    lines = [line(event) for event in run(bert, decision, select([method]), Meter(), control_known=True)]
    assert "control" not in lines
    assert f"measured {method}" in lines


def test_without_methods_there_is_still_the_control(bert: FrozenModel, decision: Decision) -> None:
    assert [line(event) for event in run(bert, decision, [], Meter())] == ["control"]


def test_a_method_that_fails_does_not_stop_the_others(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    two_words = Decision(card_of(model), model.encode("great dull"), 1, SETTINGS)
    events = list(run(model, two_words, select(["attention_mean", "occlusion", "lime"]), Meter()))
    assert [event for event in events if isinstance(event, Failure)] == [
        Failure("attention_mean", "bag does not return its attention.")
    ]
    measured = [event.method for event in events if isinstance(event, MethodResult)]
    assert measured == ["occlusion", "lime", "consensus"]


def test_random_orders_that_fail_leave_the_methods_and_say_why(
    bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise ExplanationError("The service is busy.")

    monkeypatch.setattr("explainers.comparison.runner.measuring.run_random_control", busy)
    comparison = explain(bag({"good": 2.0, "dull": -1.0}), TEN, methods=["occlusion", "lime", "random"])
    assert [result.method for result in comparison.results] == ["consensus", "lime", "occlusion"]
    assert comparison.failures == (Failure("random", "The service is busy."),)
    assert comparison.answer is not None
    assert comparison.answer.refusal == "The random orders could not be measured: The service is busy."


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_lack_of_memory_fails_the_methods_that_need_it(bag: Callable[..., FrozenModel], erasure: str) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    two_words = Decision(card_of(model), model.encode("great dull"), 1, replace(SETTINGS, erasure=erasure))
    model.module.memory = 0
    specs = [spec for spec in METHODS if spec.group in ("Gradient", "Perturbation") and spec.kind not in SLOW]
    events = run(model, two_words, specs, Meter(), control_known=True)
    failed = [event for event in events if isinstance(event, Failure)]
    assert [event.method for event in failed] == [
        "occlusion",
        "integrated_gradients",
        "gradient_x_input",
        "gradient_shap",
        "deeplift",
    ]
    assert all("not enough memory" in event.reason for event in failed)


def test_a_programmers_error_reaches_the_log_and_leaves_the_other_methods(
    bert: FrozenModel, decision: Decision, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = runner.estimates

    def broken(spec: MethodSpec, *rest: Any) -> Iterator[Attribution]:
        if spec.id == "occlusion":
            raise ValueError("a shape is wrong")
        return original(spec, *rest)

    monkeypatch.setattr(runner, "estimates", broken)
    events = [line(event) for event in run(bert, decision, select(["occlusion", "attention_mean"]), Meter())]
    assert {"failed occlusion", "measured attention_mean"} <= set(events)
    assert "a shape is wrong" in caplog.text


@pytest.mark.parametrize(
    "stopped_after", ["started attention_mean", "occlusion 0", "control", "lime 10", "checked delete"]
)
def test_a_stop_is_raised_wherever_the_run_is(bert: FrozenModel, decision: Decision, stopped_after: str) -> None:
    meter, lines = Meter(), []

    def watch() -> None:
        for event in run(bert, decision, select(["attention_mean", "occlusion", "lime"]), meter):
            lines.append(line(event))
            if lines[-1] == stopped_after:
                meter.cancel.set()

    with pytest.raises(Cancelled):
        watch()
    after = lines[lines.index(stopped_after) + 1 :]
    known = {"measured consensus"}  # of answers that are there
    assert [event for event in after if not event.startswith("started") and event not in known] == []


def test_metrics_are_those_of_the_curves(bert: FrozenModel, decision: Decision) -> None:
    (result,) = (
        event for event in run(bert, decision, select(["occlusion"]), Meter()) if isinstance(event, MethodResult)
    )
    assert result.metrics == {metric.id: metric.score(result.curves) for metric in METRICS}
    assert result.curves.counts == (0, 1, 2, 3, 4, 5)
    assert (result.noise["aopc_c"], result.noise["dffot"]) == (0, pytest.approx(1 / 5))


def test_a_method_costs_only_its_own_passes(bert: FrozenModel, decision: Decision) -> None:
    events = list(run(bert, decision, select(["gradient_x_input", "occlusion", "integrated_gradients"]), Meter()))
    results = [event for event in events if isinstance(event, MethodResult) and event.method != "consensus"]
    costs = {result.method: result.attribution.model_calls for result in results}
    # one; five steps and two for the gap; five words and the whole text
    assert costs == {"gradient_x_input": 1, "integrated_gradients": 7, "occlusion": 6}


def results_of(model: FrozenModel, decision: Decision, *methods: str) -> dict[str, Attribution]:
    """By method, in one run."""
    events = run(model, decision, select(methods), Meter())
    results = [event for event in events if isinstance(event, MethodResult) and event.method != "consensus"]
    return {result.method: result.attribution for result in results}


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_method_in_company_scores_as_it_does_alone_and_costs_only_what_nobody_has_asked(
    bert: FrozenModel, sampling: Sampling
) -> None:
    decision, _ = decide(bert, TEN, settings=replace(SETTINGS, sampling=sampling))
    methods = ("occlusion", "lime", "kernel_shap")
    together = results_of(bert, decision, *methods)
    for method in methods:
        alone = results_of(bert, decision, method)[method]
        assert together[method].scores == pytest.approx(alone.scores, abs=1e-5)
        assert (together[method].model_calls, together[method].samples) == (alone.model_calls, alone.samples)
    assert together["occlusion"].model_calls == 11
    assert together["kernel_shap"].new_calls < together["kernel_shap"].model_calls


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("order", list(permutations(("occlusion", "lime", "kernel_shap"))))
def test_results_do_not_depend_on_who_asks_first(
    bert: FrozenModel, decision: Decision, order: tuple[str, ...], sampling: Sampling
) -> None:
    decision = replace(decision, settings=replace(SETTINGS, sampling=sampling, samples=20))
    pooled = bert.pooled(PredictionCache())
    for method in order:
        (in_company,), (by_itself,) = (
            [*estimates(METHODS.get(method), model, decision, Meter())][-1:] for model in (pooled, bert)
        )
        assert in_company.scores == pytest.approx(by_itself.scores, abs=1e-5)
        assert in_company.spread == pytest.approx(by_itself.spread, abs=1e-5)


def test_no_mask_is_computed_twice_in_a_comparison(bert: FrozenModel, decision: Decision) -> None:
    meter = Meter()
    list(run(bert, decision, select(["occlusion", "lime", "kernel_shap", "random"]), meter))
    assert meter.calls <= 3 * 2**5  # five words, three operators
    assert meter.used > 2 * meter.calls


def test_a_second_comparison_of_a_pooled_model_computes_nothing_even_with_other_settings(
    bert: FrozenModel, decision: Decision
) -> None:
    pooled = bert.pooled(PredictionCache())
    methods = ("occlusion", "lime", "kernel_shap")
    results_of(pooled, decision, *methods)
    fewer = replace(decision, settings=replace(SETTINGS, samples=30))
    assert [result.new_calls for result in results_of(pooled, fewer, *methods).values()] == [0, 0, 0]


@pytest.mark.parametrize("spec", [spec for spec in METHODS if spec.needs != "prompt"], ids=lambda spec: spec.id)
def test_estimates_end_with_the_attribution_of_the_method(
    bert: FrozenModel, decision: Decision, spec: MethodSpec
) -> None:
    *_, final = estimates(spec, bert, decision, Meter())
    method = spec.made_with(SETTINGS)
    alone = method.attribute(bert, decision.encoding, decision.label)
    assert replace(final, seconds=0.0, model_calls=0, new_calls=None) == alone
    assert final.seconds > 0


def test_the_control_is_nineteen_different_orders_with_their_mean(bert: FrozenModel, decision: Decision) -> None:
    control = run_random_control(MaskedPredictor(bert, decision.encoding, "mask"), decision.label, seed=0)
    assert len(control.curves) == RANDOM_ORDERS == 19
    assert len({curves.removed.tobytes() for curves in control.curves}) > 10  # with five words some are alike
    for metric in METRICS:
        orders = SEARCHED_ORDERS if metric.every_count else RANDOM_ORDERS
        assert control.scores[metric.id] == tuple(metric.score(curves) for curves in control.curves[:orders])
        assert control.metrics[metric.id] == pytest.approx(np.mean(control.scores[metric.id]))
        assert control.deviations[metric.id] == pytest.approx(np.std(control.scores[metric.id]))


def test_another_seed_gives_other_orders(bert: FrozenModel, decision: Decision) -> None:
    one, same, other = (
        run_random_control(MaskedPredictor(bert, decision.encoding, "mask"), 0, seed) for seed in (0, 0, 1)
    )
    assert one.scores == same.scores != other.scores


def test_a_text_without_units_is_no_question(bert: FrozenModel) -> None:
    encoding = bert.encode("good")
    with pytest.raises(ExplanationError, match="All words are removed"):
        Decision(card_of(bert), bert.without(encoding, [0], "mask"), 0)
