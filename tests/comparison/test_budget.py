import json
import time
from dataclasses import replace

import pytest

from explainers import explain
from explainers.attribution.occlusion import Occlusion
from explainers.comparison.answer import answered
from explainers.comparison.budget import FEWEST, UNLIMITED, Budget, measuring_passes, postponed_passes, seconds_left
from explainers.comparison.decision import decide
from explainers.comparison.runner import WORDS_ONLY, run, run_narrators, run_operator_checks, with_pool
from explainers.errors import ExplanationError
from explainers.methods.registry import select
from explainers.models import batching
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import UnitKind
from explainers.report.summary import summary
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS, Settings
from explainers.results.events import Failure, MethodResult, OperatorCheck, Postponed
from tests.counted_budget import CountedBudget

METHODS = ("attention_mean", "gradient_x_input", "occlusion", "lime", "kernel_shap", "random")
TEXT = "the film was not good but the plot and a very dull story was bad and the film was not watchable"
LONG = f"{TEXT} {TEXT}"
LIMITS = (0.05, 0.5, 1.5, 4.0, 12.0)  # seconds: from next to nothing to nearly all


def compared(
    model: FrozenModel,
    seconds: float | None,
    text: str = TEXT,
    unit: UnitKind = "word",
    methods: tuple[str, ...] = METHODS,
) -> tuple[Comparison, Meter]:
    model, meter = with_pool(model), Meter()
    decision, probabilities = decide(model, text, settings=Settings(unit, steps=5))
    comparison = Comparison(decision, probabilities, order=methods, budget=seconds)
    budget = UNLIMITED if seconds is None else CountedBudget(seconds, meter)
    for event in run(model, decision, select(methods), meter, narrators=(), budget=budget):
        comparison = comparison.with_event(event)
    return answered(comparison, finished=True), meter


@pytest.mark.parametrize("seconds", LIMITS)
def test_every_part_is_done_or_postponed_and_told(bert: FrozenModel, seconds: float) -> None:
    comparison, _ = compared(bert, seconds)
    done = {result.method for result in comparison.results}
    assert done | set(comparison.postponed) >= set(METHODS)
    assert done & set(comparison.postponed) <= {"random"}  # of which there may be some
    assert len(set(comparison.postponed)) == len(comparison.postponed)
    operators = {check.erasure for check in comparison.operator_checks}
    assert operators | (set(comparison.postponed) & {"delete", "zero"}) == {"delete", "zero"}
    orders = len(comparison.random_control.curves) if comparison.random_control is not None else 0
    assert (orders < RANDOM_ORDERS) == ("random" in comparison.postponed)


@pytest.mark.parametrize("text", [TEXT, LONG])
@pytest.mark.parametrize("seconds", LIMITS)
def test_a_run_takes_no_more_than_its_budget_and_the_random_orders_and_one_step(
    bert: FrozenModel, seconds: float, text: str
) -> None:
    comparison, meter = compared(bert, seconds, text)
    units = len(comparison.decision.encoding.units)
    step = 50 + 3 * units + 10 * measuring_passes(1, units)  # a batch of masks, its curves and its alternative draws
    assert CountedBudget.per_pass * meter.calls <= 2 * seconds + CountedBudget.per_pass * step


@pytest.fixture
def windows(bert: FrozenModel) -> FrozenModel:
    """It reads 64 tokens at once, of which the sentences below need four times as many."""
    bert.tokenizer.enable_truncation(64)
    return bert


SENTENCES = " ".join(12 * ["The film was good and not very dull.", "The plot was bad but not a very bad one."])


@pytest.mark.parametrize(("passes", "orders"), [(30, 0), (60, 1), (120, 4)])
def test_a_long_text_is_answered_by_sentence_within_a_small_budget(
    windows: FrozenModel, passes: int, orders: int
) -> None:
    comparison, meter = compared(windows, CountedBudget.per_pass * passes, SENTENCES, "sentence")
    assert len(comparison.decision.encoding.windows) == 4
    assert len(comparison.decision.encoding.units) == 24
    assert meter.calls <= 1.5 * passes + 40  # what an order takes
    answer = comparison.answer
    assert answer is not None
    assert answer.status != "pending"
    assert answer.provisional
    assert answer.words
    assert orders <= answer.orders < RANDOM_ORDERS
    assert "random" in comparison.postponed
    missing = f" ({answer.orders} of 19)" if answer.orders else ","
    assert f"Not complete within {CountedBudget.per_pass * passes:g} s: the random orders{missing}" in summary(
        comparison
    )


def test_sentences_are_answered_before_anything_else_is_computed(windows: FrozenModel) -> None:
    model, meter = with_pool(windows), Meter()
    decision, _ = decide(model, SENTENCES, settings=Settings("sentence", steps=5))
    budget = CountedBudget(1000.0, meter)
    events = list(run(model, decision, select(METHODS), meter, narrators=(), budget=budget))
    kinds = [type(event).__name__ for event in events]
    first = events[: kinds.index("RandomControl") + 1]
    results = [event for event in first if isinstance(event, MethodResult)]
    assert [result.method for result in results] == ["attention_mean", "occlusion", "consensus"]
    assert all(result.attribution.ended_early for result in results)  # so that nobody keeps them as they are
    last = {event.method: event for event in events if isinstance(event, MethodResult)}
    assert not any(result.attribution.ended_early for result in last.values())


@pytest.mark.parametrize("methods", [("gradient_x_input", "lime"), ("gradient_x_input", "random"), ("lime",)])
def test_without_two_quick_methods_the_random_orders_come_after_the_methods(
    bert: FrozenModel, methods: tuple[str, ...]
) -> None:
    comparison, meter = compared(bert, CountedBudget.per_pass * 190, methods=methods)
    assert {"gradient_x_input", "lime"} & {result.method for result in comparison.results} == {*methods} - {"random"}
    assert meter.calls <= 1.5 * 190 + 50
    answer = comparison.answer
    assert answer is not None
    assert bool(answer.words) is (methods == ("gradient_x_input", "lime"))
    enough, whole = (compared(bert, seconds, methods=methods)[0] for seconds in (1000.0, None))
    assert enough.is_complete
    check_equal(enough, whole)


def test_what_was_answered_within_a_small_budget_goes_on_and_asks_nothing_twice(windows: FrozenModel) -> None:
    model = with_pool(windows)
    (short, before), (rest, after) = (compared(model, seconds, SENTENCES, "sentence") for seconds in (1.5, None))
    whole, meter = compared(windows, None, SENTENCES, "sentence")
    assert not short.is_complete
    check_equal(rest, whole)
    assert before.calls + after.calls <= 1.1 * meter.calls


def test_a_first_method_that_fails_is_told_once(windows: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ExplanationError("It cannot.")

    monkeypatch.setattr(Occlusion, "attribute", fail)
    comparison, _ = compared(windows, 20.0, SENTENCES, "sentence")
    assert comparison.failures == (Failure("occlusion", "It cannot."),)
    assert comparison.consensus is not None


def test_more_time_gives_more_and_enough_gives_what_a_run_without_a_budget_gives(bert: FrozenModel) -> None:
    counts = [len(compared(bert, seconds)[0].results) for seconds in LIMITS]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    enough, without = compared(bert, 1000.0)[0], compared(bert, None)[0]
    assert enough.is_complete
    check_equal(enough, without)


@pytest.mark.parametrize("units", [5, 8])
def test_few_units_have_few_masks_so_that_an_answer_needs_little_time(bert: FrozenModel, units: int) -> None:
    text = " ".join(TEXT.split()[:units])
    comparison, _ = compared(bert, CountedBudget.per_pass * (2**units + 30), text)
    assert {"lime", "kernel_shap", "occlusion"} <= {result.method for result in comparison.results}
    assert comparison.random_control is not None
    assert comparison.answer is not None
    assert comparison.answer.status != "pending"


def test_what_asks_nothing_new_is_done_although_the_time_is_over(bert: FrozenModel) -> None:
    """Of four units all masks were asked before; a method of gradients has then taken all of the time."""
    methods = ("attention_mean", "occlusion", "integrated_gradients", "lime", "kernel_shap")
    model, meter = with_pool(bert), Meter()
    decision, probabilities = decide(model, "the film was good", settings=Settings(steps=5))
    comparison = Comparison(decision, probabilities, order=methods, budget=60.0)
    budget = Budget(60.0, meter)
    for event in run(model, decision, select(methods), meter, narrators=(), budget=budget):
        comparison = comparison.with_event(event)
        if isinstance(event, MethodResult) and event.method == "integrated_gradients":
            budget.seconds = 0.0
    for method in ("lime", "kernel_shap"):
        result = comparison.result(method)
        assert result is not None
        assert not result.attribution.ended_early


def test_measuring_takes_at_most_the_masks_that_there_are() -> None:
    assert measuring_passes(19, 5) == 2 * (5 + 10)  # of 1 and of 3 units
    assert measuring_passes(19, 100) == 19 * 2 * 5
    assert measuring_passes(10_000, 5) == 2 * (5 + 10)
    assert measuring_passes(10_000, 2) == 4


def test_sampling_that_has_no_more_time_ends_with_its_estimate(bert: FrozenModel) -> None:
    for seconds in (6.0, 7.0, 8.0, 9.0):
        comparison, _ = compared(bert, seconds, LONG)
        lime = comparison.result("lime")
        if lime is not None and lime.attribution.ended_early:
            break
    else:
        pytest.fail("no budget ended LIME early")
    whole = [estimate for estimate in all_estimates(bert, LONG) if estimate.samples == lime.attribution.samples]
    assert lime.attribution.scores == pytest.approx(whole[0].scores, abs=1e-9)
    assert lime.attribution.stage == "final"
    assert lime.attribution.samples < (lime.attribution.samples_at_most or 0)
    assert "lime" in comparison.ended_early


def all_estimates(model: FrozenModel, text: str) -> list[Attribution]:
    model, meter = with_pool(model), Meter()
    decision, _ = decide(model, text, settings=Settings(steps=5))
    events = run(model, decision, select(["lime"]), meter, narrators=())
    return [event for event in events if isinstance(event, Attribution)]


def check_equal(one: Comparison, other: Comparison) -> None:
    """The same but for the last digits, which depend on what went through the model together."""
    assert one.answer is not None
    assert other.answer is not None
    assert one.methods == other.methods
    for method, own in scores(other).items():
        assert scores(one)[method] == pytest.approx(own, abs=1e-5), method
    parts = [(answer.status, answer.words, answer.p, answer.order) for answer in (one.answer, other.answer)]
    assert parts[0] == parts[1]


def scores(comparison: Comparison) -> dict[str, tuple[float, ...]]:
    return {result.method: result.attribution.scores for result in comparison.results}


def test_the_answer_is_provisional_while_a_method_is_missing(bert: FrozenModel) -> None:
    comparison, _ = compared(bert, 1000.0)
    assert comparison.answer is not None
    assert not comparison.answer.provisional
    for part, provisional in (("lime", True), ("random", True), ("delete", False)):
        answer = answered(replace(comparison, postponed=(part,)), finished=True).answer
        assert answer is not None
        assert answer.provisional is provisional, part
    (first, *_), rest = [r for r in comparison.results if r.method == "lime"], comparison.results
    early = replace(first, attribution=first.attribution.ended())
    answer = answered(
        replace(comparison, results=tuple(early if r.method == "lime" else r for r in rest)), finished=True
    ).answer
    assert answer is not None
    assert answer.provisional


def test_what_is_missing_costs_about_what_it_then_takes(bert: FrozenModel) -> None:
    comparison, meter = compared(bert, 0.5)
    assert not comparison.is_complete
    _, whole = compared(bert, None)
    missing, took = postponed_passes(comparison, select(METHODS)), whole.calls - meter.calls
    assert took / 3 <= missing <= 3 * took
    complete, _ = compared(bert, 1000.0)
    assert postponed_passes(complete, select(METHODS)) == 0


def test_the_pace_is_that_of_the_passes_and_waiting_does_not_count() -> None:
    meter = Meter(calls=100, seconds=1.0)
    budget = Budget(20.0, meter)
    assert budget.takes(1000) == pytest.approx(12.0)
    assert budget.allows(1600)
    assert not budget.allows(1700)
    over = Budget(20.0, meter, began=budget.began - 30.0)
    assert over.allows(0)
    assert not over.allows(1)
    waited = Budget(20.0, Meter(waited=7.0), began=budget.began - 10.0)
    assert waited.spent == pytest.approx(3.0, abs=0.5)
    assert Budget(20.0, Meter(calls=3, seconds=30.0)).takes(1000) == 0.0


def test_a_few_passes_tell_the_pace_of_the_random_orders() -> None:
    meter = Meter(calls=12, seconds=4.8)
    budget = CountedBudget(5.0, meter)
    budget.per_pass = 0.4
    # 0.2 s are left, and 2.5 s more for an answer; one order of 28 words takes 10 passes, 4 s
    assert (measuring_passes(1, 28), budget.next_orders(0, RANDOM_ORDERS, 28)) == (10, 0)
    slow = Budget(5.0, meter, began=time.perf_counter() - 4.8)
    assert slow.next_orders(0, RANDOM_ORDERS, 28) == 0
    assert slow.takes(10) == 0.0  # what no answer needs is not postponed at a pace of so few


def test_what_is_known_of_an_operator_is_not_postponed(bert: FrozenModel) -> None:
    whole, _ = compared(bert, None)
    model, meter = with_pool(bert), Meter()
    budget = CountedBudget(0.01, meter)
    meter.calls = 100
    explained = [result.attribution for result in whole.results]
    events = run_operator_checks(model, whole.decision, explained, meter, whole.operator_checks, budget)
    assert [event.erasure for event in events if isinstance(event, OperatorCheck)] == ["delete", "zero"]
    assert meter.calls == 100


def test_narrators_do_not_speak_of_sentences(bert: FrozenModel) -> None:
    decision, _ = decide(bert, TEXT, settings=Settings("sentence"))
    (event,) = run_narrators(bert, decision, ("cause",))
    assert event == Failure("cause", WORDS_ONLY)


def test_files_say_what_did_not_fit(bert: FrozenModel) -> None:
    comparison, _ = compared(bert, 0.5)
    told = json.loads(comparison.as_json())["budget"]
    assert told == {
        "seconds": 0.5,
        "postponed": list(comparison.postponed),
        "ended_early": list(comparison.ended_early),
    }
    assert "budget" not in compared(bert, None)[0].as_dict()
    again = replace(comparison, results=(), random_control=None, operator_checks=(), postponed=())
    for event in comparison.events():
        again = again.with_event(event)
    assert again.postponed == comparison.postponed
    assert [result.method for result in again.results] == [result.method for result in comparison.results]


def test_the_summary_names_what_did_not_fit(bert: FrozenModel) -> None:
    comparison, _ = compared(bert, 0.5)
    assert "Not complete within 0.5 s: the random orders" in summary(comparison)
    assert "erasing by delete and erasing by zero. More time adds them." in summary(comparison)
    assert "Not complete" not in summary(compared(bert, None)[0])


@pytest.mark.parametrize("budget", [0, -3, float("nan"), float("inf")])
def test_a_budget_is_a_positive_number(bert: FrozenModel, budget: float) -> None:
    with pytest.raises(ExplanationError, match="number of seconds above 0"):
        explain(bert, TEXT, budget=budget)


def test_a_notebook_may_give_a_budget(bert: FrozenModel) -> None:
    comparison = explain(bert, TEXT, methods=["occlusion", "attention_mean"], budget=600)
    assert comparison.is_complete
    assert comparison.as_dict()["budget"]["seconds"] == 600
    assert all(isinstance(result, MethodResult) for result in comparison.results)


def test_a_text_in_windows_costs_a_pass_for_each_that_is_not_known() -> None:
    whole, windows = Meter(calls=90, seconds=1.0), Meter(calls=90, pooled=60, asked=45, seconds=1.0)
    windows.wholes, windows.parts = 40, 80
    assert Budget(60.0, windows).takes(10) == pytest.approx(2 * Budget(60.0, whole).takes(10))
    assert Budget(60.0, windows).takes(10) > 0
    assert seconds_left(100, windows, 9.0) == pytest.approx((100 - 45) * 2 * 9.0 / 90)
    assert seconds_left(100, whole, 9.0) == pytest.approx((100 - 90) * 9.0 / 90)


class Hopeful(CountedBudget):
    """Believes that nothing takes any time, as with passes that are slower than those by which the pace is known."""

    def takes(self, passes: float, *, fewest: int = FEWEST) -> float:
        return 0.0


@pytest.mark.parametrize("seconds", [0.4, 4.0])
def test_gradients_are_broken_off_half_a_budget_late(
    bert: FrozenModel, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(batching.TOKENS_PER_BATCH, "cpu", 100)  # a few steps in a batch
    model, meter = with_pool(bert), Meter()
    decision, _ = decide(model, TEXT, settings=Settings(steps=200))
    specs = select(["integrated_gradients"])
    events = list(run(model, decision, specs, meter, narrators=(), budget=Hopeful(seconds, meter), control_known=True))
    postponed = [event.part for event in events if isinstance(event, Postponed)]
    results = [event for event in events if isinstance(event, MethodResult)]
    if seconds < 1:
        assert "integrated_gradients" in postponed
        assert not results
        assert 60 <= meter.calls < 80  # one and a half times 0.4 s, to the end of a batch
    else:
        assert "integrated_gradients" not in postponed
        assert len(results) == 1
    assert meter.over is None
