from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from explainers.comparison import runner
from explainers.comparison.runner import Event, MethodStarted, estimates, run, run_random_control
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import METHODS, select
from explainers.methods.spec import SLOW, MethodSpec
from explainers.metrics.erasure import Answers
from explainers.metrics.faithfulness import METRICS
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Failure, MethodResult, Question, RandomControl
from explainers.results.operator_check import OperatorCheck
from explainers.results.sampling import SAMPLINGS, Sampling
from explainers.results.settings import RANDOM_ORDERS, Settings

SETTINGS = Settings(samples=40, steps=5, sampling="captum")  # which draws exactly 40 for five words
TEXT = "the film was not good"


@pytest.fixture
def question(bert: FrozenModel) -> Question:
    encoding = bert.encode(TEXT)
    return Question(bert, encoding, int(bert.probabilities(encoding, np.ones((1, 5))).argmax()), SETTINGS)


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


def test_quick_methods_come_first_and_the_control_before_the_slow_ones(question: Question) -> None:
    lines = [
        line(event) for event in run(question, METHODS, Meter()) if isinstance(event, MethodStarted | RandomControl)
    ]
    assert lines == [
        "started aml",
        "started cimi",
        "started ciem",
        "started ivra",
        "started attention_mean",
        "started attention_last",
        "started random",
        "started integrated_gradients",
        "started gradient_x_input",
        "started occlusion",
        "control",
        "started faml",
        "started lime",
        "started kernel_shap",
    ]


def test_a_method_starts_yields_its_estimates_and_is_measured(question: Question) -> None:
    lines = [line(event) for event in run(question, select(["lime", "occlusion"]), Meter())]
    # 40 samples: stages of 4 and less than 5 words' equations are skipped, then 10, 20, 40
    assert lines == [
        "started occlusion",
        "occlusion 0",
        "measured occlusion",
        "control",
        "started lime",
        "lime 10",
        "lime 20",
        "lime 40",
        "measured lime",
        "checked delete",
        "checked zero",
    ]


@pytest.mark.parametrize("method", ["occlusion", "lime"])
def test_an_available_control_is_not_measured_again(question: Question, method: str) -> None:
    lines = [line(event) for event in run(question, select([method]), Meter(), control_known=True)]
    assert "control" not in lines
    assert f"measured {method}" in lines


def test_without_methods_there_is_still_the_control(question: Question) -> None:
    assert [line(event) for event in run(question, [], Meter())] == ["control"]


def test_a_method_that_fails_does_not_stop_the_others(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    two_words = Question(model, model.encode("great dull"), 1, SETTINGS)
    events = list(run(two_words, select(["attention_mean", "occlusion", "lime"]), Meter()))
    assert [event for event in events if isinstance(event, Failure)] == [
        Failure("attention_mean", "bag does not return its attention.")
    ]
    assert [event.attribution.method for event in events if isinstance(event, MethodResult)] == ["occlusion", "lime"]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_lack_of_memory_fails_the_methods_that_need_it(bag: Callable[..., FrozenModel], erasure: str) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    two_words = Question(model, model.encode("great dull"), 1, replace(SETTINGS, erasure=erasure))
    model.module.memory = 0
    specs = [spec for spec in METHODS if spec.group == "Captum" and spec.kind not in SLOW]
    events = run(two_words, specs, Meter(), control_known=True)
    failed = [event for event in events if isinstance(event, Failure)]
    assert [event.method for event in failed] == ["integrated_gradients", "gradient_x_input", "occlusion"]
    assert all("not enough memory" in event.reason for event in failed)


def test_a_programmers_error_reaches_the_log_and_leaves_the_other_methods(
    question: Question, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = runner.estimates

    def broken(spec: MethodSpec, *rest: Any) -> Iterator[Attribution]:
        if spec.id == "occlusion":
            raise ValueError("a shape is wrong")
        return original(spec, *rest)

    monkeypatch.setattr(runner, "estimates", broken)
    events = [line(event) for event in run(question, select(["occlusion", "attention_mean"]), Meter())]
    assert {"failed occlusion", "measured attention_mean"} <= set(events)
    assert "a shape is wrong" in caplog.text


@pytest.mark.parametrize(
    "stopped_after", ["started attention_mean", "occlusion 0", "control", "lime 10", "checked delete"]
)
def test_a_stop_is_raised_wherever_the_run_is(question: Question, stopped_after: str) -> None:
    meter, lines = Meter(), []

    def watch() -> None:
        for event in run(question, select(["attention_mean", "occlusion", "lime"]), meter):
            lines.append(line(event))
            if lines[-1] == stopped_after:
                meter.cancel.set()

    with pytest.raises(Cancelled):
        watch()
    after = lines[lines.index(stopped_after) + 1 :]
    assert [event for event in after if not event.startswith("started")] == []


def test_metrics_are_those_of_the_curves(question: Question) -> None:
    (result,) = (event for event in run(question, select(["occlusion"]), Meter()) if isinstance(event, MethodResult))
    assert result.metrics == {metric.id: metric.score(result.curves) for metric in METRICS}
    assert result.curves.counts == (0, 1, 2, 3, 4, 5)
    assert result.noise == {"aopc_c": 0, "aopc_s": 0, "log_odds": 0, "dffot": pytest.approx(1 / 5)}


def test_a_method_costs_only_its_own_passes(question: Question) -> None:
    events = list(run(question, select(["gradient_x_input", "occlusion", "integrated_gradients"]), Meter()))
    costs = {
        event.attribution.method: event.attribution.model_calls for event in events if isinstance(event, MethodResult)
    }
    # one; five steps and two for the gap; five words and the whole text
    assert costs == {"gradient_x_input": 1, "integrated_gradients": 7, "occlusion": 6}


def results_of(question: Question, *methods: str) -> dict[str, Attribution]:
    """By method, in one run."""
    events = run(question, select(methods), Meter())
    return {event.attribution.method: event.attribution for event in events if isinstance(event, MethodResult)}


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_method_in_company_scores_as_it_does_alone_and_costs_only_what_nobody_has_asked(
    question: Question, sampling: Sampling
) -> None:
    question = replace(question, settings=replace(SETTINGS, sampling=sampling))
    methods = ("occlusion", "lime", "kernel_shap")
    together = results_of(question, *methods)
    for method in methods:
        alone = results_of(question, method)[method]
        assert together[method].scores == pytest.approx(alone.scores, abs=1e-5)
        assert (together[method].model_calls, together[method].samples) == (alone.model_calls, alone.samples)
    assert together["occlusion"].new_calls == 6
    assert together["kernel_shap"].new_calls < together["kernel_shap"].model_calls


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("order", list(permutations(("occlusion", "lime", "kernel_shap"))))
def test_results_do_not_depend_on_who_asks_first(
    question: Question, order: tuple[str, ...], sampling: Sampling
) -> None:
    settings = replace(SETTINGS, sampling=sampling, samples=20)
    pooled = replace(question, model=question.model.pooled(AnswerPool()), settings=settings)
    alone = replace(question, settings=settings)
    for method in order:
        (in_company,), (by_itself,) = (
            [*estimates(METHODS.get(method), each, Meter())][-1:] for each in (pooled, alone)
        )
        assert in_company.scores == pytest.approx(by_itself.scores, abs=1e-5)
        assert in_company.spread == pytest.approx(by_itself.spread, abs=1e-5)


def test_no_mask_is_computed_twice_in_a_comparison(question: Question) -> None:
    meter = Meter()
    list(run(question, select(["occlusion", "lime", "kernel_shap", "random"]), meter))
    assert meter.calls <= 3 * 2**5  # five words, three operators
    assert meter.used > 2 * meter.calls


def test_a_second_comparison_of_a_pooled_model_computes_nothing_even_with_other_settings(question: Question) -> None:
    pooled = replace(question, model=question.model.pooled(AnswerPool()))
    methods = ("occlusion", "lime", "kernel_shap")
    results_of(pooled, *methods)
    fewer = replace(pooled, settings=replace(SETTINGS, samples=30))
    assert [each.new_calls for each in results_of(fewer, *methods).values()] == [0, 0, 0]


@pytest.mark.parametrize("spec", METHODS, ids=lambda spec: spec.id)
def test_estimates_end_with_the_attribution_of_the_method(question: Question, spec: MethodSpec) -> None:
    *_, final = estimates(spec, question, Meter())
    method = spec.made_with(SETTINGS)
    alone = method.attribute(question.model, question.encoding, question.label)
    assert replace(final, seconds=0.0, model_calls=0, new_calls=None) == alone
    assert final.seconds > 0


def test_the_control_is_ten_different_orders_with_their_mean(question: Question) -> None:
    control = run_random_control(Answers(question.model, question.encoding, "mask"), question.label, seed=0)
    assert len({curves.removed.tobytes() for curves in control.curves}) == RANDOM_ORDERS == 10
    for metric in METRICS:
        assert control.scores[metric.id] == tuple(metric.score(curves) for curves in control.curves)
        assert control.metrics[metric.id] == pytest.approx(np.mean(control.scores[metric.id]))
        assert control.deviations[metric.id] == pytest.approx(np.std(control.scores[metric.id]))


def test_another_seed_gives_other_orders(question: Question) -> None:
    one, same, other = (
        run_random_control(Answers(question.model, question.encoding, "mask"), 0, seed) for seed in (0, 0, 1)
    )
    assert one.scores == same.scores != other.scores


def test_a_text_without_units_is_no_question(bert: FrozenModel) -> None:
    encoding = bert.encode("good")
    with pytest.raises(ExplanationError, match="All words are removed"):
        Question(bert, bert.without(encoding, [0], "mask"), 0)
