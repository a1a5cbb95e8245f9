"""The parts of the Compare page that a live example shows, each drawn by that page's own modules."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from app.compare import curves, duel, narratives, panels, row_order, score_sheet, url_state, verdict_strip
from app.compare.drawing_options import DrawingOptions
from app.compare.duel_drawing import duel_html
from app.compare.duel_runs import DuelState, duel_state
from app.compare.engine import Engine
from app.compare.row_numbers import curve_values
from app.compare.runs import Run
from app.components import component, newest
from app.reading.questions import curated
from app.reading.story import LiveExample, Part
from explainers.methods.given_specs import GUESS
from explainers.report.duel import duel_sentence, no_duel_sentence

REMOVED, CLICK = "reading removed", "reading last click"  # in the session
ERASE = "Press a word to erase it in every row, and again to restore it."
PERSON = "Person {}"
PALE = "#b08a63"  # the curves of single people


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn. `name` is that of a given order in `run`; `people` are runs with the order of one person each."""

    engine: Engine
    run: Run
    state: LiveExample
    name: str = ""
    people: tuple[Run, ...] = ()


def removed_units(state: LiveExample) -> tuple[int, ...]:
    """What the person has erased in this step."""
    about, removed = st.session_state.get(REMOVED, (None, ()))
    return removed if about == state else ()


def _clicked(state: LiveExample) -> None:
    """Erases the unit, or restores it. A click may be delivered twice, and counts once."""
    clicked = st.session_state["sheet"].get("toggled")
    if clicked is not None and clicked != st.session_state.get(CLICK):
        st.session_state[CLICK] = clicked
        st.session_state[REMOVED] = (state, tuple(sorted(set(removed_units(state)) ^ {int(clicked["unit"])})))


def _prediction(shown: Shown) -> None:
    panels.prediction(shown.run)
    panels.about_prediction(shown.run, None)


def _verdict(shown: Shown) -> None:
    verdict_strip.show(shown.run)


def _sheet(shown: Shown) -> None:
    run, example = shown.run, curated(shown.state)
    options = DrawingOptions(evidence=example.evidence if example is not None else None)
    data = score_sheet.payload(run, options, view=url_state.sheet_view(), narrow=url_state.is_narrow())
    named = run.view("reading sheet", (id(data), shown.name), lambda: renamed(data, "rows", shown.name))
    component("sheet")(
        key="sheet",
        data=newest("sheet", named),
        on_toggled_change=partial(_clicked, shown.state),
        on_narrow_change=url_state.resized,
        on_view_change=url_state.view_chosen,
    )
    st.caption(ERASE)


def renamed(data: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    """The payload with another name for the given order."""
    rows = [row | {"name": name} if name and row["id"] == GUESS.id else row for row in data[part]]
    return data | {part: rows}


def _curves(shown: Shown) -> None:
    run = shown.run
    if run.question is None:
        return

    def make() -> dict[str, Any]:
        featured = row_order.row_order(run, "").featured
        units = "units" if run.request.example.image is not None else "words"
        data = curves.payload(run.comparison(), featured=featured, percent=20, reverse=False, units=units)
        named = renamed(data, "lines", shown.name)
        return named | {"lines": [*named["lines"], *lines_of(shown.people)]}

    key = (run.settled, run.active, shown.name, tuple(each.settled for each in shown.people))
    curves.show(run.view("reading curves", key, make))


def lines_of(people: tuple[Run, ...]) -> list[dict[str, Any]]:
    """A pale curve for everybody whose order is measured; none for a single person, whose order is a row already."""
    results = [run.columns[GUESS.id].result for run in people if GUESS.id in run.columns]
    return [
        {
            "id": f"{GUESS.id}-{number}",
            "name": PERSON.format(number),
            "colour": PALE,
            "dash": "dot",
            "featured": False,
            **curve_values(result.curves),
            "reverse": {"shares": [], "values": []},
        }
        for number, result in enumerate(results, start=1)
        if result is not None and len(people) > 1
    ]


def _sentences(shown: Shown) -> None:
    example = curated(shown.state)
    narratives.show(shown.run, example.explanations if example is not None else ())


def _duel(shown: Shown) -> None:
    duelling = duel_of(shown)
    st.html(duel_html(shown.run, duelling, _sentence(shown, duelling), ""))


def duel_of(shown: Shown) -> DuelState | None:
    """The duel of the step, None before its run is over; the first call starts it."""
    run, pair = shown.run, shown.state.duel
    if "duel" not in shown.state.show or run.active or run.question is None:
        return None
    return duel_state(shown.engine, run, (pair[0], pair[1]))


def _sentence(shown: Shown, duelling: DuelState | None) -> str:
    if duelling is None:
        return duel.WAITING
    if duelling.active or duelling.error:
        return duelling.error or duel.ASKING
    comparison = shown.run.comparison()
    if duelling.duel is None:
        return no_duel_sentence(comparison, duelling.methods)
    return duel_sentence(comparison, duelling.duel)


def _marks(_shown: Shown) -> None:
    """They are drawn by the step itself, before the explanations."""


PARTS: dict[Part, Callable[[Shown], None]] = {
    "prediction": _prediction,
    "verdict": _verdict,
    "sheet": _sheet,
    "curves": _curves,
    "sentences": _sentences,
    "duel": _duel,
    "marks": _marks,
}
