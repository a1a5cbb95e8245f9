"""The live example of a step: its runs of the Compare page's engine, drawn again as long as they are on their way.

Each part is drawn by the Compare page's own modules.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from app import components, plain_text, streamlit_shims
from app.compare import (
    answer_head,
    drawing_options,
    duel,
    follow_ups,
    narratives,
    panels,
    score_sheet,
    sheet_rows,
    views,
)
from app.compare.engine import Engine
from app.compare.runs import FollowUp, Lease, Request, Run, answer_of
from app.compare.state import compare_state
from app.reading.observed import figure_sentences
from app.reading.state import Erased, reading_state
from app.reading.story import LiveExample, Part, curated, request_of, reversed_order
from app.session import sent_by
from explainers.attribution.given import GUESS
from explainers.comparison.duel import Pair
from explainers.methods.registry import method_spec
from explainers.report.wording import counted
from explainers.results.answer import CONSENSUS, Answer
from explainers.results.decision import Settings
from explainers.results.events import Duel

ERASE = "Press a word to erase it in every row, and again to restore it."
OF_STEP = "From {} of this step. Compare uses more methods, so its answer may differ."
OF_ALL = "From {}, also those that this step does not show."
PERSON = "Person {}"
PALE = "#b08a63"  # the curves of single people
KEPT = 3  # runs of a session: the step's own, with an order, and the one before
MOST_PEOPLE = 12  # curves of single people
TICK = 0.5  # seconds between two looks at a run that is on its way
WAIT = "Computing: {} of {} methods done."
LOADING = "Loading the model …"
ELSEWHERE = "Computing on another page of the group …"


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn; `name` is that of a given order in `run`, `people` are runs with the order of one person each."""

    engine: Engine
    run: Run
    state: LiveExample
    name: str = ""
    people: tuple[Run, ...] = ()


def removed_units(state: LiveExample) -> tuple[int, ...]:
    """Return what the person has erased in this step."""
    erased = reading_state().erased
    return erased.units if erased is not None and erased.example == state else ()


def _clicked(state: LiveExample) -> None:
    """Erase the unit, or restore it; a click may be delivered twice, and counts once."""
    page, clicked = reading_state(), sent_by("sheet", "toggled")
    if clicked is not None and clicked != page.last_click:
        page.last_click = clicked
        page.erased = Erased(state, tuple(sorted(set(removed_units(state)) ^ {int(clicked["unit"])})))


def _prediction(shown: Shown) -> None:
    panels.prediction(shown.run)
    panels.about_prediction(shown.run, None)


def _answer(shown: Shown) -> None:
    answer_head.show(shown.run, actions=False)
    if whose := whose_answer(answer_of(shown.run), shown.state):
        plain_text.caption(whose)


def whose_answer(answer: Answer, state: LiveExample) -> str:
    """Return from which methods the answer is; empty before it compares any."""
    whose = OF_STEP if set(answer.members) <= set(state.methods) else OF_ALL
    return whose.format(counted(answer.compared, "method")) if answer.compared else ""


def _sheet(shown: Shown) -> None:
    run, example, page = shown.run, curated(shown.state), compare_state()
    options = drawing_options.DrawingOptions(evidence=example.evidence if example is not None else None)
    data = score_sheet.payload(run, options, view=page.controls.view, narrow=page.narrow)
    key = (id(data), shown.name, shown.state)
    own = run.view("reading sheet", key, lambda: renamed(of_step(data, "rows", shown.state), "rows", shown.name))
    st.html(score_sheet.reserved(own))
    components.component("sheet")(
        key="sheet",
        data=components.newest("sheet", own),
        on_toggled_change=partial(_clicked, shown.state),
        on_narrow_change=page.resized,
        on_view_change=page.view_chosen,
    )
    st.caption(ERASE)


def renamed(data: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    """Return the payload with another name for the given order."""
    rows = [row | {"name": name} if name and row["id"] == GUESS.id else row for row in data[part]]
    return data | {part: rows}


def of_step(data: dict[str, Any], part: str, state: LiveExample) -> dict[str, Any]:
    """Return the payload with the rows of the step's own methods, the consensus and a given order only. None of them is
    folded, because the text speaks of them."""
    shown = {CONSENSUS, GUESS.id, *state.methods}
    return data | {part: [row | {"featured": True} for row in data[part] if row["id"] in shown]}


def _curves(shown: Shown) -> None:
    run = shown.run
    if run.decision is None:
        return

    def make() -> dict[str, Any]:
        featured = sheet_rows.row_order(run, "").featured
        units = "units" if run.request.example.image is not None else "words"
        data = sheet_rows.curve_payload(run.comparison(), featured=featured, percent=20, reverse=False, units=units)
        named = renamed(of_step(data, "lines", shown.state), "lines", shown.name)
        return named | {"lines": [*named["lines"], *lines_of(shown.people)]}

    key = (run.settled, run.active, shown.name, shown.state, tuple(person.settled for person in shown.people))
    sheet_rows.show_curves(run.view("reading curves", key, make))


def lines_of(people: tuple[Run, ...]) -> list[dict[str, Any]]:
    """Return a pale curve for everybody whose order is measured; none for one person, whose order is a row already."""
    results = [run.result(GUESS.id) for run in people]
    return [
        {
            "id": f"{GUESS.id}-{number}",
            "name": PERSON.format(number),
            "colour": PALE,
            "dash": "dot",
            "featured": False,
            **sheet_rows.curve_values(result.curves),
            "reverse": {"shares": [], "values": []},
        }
        for number, result in enumerate(results, start=1)
        if result is not None and len(people) > 1
    ]


def _sentences(shown: Shown) -> None:
    example = curated(shown.state)
    narratives.show(shown.run, example.explanations if example is not None else ())


def _duel(shown: Shown) -> None:
    duel.draw(shown.run, _pair(shown), duel_in_step(shown))


def _pair(shown: Shown) -> Pair:
    first, second = shown.state.duel
    return first, second


def duel_in_step(shown: Shown) -> FollowUp[Duel] | None:
    """Return the duel of the step, None before its run is over; the first call starts it."""
    if "duel" not in shown.state.show or shown.run.active or shown.run.decision is None:
        return None
    return follow_ups.duel_of(shown.engine, shown.run, _pair(shown))


def _marks(_shown: Shown) -> None:
    """Draw nothing: marks are drawn by the step itself, before the explanations."""


PARTS: dict[Part, Callable[[Shown], None]] = {
    "prediction": _prediction,
    "answer": _answer,
    "sheet": _sheet,
    "curves": _curves,
    "sentences": _sentences,
    "duel": _duel,
    "marks": _marks,
}


class DrawnStep(NamedTuple):
    """What the whole page was last drawn with."""

    waits: bool
    removed: tuple[int, ...]
    narrow: bool
    view: str


def run_of(engine: Engine, request: Request, *, kept: int = KEPT) -> Run:
    """Return the session's run for a request; all but the last `kept` are stopped."""
    runs = reading_state().runs
    run = runs.pop(request, None)
    if run is None or run.abandoned:
        run = engine.submit(request, lease=Lease(streamlit_shims.connection()))
        _take_over(run, list(runs.values()))
    run.lease.renew()
    runs[request] = run
    for old in list(runs)[:-kept]:
        runs.pop(old).stop()
    return run


def elsewhere(engine: Engine, state: LiveExample, order: tuple[int, ...] = ()) -> bool:
    """Return whether another page, such as another phone of the group, computes the same just now.

    Then its results are waited for, because they are remembered for all.
    """
    request = request_of(state, removed_units(state), order)
    own = reading_state().runs
    return request not in own and any(run.request == request and run.wanted for run in list(engine.queue))


def _wait_for_others(engine: Engine, state: LiveExample, order: tuple[int, ...]) -> None:
    st.caption(ELSEWHERE)
    if not elsewhere(engine, state, order):
        st.rerun(scope="app")


def _take_over(run: Run, others: list[Run]) -> None:
    """Show what is known of the same input until the new run has results."""
    for other in reversed(others):
        same = (other.request.model, other.request.example) == (run.request.model, run.request.example)
        if same and other.whole is not None and run.status != "done":
            run.whole, run.previous, other.previous = run.whole or other.whole, other, None
            return


def current(engine: Engine, state: LiveExample, order: tuple[int, ...] = (), *, kept: int = KEPT) -> Run:
    """Return the run of a step, with a given `order`, or the reversed one of a method as soon as that is known."""
    removed = removed_units(state)
    run = run_of(engine, request_of(state, removed, order), kept=kept)
    if state.reversed and not run.active and not order:
        backwards = reversed_order(run, state.reversed)
        run = run_of(engine, request_of(state, removed, backwards), kept=kept) if backwards else run
    return run


def show(
    engine: Engine,
    state: LiveExample,
    order: tuple[int, ...] = (),
    name: str = "",
    people: Iterable[tuple[int, ...]] = (),
) -> None:
    """Draw the parts of the step, again and again while the run is on its way.

    `name` is that of the given order; `people` are the orders of single people, whose curves are drawn too.
    """
    if elsewhere(engine, state, order):
        st.fragment(run_every=TICK)(_wait_for_others)(engine, state, order)
        return
    orders = [person for person in dict.fromkeys(people) if person][:MOST_PEOPLE]
    kept = KEPT + len(orders)
    run = current(engine, state, order, kept=kept)
    runs = () if run.active else tuple(_alone(engine, state, order, kept) for order in orders)
    name = f"{method_spec(state.reversed).name}, reversed" if state.reversed and not order else name
    shown = Shown(engine, run, state, name, runs)
    drawn = DrawnStep(waits(shown), removed_units(state), *_sheet_form())
    st.fragment(run_every=TICK if drawn.waits else None)(_draw)(shown, drawn)


def _alone(engine: Engine, state: LiveExample, order: tuple[int, ...], kept: int) -> Run:
    """Return one person's order without the methods, which are measured already."""
    return run_of(engine, request_of(replace(state, methods=(), narrators=()), removed_units(state), order), kept=kept)


def _sheet_form() -> tuple[bool, str]:
    """Return whether the page is narrow, and the view of the sheet."""
    return compare_state().narrow, compare_state().controls.view


def waits(shown: Shown) -> bool:
    """Return whether anything is still to come; the first call starts the duel."""
    fought = duel_in_step(shown)
    return shown.run.active or any(person.active for person in shown.people) or (fought is not None and fought.active)


def _draw(shown: Shown, drawn: DrawnStep) -> None:
    run, state = shown.run, shown.state
    for shown_run in (run, *shown.people):
        shown_run.lease.renew()
    still = waits(shown)  # before it is drawn: a result may come meanwhile
    now = DrawnStep(drawn.waits, removed_units(state), *_sheet_form())
    if run.abandoned or now != drawn or (drawn.waits and not still):
        st.rerun(scope="app")
    with st.container(key="reading_state"):
        _status(run)
    if run.status == "failed" and run.whole is None:
        return
    for part in state.show:
        PARTS[part](shown)
    _sentences_below(shown)
    if run.status == "done":
        st.page_link(
            "pages/compare.py",
            label="Open on Compare",
            icon=":material/arrow_forward:",
            query_params=address(state, run.request.removed),
        )


def address(state: LiveExample, removed: tuple[int, ...] = ()) -> dict[str, str]:
    """Return what of the Compare page's address asks about the input of a step without some units."""
    given = {
        "model": state.model,
        "example": state.example,
        "text": state.text,
        "pair": state.pair,
        "class": state.label,
        "removed": ".".join(map(str, removed)),
        "erase": "" if state.erasure == Settings().erasure else state.erasure,
    }
    return {name: value for name, value in given.items() if value}


def _sentences_below(shown: Shown) -> None:
    """Draw what the numbers of the finished figure say."""
    run = shown.run
    if run.status != "done" or run.decision is None:
        return
    sentences = figure_sentences(run.comparison(), shown.state, shown.name, erased=bool(run.request.removed))
    if sentences:
        plain_text.paragraph(" ".join(sentences))


def _status(run: Run) -> None:
    if run.status == "failed":
        plain_text.error(run.error)
    elif run.active:
        settled = len(run.settled_methods)
        plain_text.caption(WAIT.format(settled, len(run.columns)) if run.whole is not None else LOADING)
    else:
        plain_text.caption(views.how(run))  # a line in every state, so that nothing below it moves
