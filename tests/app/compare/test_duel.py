import re
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
import streamlit as st

from app.compare import duel, follow_ups
from app.compare.duel import chosen_pair, contenders, duel_html
from app.compare.engine import Engine
from app.compare.follow_ups import duel_of
from app.compare.runs import FollowUp, Run
from app.compare.state import CompareControls, CompareState
from explainers.comparison.stored_results import StoredResult
from explainers.models.calls import Meter
from explainers.results.events import Duel, DuelSide

Ran = Callable[..., Run]
PAIR = ("occlusion", "guess")
KEY = ("duel", *PAIR)
METHODS = ("occlusion", "gradient_x_input", "random")


def settled(state: FollowUp[Duel]) -> FollowUp[Duel]:
    end = time.monotonic() + 20
    while state.active and time.monotonic() < end:
        time.sleep(0.002)
    assert not state.active
    return state


@pytest.fixture
def guessed(engine: Engine, request_for: Callable[..., Any], over: Callable[[Run], Run]) -> Run:
    """A run about "a good film but dull" in which a person has marked "but"."""
    return over(engine.submit(replace(request_for(methods=METHODS), guess=(3,))))


def test_a_person_has_a_row_and_can_be_asked_to_a_duel(guessed: Run) -> None:
    assert list(guessed.columns) == ["guess", *METHODS]
    assert contenders(guessed) == ["guess", "occlusion", "gradient_x_input"]  # random ranks nothing


def test_a_duel_is_computed_once_and_becomes_part_of_the_comparison(engine: Engine, guessed: Run) -> None:
    assert guessed.comparison().duels == ()
    state = settled(duel_of(engine, guessed, PAIR))
    assert state.error == ""
    assert state.result is not None
    assert [side.units for side in state.result.sides] == [(1,), (3,)]  # "good" and "but"
    assert state.result.winner is None  # with five words it may be luck
    assert guessed.comparison().duels == (state.result,)
    assert duel_of(engine, guessed, PAIR) is state


def test_answers_are_shared_with_other_runs_about_the_input(
    engine: Engine, guessed: Run, over: Callable[[Run], Run]
) -> None:
    settled(duel_of(engine, guessed, PAIR))
    again = over(engine.submit(guessed.request))
    state = settled(duel_of(engine, again, PAIR))
    assert state.result == guessed.follow_ups[KEY].result
    assert state.meter.calls == 0


def test_another_guess_is_another_row_and_the_methods_stay(
    engine: Engine, guessed: Run, over: Callable[[Run], Run]
) -> None:
    other = over(engine.submit(replace(guessed.request, guess=(1, 0))))
    assert [name for name, column in other.columns.items() if not column.remembered] == ["guess"]
    assert other.columns["guess"].attribution is not None
    assert other.columns["guess"].attribution.scores == (1.0, 2.0, 0.0, 0.0, 0.0)
    without = over(engine.submit(replace(other.request, removed=(1,))))
    assert without.columns["guess"].attribution is not None
    assert without.columns["guess"].attribution.scores == (1.0, 0.0, 0.0, 0.0)


def test_a_stored_duel_needs_no_model(engine: Engine, guessed: Run) -> None:
    sides = DuelSide("guess", (3,), 0.7, 0.5), DuelSide("occlusion", (1,), 0.4, 0.8)
    stored = replace(guessed.comparison(), duels=(Duel(sides, 0.78, (0.7,), (0.5,), "occlusion"),))
    guessed.stored = StoredResult("", {}, stored)
    state = duel_of(engine, guessed, PAIR)
    assert not state.active
    assert state.result is not None
    assert state.result.sides == sides[::-1]


@pytest.mark.parametrize("expired", [False, True])
def test_a_duel_that_was_stopped_is_computed_when_somebody_looks(
    engine: Engine, guessed: Run, hold: Any, monkeypatch: pytest.MonkeyPatch, expired: bool
) -> None:
    monkeypatch.setattr("explainers.comparison.duel.known_answers", lambda _comparison: {})  # so that it has to ask
    engine.memory.pool.known.clear()
    hold.when = lambda: True
    stopped = duel_of(engine, guessed, PAIR)
    assert hold.reached.wait(60)
    assert follow_ups.pending(guessed)
    with monkeypatch.context() as patch:
        if expired:
            patch.setattr(type(guessed.lease), "expired", True)
        else:
            guessed.stop()
        hold.when = lambda: False
        hold.go.set()
        assert settled(stopped).error == "Stopped."
    assert guessed.follow_ups == {}
    again = settled(duel_of(engine, guessed, PAIR))
    assert again is not stopped
    assert (again.error, again.result is not None) == ("", True)


def test_a_run_can_be_stopped_while_its_page_asks_for_another_duel(guessed: Run) -> None:
    class Asking(Event):
        def set(self) -> None:
            guessed.follow_ups["duel", "lime", f"{len(guessed.follow_ups)}"] = FollowUp()

    guessed.follow_ups[KEY] = FollowUp(Meter(cancel=Asking()))
    guessed.stop()
    assert len(guessed.follow_ups) == 2


@pytest.mark.parametrize(
    ("address", "chosen", "problem"),
    [
        ("", ("a", "b"), ""),
        ("c.a", ("c", "a"), ""),
        ("a.a", ("a", "a"), ""),  # a sentence says that two are needed
        ("a.<b>", ("a", "b"), "The address asks for the duel “a.<b>”, which is not possible here."),
        ("a.lime", ("a", "b"), "The duel that was chosen needs LIME. Add it, or choose another pair."),
        ("nonsense", ("a", "b"), "The address asks for the duel “nonsense”, which is not possible here."),
    ],
)
def test_the_pair_of_the_address(
    monkeypatch: pytest.MonkeyPatch, address: str, chosen: tuple[str, str], problem: str
) -> None:
    state = CompareState(CompareControls(duel=address))
    monkeypatch.setattr(duel, "compare_state", lambda: state)
    assert chosen_pair(["a", "b", "c"], ("a", "b")) == (chosen, problem)
    assert chosen_pair(["a", "c"], ("a", "b"))[0] == (chosen if "b" not in (*chosen, "") else None)


def test_only_another_pair_than_the_shown_one_is_in_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    state = CompareState()
    for first, second, expected in (("a", "c", "a.c"), ("b", None, "a.c"), ("a", "b", ""), ("b", None, "")):
        boxes = dict(zip(duel.BOXES, (first, second), strict=True))
        monkeypatch.setattr(st, "session_state", {"CompareState": state, **boxes})
        duel._chosen(["a", "b", "c"], ("a", "b"))
        assert state.controls.duel == expected


def test_the_drawing_has_the_same_rows_in_every_state_and_escapes_what_was_typed(
    engine: Engine, ran: Ran, guessed: Run
) -> None:
    state = settled(duel_of(engine, guessed, PAIR))
    before, after = duel_html(guessed, None, None, "…", ""), duel_html(guessed, PAIR, state.result, "<b>", "<i>")
    assert [html.count('class="duel-row') for html in (before, after)] == [4, 4]
    assert [len(re.findall(r'class="duel-(sentence|note)"', html)) for html in (before, after)] == [2, 2]
    assert "&lt;b&gt;" in after
    assert "&lt;i&gt;" in after
    assert "“good”" in after
    assert state.result is not None
    won = replace(state.result, winner="occlusion")
    assert 'class="duel-row duel-wins"' in duel_html(guessed, PAIR, won, "", "")
    hostile = ran("<b>good</b> film", methods=("occlusion", "gradient_x_input"))
    other = settled(duel_of(engine, hostile, ("occlusion", "gradient_x_input")))
    assert "<b>good" not in duel_html(hostile, ("occlusion", "gradient_x_input"), other.result, "", "")


def test_a_failure_is_a_sentence(engine: Engine, guessed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_ups, "answers_about", lambda *_rest: 1 / 0)
    state = settled(duel_of(engine, guessed, PAIR))
    assert state.error == "Internal error in Crosslight (ZeroDivisionError)."
    assert not follow_ups.pending(guessed)


def test_a_duel_that_cannot_be_held_has_no_rows_that_seem_to_wait(
    guessed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(st, "html", drawn.append)
    waiting, without, failed = FollowUp[Duel](), FollowUp[Duel](active=False), FollowUp[Duel](active=False, error="No.")
    for fought in (waiting, without, failed):
        duel.draw(guessed, PAIR, fought)
    assert ["duel-none" in html.partition("</style>")[2] for html in drawn] == [False, True, True]
