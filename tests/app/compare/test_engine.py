import logging
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from app.compare import computation, fair_scheduler
from app.compare.computation import RESULTS_KEPT
from app.compare.engine import AT_ONCE, Engine
from app.compare.fair_scheduler import Turn
from app.compare.runs import FollowUp, Request, Run, answer_of
from explainers.comparison import runner
from explainers.datasets.example import Example, InputImage
from explainers.errors import Cancelled, ExplanationError, ModelUnavailable
from explainers.models import catalog
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.precision import UsedPrecision
from explainers.results.decision import UNTIL_SETTLED, Settings
from explainers.results.events import Failure, Narrative

Ran = Callable[..., Run]
TEN = "a good film but dull and very bad plot not"  # with fewer than nine words every answer is known at once
Ask = Callable[..., Request]
Over = Callable[[Run], Run]
LOGISTIC = 1 / (1 + np.exp(-np.array([0.0, 1.25, 2.25])))  # of nothing, of all five words, of all but "dull"


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def lime_has_begun(engine: Engine) -> Callable[[], bool]:
    return lambda: any(run.columns["lime"].base is not None for run in engine.queue)


def test_a_run_ends_with_every_column_filled(ran: Ran) -> None:
    run = ran()
    assert run.status == "done"
    assert run.probabilities == pytest.approx((1 - LOGISTIC[1], LOGISTIC[1]))
    assert run.settled_methods == tuple(run.columns)
    assert [result.attribution.method for result in run.comparison().results] == ["consensus", "lime", "occlusion"]
    assert run.comparison().random_control is not None
    assert run.seconds > 0


def test_the_precision_of_a_request_is_checked_and_remembered_apart(
    engine: Engine, request_for: Ask, over: Over, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "Computed in float32: a test."
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision(note=note))
    plain = over(engine.submit(request_for()))
    asked = over(engine.submit(replace(request_for(), precision="bfloat16")))
    assert plain.whole is not None
    assert asked.whole is not None
    assert plain.whole.card.precision == asked.whole.card.precision == "float32"
    assert note not in plain.whole.encoding.warning
    assert asked.whole.encoding.warning.endswith(note)  # which the page shows
    assert not any(column.remembered for column in asked.columns.values())
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision("bfloat16"))
    rounded = over(engine.submit(replace(request_for("a good film"), precision="bfloat16")))
    assert rounded.comparison().manifest()["model"]["precision"] == "bfloat16"


def test_columns_fill_while_others_are_still_running(engine: Engine, request_for: Ask, hold: Any, over: Over) -> None:
    hold.when = lime_has_begun(engine)
    run = engine.submit(request_for(TEN))
    assert hold.reached.wait(60)
    assert run.status == "running"
    assert run.result("occlusion") is not None
    assert run.result("lime") is None
    assert [result.attribution.method for result in run.comparison().results] == ["occlusion"]
    hold.go.set()
    assert over(run).result("lime") is not None


@pytest.mark.usefixtures("small_batches")
def test_stop_takes_effect_within_one_batch_and_what_is_finished_stays(
    engine: Engine, request_for: Ask, hold: Any, over: Over
) -> None:
    hold.when = lime_has_begun(engine)
    run = engine.submit(request_for(TEN))
    assert hold.reached.wait(60)
    batches = hold.batches
    run.stop()
    hold.go.set()
    assert over(run).status == "stopped"
    assert hold.batches == batches
    assert run.result("occlusion") is not None
    assert run.result("lime") is None
    assert run.error == ""


@pytest.mark.usefixtures("small_batches")
def test_the_answer_of_a_stopped_run_is_provisional_on_the_page_and_in_its_downloads(
    engine: Engine, request_for: Ask, hold: Any, over: Over
) -> None:
    hold.when = lime_has_begun(engine)
    run = engine.submit(request_for(TEN))
    assert hold.reached.wait(60)
    run.stop()
    hold.go.set()
    stopped = over(run)
    assert answer_of(stopped).provisional
    assert stopped.comparison().answer is answer_of(stopped)
    assert stopped.comparison().as_dict()["answer"]["provisional"] is True


def test_a_stopped_run_that_goes_on_computes_only_what_is_missing(
    engine: Engine, request_for: Ask, hold: Any, over: Over
) -> None:
    hold.when = lime_has_begun(engine)
    run = engine.submit(request_for(TEN))
    assert hold.reached.wait(60)
    run.stop()
    hold.go.set()
    first = over(run).result("occlusion")
    second = over(engine.submit(run.request))
    assert second.status == "done"
    assert second.result("occlusion") is first
    assert second.result("lime") is not None
    assert not second.columns["lime"].remembered


def test_a_run_that_is_stopped_while_it_waits_never_asks_the_model(
    engine: Engine, request_for: Ask, hold: Any, over: Over
) -> None:
    hold.when = lambda: True
    busy = [engine.submit(request_for(seed)) for seed in ("a", "good")]
    assert hold.reached.wait(60)
    eventually(lambda: len(engine.turns.computing) == len(busy))  # else the third one may be the second
    waiting = engine.submit(request_for("film"))
    eventually(lambda: waiting.turn in engine.turns.waiting)
    waiting.stop()
    assert waiting.status == "stopped"
    hold.go.set()
    for run in busy:
        over(run)
    assert over(waiting).meter.calls == 0
    assert waiting.status == "stopped"


def test_a_run_that_is_stopped_during_its_first_pass_stays_stopped(
    engine: Engine, request_for: Ask, hold: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def noted(run: Run, name: str, value: Any) -> None:
        if name == "status":
            seen.append(value)
        object.__setattr__(run, name, value)

    hold.when = lambda: True
    run = engine.submit(request_for(TEN))
    assert hold.reached.wait(60)
    assert run.status == "waiting"
    monkeypatch.setattr(Run, "__setattr__", noted)
    run.stop()
    hold.go.set()
    eventually(lambda: run not in engine.queue)
    engine.close()
    assert set(seen) == {"stopped"}  # a page that saw it run again would wait for its end for ever


def test_the_same_question_again_costs_nothing(ran: Ran) -> None:
    first, second = ran(), ran()
    assert second.meter.calls == 0
    assert all(column.remembered for column in second.columns.values())
    pairs = zip(second.comparison().results[1:], first.comparison().results[1:], strict=True)  # without the consensus
    assert all(one is other for one, other in pairs)
    assert [c.finished for c in second.columns.values()] == [c.finished for c in first.columns.values()]


def test_fresh_computes_everything_anew(engine: Engine, request_for: Ask, ran: Ran, over: Over) -> None:
    first = ran()
    again = over(engine.submit(request_for(), fresh=True))
    assert again.meter.calls == first.meter.calls
    assert not any(column.remembered for column in again.columns.values())
    for column in again.columns.values():
        before = first.columns[column.spec.id]
        assert again.result(column.spec.id) is not first.result(column.spec.id)
        assert column.attribution is not None
        assert before.attribution is not None
        assert column.attribution.scores == before.attribution.scores


def test_the_predicted_class_by_name_is_the_same_question(ran: Ran) -> None:
    ran()
    assert ran(label="positive").meter.calls == 0


@pytest.mark.parametrize(
    "other",
    [
        {"text": "a good film but"},
        {"label": "negative"},
        {"versus": "negative"},
        {"removed": (0,)},
        {"settings": Settings(samples=60, steps=5)},
        {"settings": Settings(samples=50, steps=5, seed=1)},
        {"settings": Settings(samples=50, steps=5, erasure="zero")},
        {"settings": Settings(samples=50, steps=5, unit="token")},
    ],
    ids=["text", "class", "versus", "removed", "samples", "seed", "erasure", "unit"],
)
def test_another_question_is_computed(ran: Ran, other: dict[str, Any]) -> None:
    ran()
    assert not any(column.remembered for column in ran(**other).columns.values())


def test_one_more_method_does_not_repeat_the_others(ran: Ran) -> None:
    ran(methods=("occlusion",))
    run = ran()
    assert run.columns["occlusion"].remembered
    assert not run.columns["lime"].remembered


def test_memory_is_bounded(engine: Engine, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.compare.computation.RESULTS_KEPT", 2)
    ran()
    assert len(engine.memory.results) == 2
    assert RESULTS_KEPT > 2


def test_memory_of_images_is_bounded_and_each_counts_once(
    engine: Engine, request_for: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.compare.computation.IMAGES_KEPT", 100)
    images = (InputImage(sign * 60) for sign in (b"a", b"b"))
    first, second = (replace(request_for(), example=Example("a good film", image=image)) for image in images)
    for name in ("lime", "occlusion"):
        engine.memory.remember((("1", "bag", first), name), 1)
    assert len(engine.memory.results) == 2
    engine.memory.remember((("1", "bag", second), "lime"), 1)
    assert list(engine.memory.results) == [(("1", "bag", second), "lime")]


def test_removed_units_are_left_out_and_the_class_stays_that_of_the_whole(ran: Ran) -> None:
    run = ran(removed=(4,))  # "dull"
    assert run.whole is not None
    assert run.decision is not None
    assert [unit.text for unit in run.whole.encoding.units] == ["a", "good", "film", "but", "dull"]
    assert [unit.text for unit in run.decision.encoding.units] == ["a", "good", "film", "but"]
    assert run.whole_probabilities[1] == pytest.approx(LOGISTIC[1])
    assert run.probabilities[1] == pytest.approx(LOGISTIC[2])
    turned = ran(removed=(1, 2))  # "dull" alone would be negative
    assert turned.probabilities[0] > 0.5
    assert turned.comparison().label == "positive"
    assert turned.comparison().removed == (1, 2)


def test_removing_every_unit_leaves_nothing_to_explain(ran: Ran) -> None:
    run = ran(removed=(0, 1, 2, 3, 4))
    assert (run.status, run.error) == ("failed", "All words are removed. Restore at least one to explain the decision.")


def test_numbers_of_units_that_do_not_exist_change_nothing(ran: Ran) -> None:
    assert ran(removed=(999,)).probabilities == ran().probabilities


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"text": ""}, "The text is empty"),
        ({"text": " \n\t"}, "The text is empty"),
        ({"label": "neutral"}, "bag has no class 'neutral'. Choose one of: negative, positive."),
    ],
)
def test_what_is_wrong_is_reported_in_a_sentence(ran: Ran, wrong: dict[str, Any], sentence: str) -> None:
    run = ran(**wrong)
    assert run.status == "failed"
    assert run.error.startswith(sentence)


def test_a_model_that_cannot_be_loaded_fails_with_its_sentence(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, **_rest: object) -> FrozenModel:
        raise ModelUnavailable(f"The model {name!r} is not available.")

    monkeypatch.setattr(catalog, "load", refuse)
    run = ran()
    assert (run.status, run.error) == ("failed", "The model 'bag' is not available.")


def test_an_unknown_method_is_refused_before_anything_starts(engine: Engine, request_for: Ask) -> None:
    with pytest.raises(ExplanationError, match="Unknown method 'shap'"):
        engine.submit(request_for(methods=("shap",)))
    assert engine.queue == []


def test_no_method_at_all_is_only_a_prediction(ran: Ran) -> None:
    run = ran(methods=())
    assert run.status == "done"
    assert run.comparison().results == ()


def test_a_method_that_fails_says_why_and_the_others_go_on(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise ExplanationError("Occlusion cannot do this.")

    monkeypatch.setattr("explainers.attribution.occlusion.Occlusion.attribute", refuse)
    run = ran()
    assert run.status == "done"
    assert run.failure("occlusion") == "Occlusion cannot do this."
    assert run.result("lime") is not None
    assert [failed.method for failed in run.comparison().failures] == ["occlusion"]


def test_a_failure_is_not_remembered(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise ExplanationError("Not now.")

    with monkeypatch.context() as patched:
        patched.setattr("explainers.attribution.occlusion.Occlusion.attribute", refuse)
        ran()
    assert ran().result("occlusion") is not None


def test_a_mistake_of_ours_becomes_a_sentence_and_reaches_the_log(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def slip(*_args: object) -> None:
        raise KeyError("a mistake")

    monkeypatch.setattr("explainers.attribution.lime.Lime.refine", slip)
    with caplog.at_level(logging.ERROR):
        run = ran()
    assert (run.status, run.error) == ("done", "")
    assert run.failure("lime") == "Internal error in Crosslight (KeyError)."
    assert run.result("occlusion") is not None
    assert "a mistake" in caplog.text
    assert "good film" not in caplog.text  # what people type is not logged


def test_the_next_run_works_after_a_mistake(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("explainers.attribution.lime.Lime.refine", lambda *_args: 1 / 0)
        assert ran().failure("lime")
    run = ran()
    assert run.status == "done"
    assert not run.failure("lime")


def test_place_in_line(engine: Engine, request_for: Ask, hold: Any, over: Over) -> None:
    hold.when = lambda: True
    runs = [engine.submit(request_for(text)) for text in ("a", "good", "film", "but")]
    eventually(lambda: len(engine.turns.waiting) == len(runs) - AT_ONCE)
    assert sorted(engine.ahead_of(run) for run in runs) == [0] * AT_ONCE + [1, 2]
    hold.go.set()
    for run in runs:
        over(run)
    assert engine.queue == []
    assert engine.ahead_of(runs[-1]) == 0


def test_a_stopped_run_is_not_counted_as_ahead(engine: Engine, request_for: Ask, hold: Any) -> None:
    hold.when = lambda: True
    runs = [engine.submit(request_for(text)) for text in ("a", "good", "film", "but")]
    eventually(lambda: len(engine.turns.waiting) == len(runs) - AT_ONCE)
    first, second = sorted((run for run in runs if engine.ahead_of(run)), key=engine.ahead_of)
    first.stop()
    eventually(lambda: engine.ahead_of(second) == 1)
    hold.go.set()


def test_sessions_do_not_disturb_each_other(engine: Engine, request_for: Ask, over: Over, model: FrozenModel) -> None:
    texts = ("a good film", "dull", "good but dull", "a film but a dull film", "good good good", "but")
    runs = [over(run) for run in [engine.submit(request_for(text)) for text in texts]]
    for text, run in zip(texts, runs, strict=True):
        encoding = model.encode(text)
        (alone,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert run.status == "done"
        assert run.probabilities == pytest.approx(tuple(alone), abs=1e-5)
        assert run.whole is not None
        assert run.whole.encoding.texts == (text,)
    assert model.meter.calls == len(texts)  # of this test's own: each run has a meter of its own


def test_two_sessions_may_ask_the_same_at_once(engine: Engine, request_for: Ask, ran: Ran, over: Over) -> None:
    one, other = ran(), over(engine.submit(request_for(), fresh=True))
    assert [one, other].index(other) == 1
    for run in [engine.submit(request_for("but")), engine.submit(request_for("but"))]:
        assert over(run).status == "done"
    assert engine.queue == []


def test_a_run_without_a_prediction_has_nothing_to_compare(request_for: Ask) -> None:
    with pytest.raises(ValueError, match="no prediction yet"):
        Run(request_for(), {}, Meter()).comparison()


def test_sentences_and_their_failures_are_in_the_comparison(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    narrative = Narrative("cause_phi", "The answer is good.", 1, (), (), 0.1)
    failed = Failure("cause", "The file is damaged.")
    monkeypatch.setattr(runner, "run_narrators", lambda *_: iter((narrative, failed)))
    run = ran()
    assert run.comparison().narratives == (narrative,)
    assert run.comparison().failures == (failed,)
    assert "cause" not in run.columns


def test_removing_every_unit_at_once_keeps_the_input_on_the_page(ran: Ran) -> None:
    run = ran("good film", removed=(0, 1))
    assert run.status == "failed"
    assert run.whole is not None
    assert [unit.text for unit in run.whole.encoding.units] == ["good", "film"]


def test_a_comparison_is_built_once_per_state(ran: Ran) -> None:
    run = ran()
    first = run.comparison()
    assert run.comparison() is first
    run.take(Failure("cause", "The file is damaged."))
    assert run.comparison() is not first
    assert [failed.method for failed in run.comparison().failures] == ["cause"]


def test_what_earlier_weights_have_computed_is_not_taken_for_the_result_of_later_ones(
    engine: Engine, request_for: Ask, hold: Any, over: Over, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training ends while a run is on its way."""
    fitted = ["first"]
    monkeypatch.setattr(computation, "_weights", lambda spec, _model: (fitted[0], 0) if spec.id == "lime" else None)
    hold.when = lime_has_begun(engine)
    run = engine.submit(request_for(TEN))
    assert hold.reached.wait(60)
    fitted[0] = "second"
    hold.go.set()
    assert over(run).status == "done"
    assert not over(engine.submit(run.request)).columns["lime"].remembered


def test_closing_also_ends_what_is_computed_after_a_run(engine: Engine, ran: Ran) -> None:
    run, ended = ran(), list[str]()
    busy = [Turn(), Turn()]
    for turn in busy:
        engine.turns.pause(turn, lambda: None)

    def work(follow_up: FollowUp[None]) -> None:
        try:
            follow_up.meter.pause()
        except Cancelled:
            ended.append("stopped")

    engine.submit_follow_up(run, ("more",), work)
    eventually(lambda: len(engine.turns.waiting) == 1)
    began = time.monotonic()
    engine.close()
    assert ended == ["stopped"]
    assert time.monotonic() - began < 4.5


@pytest.mark.parametrize("texts", [8, 2])
def test_eight_comparisons_that_settle_at_once_all_end(
    engine: Engine, request_for: Ask, monkeypatch: pytest.MonkeyPatch, texts: int
) -> None:
    """Each gives way between any two batches, also while the metrics of a sampled order are read. Of two that ask the
    same masks, one waits for the other's answers without keeping its turn."""
    monkeypatch.setattr(fair_scheduler, "SLICE", 0.0)
    words = ("a", "good", "film", "but", "dull")
    orders = list(permutations(words))
    settling = Settings(samples=UNTIL_SETTLED, steps=5)
    runs = [
        engine.submit(
            request_for(" ".join(orders[number % texts] * 2), methods=("lime", "kernel_shap"), settings=settling)
        )
        for number in range(8)
    ]
    end = time.monotonic() + 180
    while any(run.active for run in runs) and time.monotonic() < end:
        time.sleep(0.01)
    assert [run.status for run in runs] == ["done"] * 8


def test_the_time_that_is_left_does_not_count_the_wait_for_a_turn(
    engine: Engine, request_for: Ask, hold: Any, over: Over
) -> None:
    hold.when = lambda: True
    busy = [engine.submit(request_for(seed)) for seed in ("a", "good")]
    assert hold.reached.wait(60)
    eventually(lambda: len(engine.turns.computing) == len(busy))
    submitted = time.perf_counter()
    waiting = engine.submit(request_for(TEN))
    assert waiting.seconds_left is None
    eventually(lambda: waiting.turn in engine.turns.waiting)
    time.sleep(1)  # so long it waits at least
    hold.go.set()
    for run in (*busy, waiting):
        over(run)
    assert waiting.meter.waited >= 1
    assert waiting.budget is not None
    assert waiting.budget.spent < time.perf_counter() - submitted - 1
