"""A run with a budget: what it postpones is told, and computed when a person asks for it."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from app.compare import answer_head, computation, score_sheet, session, views
from app.compare.engine import Engine
from app.compare.runs import Request, Run, answer_of
from app.compare.session import gives_more_time
from app.compare.state import compare_state
from explainers.report.summary import summary
from tests.app.conftest import Hold
from tests.counted_budget import CountedBudget

Ask = Callable[..., Request]
Over = Callable[[Run], Run]
TEN = "a good film but dull and very bad plot not"
FORTY = " ".join(4 * [TEN])
METHODS = ("attention_mean", "occlusion", "lime", "kernel_shap")


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computation, "Budget", CountedBudget)


@pytest.fixture
def short(engine: Engine, request_for: Ask, over: Over) -> Run:
    """A run that had no time for LIME and KernelSHAP."""
    run = over(engine.submit(replace(request_for(FORTY, methods=("occlusion", "lime", "kernel_shap")), budget=2)))
    assert {"lime", "kernel_shap"} & set(run.comparison().postponed)
    return run


def test_what_did_not_fit_is_told_and_the_answer_is_provisional(short: Run) -> None:
    late = next(part for part in short.comparison().postponed if part in short.columns)
    column = short.columns[late]
    texts = score_sheet.row_texts(short, column)
    assert texts.status == "postponed"
    assert texts.note == "no time within 2 s"
    assert answer_of(short).provisional
    assert short.seconds_missing > 0
    assert "s, of 3 methods: " in views.budget_line(short)
    assert "not started. The rest takes about" in views.budget_line(short)


def test_where_all_methods_are_complete_the_rest_is_named(
    short: Run, engine: Engine, over: Over, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = over(engine.submit(replace(short.request, budget=None)))
    cut = replace(done.comparison(), postponed=("delete", "zero"), budget=2.0)
    monkeypatch.setattr(Run, "comparison", lambda _run: cut)
    monkeypatch.setattr(Run, "seconds_missing", 8.0)
    assert views.budget_line(done).endswith(
        "3 complete. The rest (erasing by delete and erasing by zero) takes about 8 s."
    )
    longer = replace(cut, postponed=("random", "delete", "zero"), random_control=None)
    monkeypatch.setattr(Run, "comparison", lambda _run: longer)
    assert "The rest (the random orders, erasing by delete and 1 more) takes" in views.budget_line(done)


def test_a_provisional_answer_without_words_is_not_told_as_a_finding(short: Run) -> None:
    provisional = replace(answer_of(short), status="open", refusal="", provisional=True, words=())
    assert answer_head._heading(short, provisional).startswith("Not decided within 2 s: not all methods had time")
    refused = replace(provisional, refusal="The input has 3 words.")
    assert not answer_head._heading(short, refused).startswith("Not decided")
    markup = answer_head.markup(short, short, replace(provisional, p=0.25, orders=19, words=(1,)))
    assert markup.count("not all methods had time") == 1
    assert "no better than" not in markup


def test_how_many_methods_an_answer_rests_on_stands_beside_it(short: Run) -> None:
    supported = replace(answer_of(short), status="supported", refusal="", provisional=True, words=(1,))
    late = {"lime", "kernel_shap"} & set(short.comparison().postponed)
    assert f"only {3 - len(late)} of 3 methods had time" in answer_head.markup(short, short, supported)


@pytest.mark.parametrize(
    ("scored", "failed", "active", "short", "told"),
    [
        (1, 0, True, False, "1 of 4 methods so far"),
        (2, 1, True, False, "2 of 3 methods so far"),
        (4, 0, True, False, "more to come"),  # operators
        (1, 0, False, True, "only 1 of 4 methods had time"),
        (3, 1, False, True, "not everything had time"),
        (1, 0, False, False, "stopped before all was done"),
        (3, 1, False, False, "stopped before all was done"),
    ],
)
def test_why_an_answer_is_not_the_last_word_is_told(
    scored: int, failed: int, *, active: bool, short: bool, told: str
) -> None:
    methods = ["a", "b", "c", "d"]
    run: Any = SimpleNamespace(
        columns=dict.fromkeys(methods),
        result=lambda method: True if method in methods[:scored] else None,
        comparison=lambda: SimpleNamespace(failure=lambda method: "No." if method in methods[4 - failed :] else ""),
        active=active,
        is_short=short,
    )
    assert answer_head._how_many(run) == told


def test_a_row_without_time_shows_nothing_of_the_run_before(
    engine: Engine, request_for: Ask, over: Over, short: Run
) -> None:
    late = next(part for part in short.comparison().postponed if part in short.columns)
    short.previous = over(engine.submit(request_for(FORTY, methods=("occlusion", "lime", "kernel_shap")), fresh=True))
    assert score_sheet.displayed(short, short.columns[late])[0] is short


def test_the_rest_is_computed_on_demand_and_nothing_twice(engine: Engine, short: Run, over: Over) -> None:
    rest = over(engine.submit(replace(short.request, budget=None)))
    whole = over(engine.submit(replace(short.request, budget=None), fresh=True))
    assert rest.comparison().is_complete
    assert rest.seconds_missing == 0
    assert rest.result("occlusion") is short.result("occlusion")
    assert not answer_of(rest).provisional
    assert answer_of(rest) == answer_of(whole)
    assert rest.meter.calls + short.meter.calls <= 1.1 * whole.meter.calls


@pytest.mark.usefixtures("small_batches")
def test_a_rest_that_is_stopped_leaves_what_was_known(engine: Engine, short: Run, hold: Hold, over: Over) -> None:
    compare_state().run = short
    hold.when = lambda: True
    session.complete(engine, short)
    rest = compare_state().run
    assert rest is not None
    assert hold.reached.wait(60)
    assert answer_head.shown_answer(rest) == (short, answer_of(short))  # until it has an answer
    undecided = replace(answer_of(short), status="open", refusal="", words=(), provisional=True)
    assert "Compute the rest" in answer_head.markup(short, short, undecided)
    assert "Compute the rest" not in answer_head.markup(rest, short, undecided)
    rest.stop()
    hold.go.set()
    assert over(rest).status == "stopped"
    assert rest.comparison().results == short.comparison().results
    assert rest.comparison().random_control == short.comparison().random_control
    assert answer_of(rest).words == answer_of(short).words
    assert answer_of(rest).provisional
    assert rest.rest_of is None


def test_methods_without_random_orders_do_not_take_the_place_of_an_answer(short: Run) -> None:
    known = short.comparison()
    assert known.random_control is not None
    before, rest = (Run(short.request, dict(short.columns)) for _ in range(2))
    before.current = replace(known, results=known.results[:2])
    rest.current, rest.rest_of = replace(known, random_control=None), before
    rest.end("stopped")
    assert rest.comparison().random_control == known.random_control
    assert rest.comparison().results == known.results[:2]


def test_an_estimate_is_not_remembered_as_the_result(engine: Engine, request_for: Ask, over: Over) -> None:
    text = f"{TEN} {TEN} {TEN}"
    asked = request_for(text, methods=METHODS, settings=replace(request_for().settings, samples=0))
    for seconds in range(3, 12):
        run = over(engine.submit(replace(asked, budget=seconds), fresh=True))
        if run.comparison().ended_early:
            break
    (early, *_) = run.comparison().ended_early
    texts = score_sheet.row_texts(run, run.columns[early])
    assert texts.note == f"estimate after {run.columns[early].attribution.seconds:.1f} s"  # type: ignore[union-attr]
    assert score_sheet.settled_after(run.columns[early].attribution).startswith("settled") is False  # type: ignore[arg-type]
    rest = over(engine.submit(replace(asked, budget=None)))
    before, after = run.result(early), rest.result(early)
    assert before is not None
    assert after is not None
    assert after.attribution.samples > before.attribution.samples
    assert not after.attribution.ended_early


def test_operators_are_asked_again_about_a_method_that_ended_early(
    engine: Engine, request_for: Ask, over: Over
) -> None:
    text = f"{TEN} {TEN} {TEN}"
    asked = request_for(text, methods=METHODS, settings=replace(request_for().settings, samples=0))
    for seconds in range(5, 40):
        run = over(engine.submit(replace(asked, budget=seconds), fresh=True))
        checks = run.comparison().operator_checks
        if checks and set(run.comparison().ended_early) & set(checks[0].metrics):
            break
    else:
        pytest.fail("no budget ended a method early and had time for an operator")
    rest, whole = over(engine.submit(replace(asked, budget=None))), over(engine.submit(asked, fresh=True))
    for known, computed in zip(rest.comparison().operator_checks, whole.comparison().operator_checks, strict=True):
        assert known.erasure == computed.erasure
        for method, metrics in computed.metrics.items():
            assert known.metrics[method] == pytest.approx(metrics, abs=1e-6), method


def test_metrics_of_the_random_orders_that_had_no_time_are_named_and_measured_later(
    engine: Engine, request_for: Ask, over: Over
) -> None:
    asked = request_for(f"{TEN} {TEN} {TEN}", methods=("occlusion",))
    for seconds in range(1, 8):
        run = over(engine.submit(replace(asked, budget=seconds), fresh=True))
        if "dffot" in run.comparison().postponed:
            break
    assert "dffot" in run.comparison().postponed
    assert run.is_short
    rest = over(engine.submit(replace(asked, budget=None))).comparison()
    assert rest.is_complete
    assert rest.random_control is not None
    assert "dffot" in rest.random_control.scores


def test_a_stopped_run_does_not_start_again_by_itself(short: Run) -> None:
    short.status = "stopped"
    assert not gives_more_time(replace(short.request, budget=None), short)


@pytest.mark.parametrize(("before", "now", "goes_on"), [(1, 5, True), (1, None, True), (5, 1, False), (1, 1, False)])
def test_a_run_goes_on_where_a_person_gives_more_time(short: Run, before: int, now: int | None, goes_on: bool) -> None:
    short.request = replace(short.request, budget=before)
    assert gives_more_time(replace(short.request, budget=now), short) is goes_on


def test_more_time_counts_for_a_run_on_its_way(engine: Engine, request_for: Ask, over: Over, hold: Hold) -> None:
    hold.when = lambda: hold.batches > 1  # after the prediction
    run = engine.submit(replace(request_for(TEN, methods=("occlusion", "lime", "kernel_shap")), budget=1))
    assert hold.reached.wait(60)
    run.give_time(5)
    assert run.request.budget == 5
    assert gives_more_time(replace(run.request, budget=5), run) is False  # it is not over
    run.give_time(None)
    hold.go.set()
    assert over(run).comparison().is_complete
    assert run.comparison().budget is None
    run.give_time(5)
    assert run.request.budget is None  # it is over


def test_the_rest_is_computed_whatever_the_control_says(engine: Engine, short: Run, over: Over, hold: Hold) -> None:
    hold.when = lambda: True
    session.complete(engine, short)
    run = compare_state().run
    assert run is not None
    assert hold.reached.wait(60)
    run.follow_time(2)  # the page looks, and the control has not changed
    run.follow_time(2)
    assert run.request.budget is None
    hold.go.set()
    assert over(run).comparison().is_complete


def test_the_control_counts_where_it_changes(engine: Engine, request_for: Ask, over: Over, hold: Hold) -> None:
    hold.when = lambda: hold.batches > 1
    run = engine.submit(replace(request_for(TEN), budget=5))
    run.follow_time(5)
    assert hold.reached.wait(60)
    run.follow_time(20)
    assert run.request.budget == 20
    assert run.budget is not None
    assert run.budget.seconds == 20
    hold.go.set()
    over(run)


def test_what_was_postponed_is_told_with_its_time_where_the_limit_is_taken_away(short: Run) -> None:
    late = next(part for part in short.comparison().postponed if part in short.columns)
    short.status = "running"
    short.give_time(None)
    short.status = "stopped"
    assert "Not complete within 2 s" in summary(short.comparison())
    assert score_sheet.row_texts(short, short.columns[late]).note == "no time within 2 s"
    pending = replace(short.comparison(), results=(), random_control=None, answer=None)
    short.current = pending
    assert answer_head.STOPPED_EARLY in answer_head.markup(short, short, answer_of(short))
    short.status = "done"
    short.request = replace(short.request, budget=2)
    assert "No answer in" in answer_head.markup(short, short, answer_of(short))


def test_a_run_that_was_short_before_it_got_more_time_goes_on(short: Run) -> None:
    short.request, short.least_time = replace(short.request, budget=60), 2
    assert gives_more_time(short.request, short)


def test_a_run_that_did_all_does_not_start_again_for_more_time(ran: Callable[..., Run]) -> None:
    run = ran()
    run.request = replace(run.request, budget=5)
    assert not gives_more_time(replace(run.request, budget=None), run)


def test_another_budget_asks_the_same(request_for: Ask) -> None:
    assert replace(request_for(), budget=5) == request_for()


def test_the_answer_about_the_sentences_stays_where_their_words_have_no_time(
    engine: Engine, request_for: Ask, over: Over, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(f"The film {number} was good and bad." for number in range(8))
    asked = request_for(text, methods=METHODS)
    sentences = over(engine.submit(replace(asked, settings=replace(asked.settings, unit="sentence"))))
    answer = answer_of(sentences)
    assert answer.status != "pending"
    opened = replace(asked.settings, unit="sentence", opened=(1,))
    run = over(engine.submit(replace(asked, settings=opened, budget=0)))
    assert answer_of(run).status == "pending"
    assert "No answer in 0 s" in answer_head.markup(run, run, answer_of(run))
    run.earlier = sentences
    html = answer_head.markup(run, *answer_head.shown_answer(run))
    assert "Earlier answer: 0 s were not enough for a new one. Compute the rest" in html
    assert "The film 1 was good" in html
    for other in ({"label": "negative"}, {"settings": replace(opened, erasure="delete")}):
        run.request = replace(run.request, **other)
        assert answer_head.shown_answer(run) == (run, answer_of(run))  # the earlier one is about another question
        run.request = replace(run.request, label=None, settings=opened)
