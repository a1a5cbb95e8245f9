"""Guess first: a person marks the units that matter to them before any explanation is shown.

The switch is in the address as `guess=first`. The marks belong to a model, an input and a kind of unit, and are
forgotten when one of these changes.
"""

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import streamlit as st

from app.compare import image_overlay
from app.compare.runs import Request, Run
from app.compare.score_sheet import labels, segments
from app.components import component, newest
from explainers.datasets.example import Example
from explainers.models.inputs.encoding import UnitKind

PARAMETER, FIRST = "guess", "first"  # in the address
SWITCH, STATE = "guess first", "guess"  # in the session
HELP = "Mark what you think matters before you see any explanation. Your order then becomes a row among the methods."
MARK = "Which {0} decide? Mark them, the most important first. Then see what the methods say."


@dataclass(frozen=True)
class Guess:
    """`marked` are unit numbers of the whole input, the most important first; `moment` is that of the last change.

    `id` tells the browser, without what the guess is about, that another one has begun."""

    about: tuple[str, Example, UnitKind]
    marked: tuple[int, ...] = ()
    moment: float = 0.0
    shown: bool = False  # whether the person has asked for the explanations
    id: str = field(default_factory=lambda: uuid4().hex)


def switch() -> None:
    """The toggle. Without its being switched on, no order is asked for or compared."""
    if SWITCH not in st.session_state:
        st.session_state[SWITCH] = st.session_state.get(f"kept {SWITCH}", st.query_params.get(PARAMETER) == FIRST)
    on = st.toggle("Guess first", key=SWITCH, help=HELP)
    st.session_state[f"kept {SWITCH}"] = on  # a widget's value is lost when it is no longer drawn
    if on and st.query_params.get(PARAMETER) != FIRST:
        st.query_params[PARAMETER] = FIRST
    elif not on and PARAMETER in st.query_params:
        del st.query_params[PARAMETER]


def follow_address() -> None:
    """After the browser's Back; before the switch is drawn."""
    st.session_state[SWITCH] = st.session_state[f"kept {SWITCH}"] = st.query_params.get(PARAMETER) == FIRST


def is_on() -> bool:
    """Also before the switch is drawn."""
    kept = st.session_state.get(f"kept {SWITCH}", st.query_params.get(PARAMETER) == FIRST)
    return bool(st.session_state.get(SWITCH, kept))


def order(model: str, example: Example, unit: UnitKind) -> tuple[int, ...]:
    """The marks about this input, once the explanations are shown; what was marked about another one is forgotten."""
    guess = _guess((model, example, unit))
    return guess.marked if is_on() and guess.shown else ()


def waiting(run: Run) -> bool:
    """Whether the explanations are hidden until the person asks for them."""
    guess = st.session_state.get(STATE)
    asked = isinstance(guess, Guess) and guess.about == _about(run.request) and guess.shown
    return is_on() and not asked


def show(run: Run) -> None:
    """The input once, to be marked, and the buttons below it."""
    guess = _guess(_about(run.request))
    component("guess")(key="guess marks", data=newest("guess", _payload(run, guess)), on_marked_change=_marked)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Show the explanations", key="guess show", type="primary", disabled=run.whole is None)
        st.button("Clear", key="guess clear", on_click=_clear, disabled=not guess.marked)
    if pressed:  # not in a callback: a fragment would go on without this function, and never run the whole page
        st.session_state[STATE] = replace(guess, shown=True)
        st.rerun(scope="app")  # the request has another row now


def _payload(run: Run, guess: Guess) -> dict[str, Any]:
    """`about` is the guess's id, `marked` in order, `moment` that of the last mark; the others as in the sheet."""
    image = image_overlay.image_data(run)
    what = "words" if run.request.settings.unit == "word" else "tokens"

    def make() -> dict[str, Any]:
        return {
            "about": guess.id,
            "labels": labels(run),
            "segments": segments(run),
            "image": image,
            "marked": list(guess.marked),
            "moment": guess.moment,
            "task": MARK.format(f"{what} or patches of the image" if image else what),
        }

    return run.view("guess", (id(run.whole), guess), make)


def _about(request: Request) -> tuple[str, Example, UnitKind]:
    return request.model, request.example, request.settings.unit


def _guess(about: tuple[str, Example, UnitKind]) -> Guess:
    guess = st.session_state.get(STATE)
    if not isinstance(guess, Guess) or guess.about != about:
        guess = st.session_state[STATE] = Guess(about)
    return guess


def _marked() -> None:
    """Takes the marks as the component has them. They may be delivered twice, and count once; those of another guess
    came too late."""
    guess, marked = st.session_state.get(STATE), st.session_state["guess marks"].get("marked")
    run: Run | None = st.session_state.get("run")
    if marked is None or not isinstance(guess, Guess) or run is None or run.whole is None:
        return
    if marked["about"] == guess.id and marked["moment"] > guess.moment:
        units = range(len(run.whole.encoding.units))
        numbers = dict.fromkeys(int(number) for number in marked["units"])
        kept = tuple(number for number in numbers if number in units)
        st.session_state[STATE] = replace(guess, marked=kept, moment=marked["moment"])


def _clear() -> None:
    st.session_state[STATE] = replace(st.session_state[STATE], marked=())
