"""The live example of a step: the parts of the Compare page, over runs of its engine."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from app import plain_text
from app.compare import curves, duel, narratives, panels, row_order, score_sheet, session, url_state, verdict_strip
from app.compare.drawing_options import DrawingOptions
from app.compare.duel_drawing import duel_html
from app.compare.duel_runs import duel_state
from app.compare.engine import Engine
from app.compare.leases import Lease
from app.compare.runs import Request, Run
from app.components import component, newest
from app.reading.questions import curated, request_of, reversed_order
from app.reading.story import LiveExample, Part
from explainers.methods.given_specs import GUESS
from explainers.methods.registry import method_spec
from explainers.report.duel import duel_sentence, no_duel_sentence

RUNS, REMOVED, CLICK = "reading runs", "reading removed", "reading last click"  # in the session
KEPT = 3  # runs of a session: the step's own, with an order, and the one before
TICK = 0.5  # seconds between two looks at a run that is on its way
ERASE = "Press a word to erase it in every row, and again to restore it."
WAIT = "Computing: {} of {} methods done."
LOADING = "Loading the model …"


def run_of(engine: Engine, request: Request) -> Run:
    """The session's run for a request; those of earlier steps are stopped."""
    runs: dict[Request, Run] = st.session_state.setdefault(RUNS, {})
    run = runs.pop(request, None)
    if run is None or run.abandoned:
        run = engine.submit(request, lease=Lease(session.connection()))
        _take_over(run, list(runs.values()))
    run.lease.renew()
    runs[request] = run
    for old in list(runs)[:-KEPT]:
        runs.pop(old).stop()
    return run


def _take_over(run: Run, others: list[Run]) -> None:
    """Shows what is known of the same input until the new run has results."""
    for other in reversed(others):
        same = (other.request.model, other.request.example) == (run.request.model, run.request.example)
        if same and other.whole is not None and run.status != "done":
            run.whole, run.previous, other.previous = run.whole or other.whole, other, None
            return


def current(engine: Engine, state: LiveExample, order: tuple[int, ...] = ()) -> Run:
    """The run of a step, with a given `order`, or the reversed one of a method as soon as that is known."""
    removed = removed_units(state)
    run = run_of(engine, request_of(state, removed, order))
    if state.reversed and not run.active and not order:
        backwards = reversed_order(run, state.reversed)
        run = run_of(engine, request_of(state, removed, backwards)) if backwards else run
    return run


def removed_units(state: LiveExample) -> tuple[int, ...]:
    """What the person has erased in this step."""
    about, removed = st.session_state.get(REMOVED, (None, ()))
    return removed if about == state else ()


class DrawnStep(NamedTuple):
    """What the whole page was last drawn with."""

    waits: bool
    removed: tuple[int, ...]
    narrow: bool
    view: str


def show(engine: Engine, state: LiveExample, order: tuple[int, ...] = (), name: str = "") -> Run:
    """Draws the parts of the step, again and again while the run is on its way. `name` is that of a given order."""
    run = current(engine, state, order)
    name = f"{method_spec(state.reversed).name}, reversed" if state.reversed and not order else name
    drawn = DrawnStep(waits(engine, run, state), removed_units(state), url_state.is_narrow(), url_state.sheet_view())
    st.fragment(run_every=TICK if drawn.waits else None)(_draw)(engine, run, state, name, drawn)
    return run


def waits(engine: Engine, run: Run, state: LiveExample) -> bool:
    """Whether anything is still to come; the first call starts the duel."""
    if run.active:
        return True
    if "duel" not in state.show or run.question is None:
        return False
    return duel_state(engine, run, (state.duel[0], state.duel[1])).active


def _draw(engine: Engine, run: Run, state: LiveExample, name: str, drawn: DrawnStep) -> None:
    run.lease.renew()
    still = waits(engine, run, state)  # before it is drawn: a result may come meanwhile
    now = DrawnStep(drawn.waits, removed_units(state), url_state.is_narrow(), url_state.sheet_view())
    if run.abandoned or now != drawn or (drawn.waits and not still):
        st.rerun(scope="app")
    with st.container(key="reading_state"):
        _status(run)
    if run.status == "failed" and run.whole is None:
        return
    for part in state.show:
        PARTS[part](engine, run, state, name)


def _status(run: Run) -> None:
    if run.status == "failed":
        plain_text.error(run.error)
    elif run.active:
        settled = sum(column.settled for column in run.columns.values())
        plain_text.caption(WAIT.format(settled, len(run.columns)) if run.whole is not None else LOADING)


def _prediction(_engine: Engine, run: Run, _state: LiveExample, _name: str) -> None:
    panels.prediction(run)
    panels.about_prediction(run, None)


def _verdict(_engine: Engine, run: Run, _state: LiveExample, _name: str) -> None:
    verdict_strip.show(run)


def _sheet(_engine: Engine, run: Run, state: LiveExample, name: str) -> None:
    example = curated(state)
    options = DrawingOptions(evidence=example.evidence if example is not None else None)
    data = score_sheet.payload(run, options, view=url_state.sheet_view(), narrow=url_state.is_narrow())
    named = run.view("reading sheet", (id(data), name), lambda: renamed(data, "rows", name))
    component("sheet")(
        key="sheet",
        data=newest("sheet", named),
        on_toggled_change=partial(_clicked, state),
        on_narrow_change=url_state.resized,
        on_view_change=url_state.view_chosen,
    )
    st.caption(ERASE)


def renamed(data: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    """The payload with another name for the given order."""
    rows = [row | {"name": name} if name and row["id"] == GUESS.id else row for row in data[part]]
    return data | {part: rows}


def _clicked(state: LiveExample) -> None:
    """Erases the unit, or restores it. A click may be delivered twice, and counts once."""
    clicked = st.session_state["sheet"].get("toggled")
    if clicked is not None and clicked != st.session_state.get(CLICK):
        st.session_state[CLICK] = clicked
        st.session_state[REMOVED] = (state, tuple(sorted(set(removed_units(state)) ^ {int(clicked["unit"])})))


def _curves(_engine: Engine, run: Run, _state: LiveExample, name: str) -> None:
    if run.question is None:
        return

    def make() -> dict[str, Any]:
        featured = row_order.row_order(run, "").featured
        units = "units" if run.request.example.image is not None else "words"
        data = curves.payload(run.comparison(), featured=featured, percent=20, reverse=False, units=units)
        return renamed(data, "lines", name)

    curves.show(run.view("reading curves", (run.settled, run.active, name), make))


def _sentences(_engine: Engine, run: Run, state: LiveExample, _name: str) -> None:
    example = curated(state)
    narratives.show(run, example.explanations if example is not None else ())


def _duel(engine: Engine, run: Run, state: LiveExample, _name: str) -> None:
    pair = (state.duel[0], state.duel[1])
    duelling = None if run.active or run.question is None else duel_state(engine, run, pair)
    sentence = duel.WAITING
    if duelling is not None:
        sentence = duel.ASKING if duelling.active else duelling.error
        if not sentence and duelling.duel is not None:
            sentence = duel_sentence(run.comparison(), duelling.duel)
        sentence = sentence or no_duel_sentence(run.comparison(), pair)
    st.html(duel_html(run, duelling, sentence, ""))


def _nothing(_engine: Engine, _run: Run, _state: LiveExample, _name: str) -> None:
    """The marks are drawn by the step itself."""


PARTS: dict[Part, Callable[[Engine, Run, LiveExample, str], None]] = {
    "prediction": _prediction,
    "verdict": _verdict,
    "sheet": _sheet,
    "curves": _curves,
    "sentences": _sentences,
    "duel": _duel,
    "marks": _nothing,
}
