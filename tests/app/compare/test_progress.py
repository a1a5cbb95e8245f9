"""Time is given by hand; the runs are the engine's own, with the small model."""

import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any

import pytest

from app.compare import views
from app.compare.engine import LONG, STILL, Engine, ProgressWatch
from app.compare.runs import Request, Run
from app.compare.state import compare_state

LATER = STILL + 1


def run_of(status: str = "running") -> Run:
    run = Run(Request("bag", None, None, (), None), {})  # type: ignore[arg-type]
    run.status = status  # type: ignore[assignment]
    return run


def standing(runs: list[Run], change: Callable[[], object] = lambda: None, after: float = LATER) -> list[Run]:
    """Those that hang after so many seconds, with a `change` just before."""
    progress = ProgressWatch()
    assert progress.standing(runs, 0.0) == []
    change()
    return progress.standing(runs, after)


def test_a_run_that_neither_asks_the_model_nor_computes_hangs() -> None:
    run = run_of()
    assert standing([run]) == [run]
    assert standing([run], after=STILL) == []


def test_passes_and_results_are_progress() -> None:
    run = run_of()
    assert standing([run], lambda: setattr(run.meter, "calls", 1)) == []
    assert standing([run], lambda: setattr(run.meter, "pooled", 1)) == []
    assert standing([run], lambda: setattr(run, "status", "done")) == []


def test_a_long_batch_and_a_download_have_ten_minutes() -> None:
    loading, batch = run_of("loading"), run_of()
    batch.meter.in_batch = True
    assert standing([loading, batch], after=LONG) == []
    assert standing([loading, batch], after=LONG + 1) == [loading, batch]


def test_waiting_for_a_turn_is_right_only_while_another_run_moves() -> None:
    waiting, other = run_of("waiting"), run_of()
    waiting.turn.waits = True
    assert standing([waiting, other], lambda: setattr(other.meter, "calls", 1)) == []
    assert standing([waiting, other]) == [waiting, other]
    other.meter.in_batch = True
    assert standing([waiting, other]) == []


@pytest.mark.parametrize("busy", [True, False])
def test_a_fit_outside_the_model_is_progress_and_a_lock_is_none(busy: bool) -> None:
    """A thread that computes for a second, and one that waits for a lock."""
    run, lock, over, began = run_of(), Lock(), Event(), Event()

    def compute() -> None:
        end = time.thread_time() + 1.1
        while time.thread_time() < end:
            pass
        began.set()
        over.wait(20)

    def wait() -> None:
        began.set()
        with lock:
            pass

    with lock:
        run.thread = Thread(target=compute if busy else wait, daemon=True)
        progress = ProgressWatch()
        progress.standing([run], 0.0)
        run.thread.start()
        assert began.wait(20)
        assert progress.standing([run], LATER) == ([] if busy else [run])
        over.set()
    run.thread.join()


def test_the_servers_status_counts_runs_that_hang(
    engine: Engine, request_for: Callable[..., Request], hold: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold.when = lambda: True
    run = engine.submit(request_for())
    assert hold.reached.wait(60)
    assert engine.snapshot()["hanging"] == 0
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + LONG + 1)
    assert engine.snapshot()["hanging"] == 1  # a batch that has not ended in ten minutes
    monkeypatch.undo()
    hold.go.set()
    assert run.thread is not None
    run.thread.join(20)
    assert engine.snapshot()["hanging"] == 0


@pytest.mark.usefixtures("page")
def test_a_stopped_run_that_stands_for_a_refused_one_is_looked_at_until_it_ends(engine: Engine) -> None:
    """The text was emptied while it ran."""
    before, refused = run_of(), run_of("failed")
    compare_state().last_good_run = before
    assert views.tick(engine, refused) is not None
    before.status = "stopped"
    assert views.tick(engine, refused) is None
