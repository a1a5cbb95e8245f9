import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest

from app.compare import fair_scheduler as module
from app.compare.fair_scheduler import FairScheduler, Turn
from explainers.comparison.decision import decide
from explainers.comparison.runner import estimates
from explainers.errors import Cancelled
from explainers.methods.registry import method_spec
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel

PATIENCE = 10  # seconds


def nothing() -> None:
    """A check that finds nothing wrong."""


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> FairScheduler:
    monkeypatch.setattr(module, "CHECK", 0.01)
    return FairScheduler(at_once=1)


def in_line(turns: FairScheduler, turn: Turn, order: list[Turn]) -> Thread:
    """Takes its turn in a thread of its own, notes it, and leaves."""

    def work() -> None:
        turns.pause(turn, nothing)
        order.append(turn)
        turns.leave(turn)

    thread = Thread(target=work)
    before = len(turns.waiting)
    thread.start()
    eventually(lambda: len(turns.waiting) > before)
    return thread


def test_quick_work_goes_first_and_equals_in_the_order_in_which_they_came(turns: FairScheduler) -> None:
    busy, order = Turn(), list[Turn]()
    turns.pause(busy, nothing)
    slow, slower, quick = Turn(quick=False), Turn(quick=False), Turn()
    threads = [in_line(turns, turn, order) for turn in (slow, slower, quick)]
    assert [turns.ahead_of(turn) for turn in (busy, quick, slow, slower)] == [0, 1, 2, 3]
    turns.leave(busy)
    for thread in threads:
        thread.join(PATIENCE)
    assert order == [quick, slow, slower]
    assert not turns.waiting
    assert not turns.computing


def test_one_that_computes_gives_way_only_when_its_slice_is_used_up(
    turns: FairScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLICE", 100.0)
    first, second, order = Turn(quick=False), Turn(quick=False), list[Turn]()
    turns.pause(first, nothing)
    thread = in_line(turns, second, order)
    turns.pause(first, nothing)
    assert order == []  # the slice has just begun
    monkeypatch.setattr(module, "SLICE", 0.0)
    turns.pause(first, nothing)
    assert order == [second]
    assert turns.computing == {first}
    thread.join(PATIENCE)


def test_slow_work_gives_way_to_quick_work_at_once_and_never_the_other_way(
    turns: FairScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick, order = Turn(quick=False), Turn(), list[Turn]()
    turns.pause(slow, nothing)
    thread = in_line(turns, quick, order)
    turns.pause(slow, nothing)
    assert order == [quick]
    thread.join(PATIENCE)
    turns.leave(slow)
    turns.pause(quick, nothing)
    thread = in_line(turns, slow, order)
    monkeypatch.setattr(module, "SLICE", 0.0)
    turns.pause(quick, nothing)
    assert order == [quick]
    turns.leave(quick)
    thread.join(PATIENCE)


def test_slow_work_that_gave_way_to_quick_work_keeps_its_place_and_the_rest_of_its_slice(
    turns: FairScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLICE", 100.0)
    slow, next_slow, quick, order = Turn(quick=False), Turn(quick=False), Turn(), list[Turn]()
    turns.pause(slow, nothing)
    slow.began -= 0.9 * module.SLICE
    threads = [in_line(turns, turn, order) for turn in (next_slow, quick)]
    turns.pause(slow, nothing)
    assert order == [quick]
    assert time.monotonic() - slow.began >= 0.9 * module.SLICE
    turns.leave(slow)
    for thread in threads:
        thread.join(PATIENCE)
    assert order == [quick, next_slow]


def test_one_that_is_no_longer_wanted_leaves_the_line(turns: FairScheduler) -> None:
    busy, gone, stopped = Turn(), Turn(), Event()

    def check() -> None:
        if stopped.is_set():
            raise Cancelled("Stopped.")

    def work() -> None:
        with pytest.raises(Cancelled):
            turns.pause(gone, check)

    turns.pause(busy, nothing)
    thread = Thread(target=work)
    thread.start()
    eventually(lambda: gone in turns.waiting)
    stopped.set()
    thread.join(PATIENCE)
    assert not turns.waiting
    assert turns.computing == {busy}


def test_equals_get_equal_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three computations of 30 batches each, one at a time: none is ever two slices behind another."""
    monkeypatch.setattr(module, "SLICE", 0.0)
    turns, order, begin = FairScheduler(at_once=1), list[int](), Event()

    def work(number: int) -> None:
        turn = Turn(quick=False)
        assert begin.wait(PATIENCE)
        turns.pause(turn, nothing)
        eventually(lambda: len(turns.waiting) == 2 or bool(order))  # the others are there as well
        for _ in range(30):
            order.append(number)
            turns.pause(turn, nothing)
        turns.leave(turn)

    threads = [Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    begin.set()
    for thread in threads:
        thread.join(PATIENCE)
    done = [[order[:end].count(number) for number in range(3)] for end in range(1, 91)]
    assert max(max(counts) - min(counts) for counts in done) == 1


def test_a_meter_pauses_before_a_batch_and_not_within_one() -> None:
    meter, pauses = Meter(), list[int]()
    meter.give_way = lambda: pauses.append(meter.calls)
    for _ in range(2):
        meter.pause()
        with meter.batch(3):
            meter.pause()  # the model's lock is held here
            with meter.batch(4):
                meter.pause()
    assert pauses == [0, 7]
    assert meter.calls == 14


def test_waiting_for_a_turn_or_for_the_model_is_not_the_methods_time(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.0, "film": 0.5})
    decision, _ = decide(model, "good film")
    for wait in (lambda: time.sleep(1.0), lambda: hold_for(model.lock, 1.0)):
        meter = Meter(give_way=wait)
        *_, last = estimates(method_spec("occlusion"), model, decision, meter)
        assert meter.waited >= 0.5
        assert last.seconds < 0.5
        assert meter.seconds < 0.5


def hold_for(lock: Any, seconds: float) -> None:
    """Another thread takes the lock and keeps it for a while."""
    taken = Event()

    def keep() -> None:
        with lock:
            taken.set()
            time.sleep(seconds)

    Thread(target=keep).start()
    assert taken.wait(PATIENCE)
