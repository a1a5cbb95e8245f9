import time
from collections.abc import Callable
from typing import Any

import pytest

from app.compare import runs, session
from app.compare.engine import Engine, longest_queue
from app.compare.runs import Lease, Request, Run
from app.compare.state import compare_state


@pytest.mark.parametrize(
    ("connected", "unseen", "expired"),
    [(True, 149, False), (True, 151, True), (False, 9, False), (False, 11, True)],
)
def test_a_lease_ends_soon_after_the_tab_is_gone(connected: bool, unseen: float, expired: bool) -> None:
    lease = Lease(lambda: connected)
    lease.renewed = time.monotonic() - unseen
    assert lease.expired is expired
    lease.renew()
    assert not lease.expired


def test_a_run_ends_when_its_tab_is_gone_and_what_is_finished_stays_known(
    engine: Engine, request_for: Any, hold: Any, over: Any
) -> None:
    hold.when = lambda: any(run.columns["lime"].base is not None for run in engine.queue)
    lease = Lease(lambda: False)
    run = engine.submit(request_for(), lease=lease)
    assert hold.reached.wait(60)
    lease.renewed -= runs.GONE + 1
    batches = hold.batches
    hold.go.set()
    assert over(run).status == "stopped"
    assert run.abandoned
    assert hold.batches <= batches + 1
    assert engine.queue == []
    assert not engine.turns.computing
    again = over(engine.submit(run.request))
    assert again.columns["occlusion"].remembered


def test_a_run_that_waits_for_its_turn_ends_as_well(engine: Engine, request_for: Any, hold: Any, over: Any) -> None:
    hold.when = lambda: True
    busy = [engine.submit(request_for(text)) for text in ("a", "good")]
    assert hold.reached.wait(60)
    end = time.monotonic() + 10
    while len(engine.turns.computing) < len(busy) and time.monotonic() < end:  # else the third one may be the second
        time.sleep(0.005)
    lease = Lease(lambda: False)
    waiting = engine.submit(request_for("film"), lease=lease)
    lease.renewed -= runs.GONE + 1
    assert over(waiting).status == "stopped"
    assert waiting.meter.calls == 0
    hold.go.set()
    for run in busy:
        over(run)


def test_after_a_reload_the_same_question_takes_over_the_run_that_nobody_looks_at(
    engine: Engine, request_for: Any, hold: Any, over: Any
) -> None:
    hold.when = lambda: True
    run = engine.submit(request_for(), lease=Lease(lambda: False))
    assert hold.reached.wait(60)
    lease = Lease()
    assert engine.submit(request_for(), lease=lease) is run
    assert run.lease is lease
    assert engine.submit(request_for()) is not run  # somebody looks at it now
    hold.go.set()
    over(run)


def test_a_full_queue_refuses_with_a_sentence(
    engine: Engine, request_for: Any, hold: Any, over: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold.when = lambda: True
    monkeypatch.setenv("CROSSLIGHT_QUEUE", "2")
    runs = [engine.submit(request_for(text)) for text in ("a", "good", "film")]
    assert runs[2].status == "failed"
    assert runs[2].error == "The server is busy with 2 comparisons. Try again in a moment."
    hold.go.set()
    assert [over(run).status for run in runs[:2]] == ["done", "done"]
    assert over(engine.submit(request_for("film"))).status == "done"


@pytest.mark.parametrize(("value", "limit"), [("3", 3), ("", 64), ("many", 64), ("-1", 64)])
def test_the_limit_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, value: str, limit: int) -> None:
    monkeypatch.setenv("CROSSLIGHT_QUEUE", value)
    assert longest_queue() == limit


def test_closing_ends_every_thread_and_refuses_what_comes_after(engine: Engine, request_for: Any, hold: Any) -> None:
    def slow() -> bool:
        hold.reached.set()
        time.sleep(0.05)
        return False

    hold.when = slow
    runs = [engine.submit(request_for(text)) for text in ("a", "good", "film", "but")]
    assert hold.reached.wait(60)
    engine.close()
    assert not engine.threads
    assert not engine.queue
    assert not any(run.active for run in runs)
    assert engine.submit(request_for()).status == "failed"


class Panic(BaseException):
    """As a library in another language raises it."""


def test_a_panic_leaves_no_run_without_an_end(
    engine: Engine, request_for: Any, over: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise Panic

    monkeypatch.setattr("explainers.models.frozen_model.FrozenModel.encode", refuse)
    run = over(engine.submit(request_for()))
    assert (run.status, run.error) == ("failed", "Internal error in Crosslight (Panic).")
    assert not engine.turns.computing
    assert engine.queue == []


def test_the_snapshot_has_numbers_and_nothing_that_was_typed(
    engine: Engine, request_for: Any, hold: Any, over: Any
) -> None:
    hold.when = lambda: True
    runs = [engine.submit(request_for(text), lease=Lease(lambda: False)) for text in ("a", "good", "film")]
    assert hold.reached.wait(60)
    while len(engine.turns.waiting) != 1:
        time.sleep(0.01)
    snapshot = engine.snapshot()
    assert {name: snapshot[name] for name in ("queue", "without_viewer", "computing", "waiting", "models")} == {
        "queue": 3,
        "without_viewer": 3,
        "computing": 2,
        "waiting": 1,
        "models": ["other"],
    }
    assert "film" not in str(snapshot)
    hold.go.set()
    for run in runs:
        over(run)


def test_a_stopped_comparison_with_results_is_what_stays_on_screen(
    page: Any, engine: Engine, ran: Callable[..., Run], request_for: Callable[..., Request]
) -> None:
    state = compare_state()
    state.run = first = ran("a good film")
    state.run.status = "stopped"
    session.start(engine, request_for("a dull film"))
    assert state.last_good_run is first
    state.run = empty = Run(request_for("a film"), {}, status="stopped")  # stopped before anything was known
    session.start(engine, request_for("a good film but dull"))
    assert state.last_good_run is not empty
