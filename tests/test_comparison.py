from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explainers import comparison
from explainers.comparison import (
    ORDERS,
    Begun,
    Chance,
    Event,
    Failed,
    Measured,
    Question,
    chance,
    estimates,
    leading,
    run,
)
from explainers.errors import Cancelled, ExplanationError
from explainers.explanation import Attribution
from explainers.methods import METHODS, Entry, chosen
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.masking import Asked
from explainers.models.classifier import FrozenModel
from explainers.models.meter import Meter
from explainers.settings import Settings

SETTINGS = Settings(samples=40, steps=5)
TEXT = "the film was not good"


@pytest.fixture
def question(bert: FrozenModel) -> Question:
    return Question(bert, bert.encode(TEXT), 0, SETTINGS)


def told(event: Event) -> str:
    """begun lime | lime 4 | measured lime | failed lime | chance"""
    match event:
        case Begun(method):
            return f"begun {method}"
        case Failed(method, _):
            return f"failed {method}"
        case Measured(attribution):
            return f"measured {attribution.method}"
        case Chance():
            return "chance"
        case Attribution(method=method, samples=samples):
            return f"{method} {samples}"


def test_quick_methods_come_first_and_the_control_before_the_slow_ones(question: Question) -> None:
    found = [told(event) for event in run(question, METHODS, Meter()) if isinstance(event, Begun | Chance)]
    assert found == [
        "begun aml",
        "begun cimi",
        "begun ciem",
        "begun ivra",
        "begun attention_mean",
        "begun attention_last",
        "begun random",
        "begun integrated_gradients",
        "begun gradient_x_input",
        "begun occlusion",
        "chance",
        "begun faml",
        "begun lime",
        "begun kernel_shap",
    ]


def test_a_method_begins_shows_its_estimates_and_is_measured(question: Question) -> None:
    found = [told(event) for event in run(question, chosen(["lime", "occlusion"]), Meter())]
    # 40 samples: stages of 4 and less than 5 words' equations are skipped, then 10, 20, 40
    assert found == [
        "begun occlusion",
        "occlusion 0",
        "measured occlusion",
        "chance",
        "begun lime",
        "lime 10",
        "lime 20",
        "lime 40",
        "measured lime",
    ]


@pytest.mark.parametrize("method", ["occlusion", "lime"])
def test_a_control_that_is_known_is_not_measured_again(question: Question, method: str) -> None:
    found = [told(event) for event in run(question, chosen([method]), Meter(), chance_known=True)]
    assert "chance" not in found
    assert f"measured {method}" in found


def test_without_methods_there_is_still_the_control(question: Question) -> None:
    assert [told(event) for event in run(question, [], Meter())] == ["chance"]


def test_a_method_that_fails_does_not_stop_the_others(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    asked = Question(model, model.encode("great dull"), 1, SETTINGS)
    events = list(run(asked, chosen(["attention_mean", "occlusion", "lime"]), Meter()))
    assert [event for event in events if isinstance(event, Failed)] == [
        Failed("attention_mean", "bag does not show its attention.")
    ]
    assert [event.attribution.method for event in events if isinstance(event, Measured)] == ["occlusion", "lime"]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_lack_of_memory_fails_the_methods_that_need_it(bag: Callable[..., FrozenModel], erasure: str) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    asked = Question(model, model.encode("great dull"), 1, replace(SETTINGS, erasure=erasure))
    model.module.memory = 0
    entries = [entry for entry in METHODS if entry.group == "Captum" and entry.kind != "sampled"]
    events = run(asked, entries, Meter(), chance_known=True)
    failed = [event for event in events if isinstance(event, Failed)]
    assert [event.method for event in failed] == ["integrated_gradients", "gradient_x_input", "occlusion"]
    assert all("not enough memory" in event.reason for event in failed)


def test_a_programmers_error_reaches_the_log_and_leaves_the_other_methods(
    question: Question, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = comparison.estimates

    def broken(entry: Entry, *rest: Any) -> Iterator[Attribution]:
        if entry.id == "occlusion":
            raise ValueError("a shape is wrong")
        return whole(entry, *rest)

    monkeypatch.setattr(comparison, "estimates", broken)
    events = [told(event) for event in run(question, chosen(["occlusion", "attention_mean"]), Meter())]
    assert {"failed occlusion", "measured attention_mean"} <= set(events)
    assert "a shape is wrong" in caplog.text


@pytest.mark.parametrize("stopped_after", ["begun attention_mean", "occlusion 0", "chance", "lime 10"])
def test_a_stop_is_raised_wherever_the_run_is(question: Question, stopped_after: str) -> None:
    meter, seen = Meter(), []

    def watch() -> None:
        for event in run(question, chosen(["attention_mean", "occlusion", "lime"]), meter):
            seen.append(told(event))
            if seen[-1] == stopped_after:
                meter.cancel.set()

    with pytest.raises(Cancelled):
        watch()
    after = seen[seen.index(stopped_after) + 1 :]
    assert [event for event in after if not event.startswith("begun")] == []


def test_figures_are_those_of_the_path(question: Question) -> None:
    (found,) = (event for event in run(question, chosen(["occlusion"]), Meter()) if isinstance(event, Measured))
    assert found.metrics == {metric.id: metric.score(found.path) for metric in METRICS}
    assert found.path.counts == (0, 1, 2, 3, 4, 5)
    assert found.noise == {"aopc_c": 0, "aopc_s": 0, "log_odds": 0, "dffot": pytest.approx(1 / 5)}


def test_a_method_pays_for_its_own_passes_only(question: Question) -> None:
    events = list(run(question, chosen(["gradient_x_input", "occlusion", "integrated_gradients"]), Meter()))
    costs = {event.attribution.method: event.attribution.model_calls for event in events if isinstance(event, Measured)}
    # one; five steps and two for the gap; five words and the whole text
    assert costs == {"gradient_x_input": 1, "integrated_gradients": 7, "occlusion": 6}


@pytest.mark.parametrize("entry", METHODS, ids=lambda entry: entry.id)
def test_estimates_end_with_the_answer_of_the_method(question: Question, entry: Entry) -> None:
    *_, final = estimates(entry, question, Meter())
    method = entry.make(erasure="mask", seed=0, samples=40, steps=5)
    alone = method.attribute(question.model, question.encoding, question.label)
    assert replace(final, seconds=0.0, model_calls=0) == alone
    assert final.seconds > 0


def test_the_control_is_ten_different_orders_and_its_figures_their_mean(question: Question) -> None:
    found = chance(Asked(question.model, question.encoding, "mask"), 0, seed=0)
    assert len({path.removed.tobytes() for path in found.paths}) == ORDERS == 10
    assert found.metrics["aopc_c"] == pytest.approx(np.mean(found.scores("aopc_c")))


def test_another_seed_gives_other_orders(question: Question) -> None:
    one, same, other = (chance(Asked(question.model, question.encoding, "mask"), 0, seed) for seed in (0, 0, 1))
    assert one.scores("aopc_c") == same.scores("aopc_c") != other.scores("aopc_c")


def test_a_text_without_units_is_no_question(bert: FrozenModel) -> None:
    encoding = bert.encode("good")
    with pytest.raises(ExplanationError, match="nothing left to explain"):
        Question(bert, bert.without(encoding, [0], "mask"), 0)


QUIET = {"a": 0.0, "b": 0.0, "c": 0.0}
NOISY = {"a": 0.05, "b": 0.05, "c": 0.05}  # differences up to 1.96 · √(0.05² + 0.05²) = 0.139 are chance
FLOOR = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1]  # the band ends at 0.0025 and 0.0975


@pytest.mark.parametrize(
    ("scores", "noises", "floor", "higher", "expected"),
    [
        ({"a": 0.5, "b": 0.3}, QUIET, FLOOR, True, "a"),
        ({"a": 0.5, "b": 0.3}, QUIET, FLOOR, False, ""),  # 0.3 is best but not below the band
        ({"a": -0.5, "b": 0.3}, QUIET, FLOOR, False, "a"),
        ({"a": 0.5, "b": 0.496, "c": 0.2}, QUIET, FLOOR, True, "ab"),  # 0.004 does not show in two decimals
        ({"a": 0.5, "b": 0.494, "c": 0.2}, QUIET, FLOOR, True, "a"),
        ({"a": 0.5, "b": 0.498}, QUIET, FLOOR, True, ""),  # all are best: nobody is
        ({"a": 0.5, "b": 0.4, "c": 0.1}, NOISY, FLOOR, True, "ab"),
        ({"a": 0.5, "b": 0.35, "c": 0.1}, NOISY, FLOOR, True, "a"),
        ({"a": 0.5, "b": 0.4, "c": 0.38}, NOISY, FLOOR, True, ""),
        ({"a": 0.09, "b": 0.01}, QUIET, FLOOR, True, ""),  # inside the band of random orders
        ({"a": 0.098, "b": 0.01}, QUIET, FLOOR, True, "a"),
        ({"a": 0.001, "b": 0.05}, QUIET, FLOOR, False, "a"),
        ({"a": 0.003, "b": 0.05}, QUIET, FLOOR, False, ""),
        ({"a": 0.5}, QUIET, FLOOR, True, "a"),  # alone, it need only beat chance
        ({"a": 0.05}, QUIET, FLOOR, True, ""),
        ({"a": 0.05, "b": 0.0}, QUIET, [], True, "a"),  # no control is known
        ({"a": 0.05, "b": 0.0}, QUIET, [], False, "b"),
        ({}, {}, FLOOR, True, ""),
    ],
)
def test_a_method_leads_only_where_the_difference_is_real(
    scores: dict[str, float], noises: dict[str, float], floor: list[float], higher: bool, expected: str
) -> None:
    assert leading(scores, noises, floor, higher=higher) == set(expected)


def test_whoever_has_a_better_figure_than_one_of_the_best_is_among_them() -> None:
    # 0.74 ties with 0.77 only by its own noise of 0.02; 0.75 has no noise, but lies between them
    scores, noises = {"a": 0.77, "b": 0.75, "c": 0.74, "d": 0.1}, {"a": 0.0, "b": 0.0, "c": 0.02, "d": 0.0}
    assert leading(scores, noises, [0.0, 0.1], higher=True) == {"a", "b", "c"}
