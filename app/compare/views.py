"""The results of a run as they come in: prediction, answer, score sheet, sentences; and below them the rest.

How far each method agrees with people's marks on this input, beside what a random order is expected to reach.
"""

import time
from collections import Counter
from typing import NamedTuple

import streamlit as st

from app import model_info, plain_text
from app.compare import (
    answer_head,
    drawing_options,
    follow_ups,
    guess,
    language_model,
    measurements,
    narratives,
    panels,
    score_sheet,
    session,
    two_models,
)
from app.compare.engine import Engine
from app.compare.runs import Run
from app.compare.state import compare_state
from app.session import undoable
from explainers.attribution.given import PEOPLE
from explainers.methods.registry import method_spec
from explainers.metrics.plausibility import PLAUSIBILITY, is_defined, plausibility, plausibility_by_chance
from explainers.report import summary, wording

TITLE = "Agreement with people's marks"
CAPTION = (
    "Higher is closer to the units that at least half of the people marked. This says how plausible a map is, not how "
    "faithful: people may look at other units than the model."
)
CHANCE = "Random order, expected"
HOW_FAR = ("complete", "in part", "not started", "failed")  # of the methods of a run with a budget


def show(run: Run) -> None:
    """Nothing without people's marks, and where all units are marked or none."""
    rows = run.view("people agreement", run.settled, lambda: table(run))
    if rows:
        st.subheader(TITLE, anchor=False)
        columns = {name: st.column_config.NumberColumn(format="%.3f") for name in rows[0] if name != "method"}
        st.dataframe(rows, hide_index=True, column_config=columns, width="content", key="people agreement")
        st.caption(CAPTION)


def table(run: Run) -> list[dict[str, str | float]]:
    """A row per finished method, and the chance values last."""
    people = run.columns.get(PEOPLE.id)
    if people is None or people.attribution is None:
        return []
    import numpy as np

    truth = np.array(people.attribution.scores) >= 0.5
    if not is_defined(truth):
        return []
    values = [
        (method_spec(result.method).display_name, plausibility(truth, result.attribution.scores))
        for result in run.comparison().results
        if result.method != PEOPLE.id
    ]
    named = [*values, (CHANCE, plausibility_by_chance(truth))]
    return [{"method": name, **{metric.name: own[metric.id] for metric in PLAUSIBILITY}} for name, own in named]


QUICKEST, WAITING, SLOWEST = 0.5, 1.0, 3.0  # seconds between two redraws of a run that is on its way
LAST_GOOD = "the last comparison that worked."
INTERRUPTED = "the comparison before, as far as it came."
TO_COME = "Curves, agreement, a second model and downloads stand here as soon as the model has answered."
WORTH_SAYING = 5.0  # seconds that are left
PER_RUN = 0.1  # more seconds for each run on its way, so that many tabs do not keep the server busy with drawing
TICKS_PER_PLOT = 4  # plots and tables, which cost more, are redrawn less often


class Drawn(NamedTuple):
    """What the page was last drawn with, all of it."""

    active: bool
    settled: tuple[object, ...]
    tick: float | None
    moment: float
    narrow: bool
    view: str


def live(engine: Engine, run: Run, drawing: drawing_options.DrawingOptions) -> None:
    """Draws the run: prediction, answer and sheet again and again as long as it is on its way, plots less often."""
    state = compare_state()
    drawn = Drawn(
        _is_on_its_way(run), run.settled, tick(engine, run), time.monotonic(), state.narrow, state.controls.view
    )
    st.fragment(run_every=drawn.tick)(_upper_half)(engine, run, drawing, drawn)
    pending = follow_ups.pending(displayed(run)) or two_models.pending()
    st.fragment(run_every=WAITING if pending else None)(_measurements)(engine, run, drawing, pending)


def tick(engine: Engine, run: Run) -> float | None:
    """Seconds between two looks at the run; None once it is over."""
    if not _is_on_its_way(run):
        return None
    return min(SLOWEST, max(QUICKEST if run.status == "running" else WAITING, PER_RUN * len(engine.queue)))


def _is_on_its_way(run: Run) -> bool:
    """Return whether what is shown may still change: a run that was stopped, which is shown because its successor's
    input was refused, ends a moment later."""
    shown = displayed(run)
    return run.active or (shown is not None and shown.active)


def displayed(run: Run) -> Run | None:
    """The run, or the last good one of the same model if this one failed before the prediction. What belongs to one
    of another model would be asked of this one: its buttons, and the words that are removed."""
    if run.status == "failed" and run.whole is None:
        before = compare_state().last_good_run
        return before if before is not None and before.request.model == run.request.model else None
    return run


def _upper_half(engine: Engine, run: Run, drawing: drawing_options.DrawingOptions, drawn: Drawn) -> None:
    """All that changes with every tick. Draws the whole page again where more has changed."""
    state = compare_state()
    if state.run is not run or run.abandoned or state.take_undone():
        st.rerun(scope="app")
    run.lease.renew()
    active = _is_on_its_way(run)
    if run.whole is not None:
        state.drop_unknown_units(len(run.whole.encoding.units))
    visible = displayed(run)
    with st.container():
        _problems(run, visible)
    waiting = visible is not None and guess.waiting(visible)
    with st.container():
        if visible is not None and not waiting:
            _follow(drawn)
            answer_head.show(visible)
    _prediction(engine, run, visible)
    if visible is not None and waiting:
        guess.show_guess(visible)
    elif visible is not None:
        _explanations(visible, drawing, drawn)
    pause = TICKS_PER_PLOT * (drawn.tick or 0.0)
    more = run.settled != drawn.settled and time.monotonic() - drawn.moment >= pause
    if drawn.active and (more or not active):
        st.rerun(scope="app")


def _problems(run: Run, visible: Run | None) -> None:
    """What went wrong, what is shown instead, and what makes the model's answer doubtful."""
    if run.status == "failed" and (run.download or run.refuses_input):
        plain_text.warning(run.error)
    elif run.status == "failed" and run.lacks_smollm2:
        language_model.offer([run.request.model], "of the model")
    elif run.status == "failed":
        plain_text.error(run.error)
    if visible is not None and visible is not run:
        st.caption(f"Below: {LAST_GOOD if visible.finished else INTERRUPTED}")
    for sentence in _doubts(run):
        plain_text.warning(sentence)


def _doubts(run: Run) -> list[str]:
    """What makes the model's answer doubtful; as long as that is not known, what did so for the same input before."""
    before = run.previous
    if not run.probabilities and before is not None and before.request.example == run.request.example:
        run = before
    if run.whole is None:
        return []
    class_words = wording.class_words_warning(run.whole, run.probabilities) if run.probabilities else ""
    return [sentence for sentence in (class_words, run.whole.encoding.warning) if sentence]


def _prediction(engine: Engine, run: Run, visible: Run | None) -> None:
    """The prediction beside the state of the run."""
    left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        if visible is not None:
            with st.container(key="prediction"):
                panels.prediction(visible)
    with right:
        _status(engine, run)
    with st.container():
        if visible is not None:
            panels.about_prediction(visible, _correct_class(visible))


def _correct_class(run: Run) -> int | None:
    """Its number, where the generator of the model's own data tells it."""
    if run.request.example.image is None or not model_info.info_on_card(run.request.model).generator_noun:
        return None
    reference = compare_state().reference(run.request.example)
    return reference.label if reference is not None else None


def _follow(drawn: Drawn) -> None:
    """Draws the whole page again where a press in this part asks something else, or the sheet has another form."""
    state = compare_state()
    changed = state.present is not None and undoable(state.present) != undoable(state.controls)
    if changed or (state.narrow, state.controls.view) != (drawn.narrow, drawn.view):
        st.rerun(scope="app")


def _explanations(visible: Run, drawing: drawing_options.DrawingOptions, drawn: Drawn) -> None:
    """The score sheet with its legend, and the sentences."""
    state = compare_state()
    panels.legend(visible, drawing)
    callbacks = {"toggled": state.unit_clicked, "narrow": state.resized, "view": state.view_chosen}
    score_sheet.show(visible, drawing, view=drawn.view, narrow=drawn.narrow, callbacks=callbacks)
    panels.changes(visible, drawing.sort)
    with st.expander("Metrics", key="metrics"):
        if visible.decision is not None:
            panels.table(visible)
    show(visible)
    reference = state.reference(visible.request.example)
    narratives.show(visible, reference.explanations if reference is not None else ())


def _measurements(engine: Engine, run: Run, drawing: drawing_options.DrawingOptions, was_pending: bool) -> None:
    visible = displayed(run)
    if visible is None or visible.decision is None or guess.waiting(visible):
        if visible is not None and visible.decision is None and run.active:
            st.caption(TO_COME)
        return
    compare_state().finish()
    run.lease.renew()
    visible.lease.renew()  # curves of the last comparison that worked may still be computed
    waits = measurements.show(engine, visible, drawing, disabled=run.active)
    if waits != was_pending:
        st.rerun(scope="app")  # begins or ends the ticking


def _loading(engine: Engine, run: Run) -> str:
    """What happens to the model, with its size while it is downloaded."""
    download = engine.pool.download(run.request.model)
    return "Loading the model" if download is None else f"Downloading the model, {download.progress}"


def _beginning(run: Run) -> str:
    """What happens before the prediction."""
    # before the prediction nothing but this check may be broken off
    checks = run.request.precision != "float32" and run.meter.over is not None
    return f"Checking {run.request.precision}" if checks else "Starting"


def _status(engine: Engine, run: Run) -> None:
    """One line that is always there, so that nothing jumps: the progress, and the button to stop it."""
    status = run.status  # read once: the worker may be done a moment later
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", key="state"):
        if status in ("waiting", "loading", "running"):
            settled = len(run.settled_methods)
            ahead = engine.ahead_of(run)
            progress = {
                "waiting": f"{ahead} other comparison{'s' if ahead != 1 else ''} first" if ahead else _beginning(run),
                "loading": _loading(engine, run),
                "running": f"{settled} of {wording.counted(len(run.columns), 'method')} done"
                if settled < len(run.columns)
                else "Measuring random orders and other operators",
            }
            left = run.seconds_left if status == "running" else None
            remaining = f", about {wording.duration(left)} left" if left is not None and left >= WORTH_SAYING else ""
            st.progress(settled / max(len(run.columns), 1), text=progress[status] + remaining)
            st.button("Stop", on_click=run.stop, key="stop")
        elif run.is_short:
            st.caption(budget_line(run))
            st.button("Compute the rest", on_click=session.complete, args=(engine, run), key="again", type="primary")
        elif status == "done":
            st.caption(how(run))
            st.button("Compute again", on_click=session.again, args=(engine, run), key="again")
        elif status == "stopped":
            st.caption("Stopped. Finished results stay.")
            st.button("Continue", on_click=session.go_on, args=(engine, run), key="again")
        elif status == "failed" and run.download:
            fetch = session.download
            st.button(f"Download {run.download}", on_click=fetch, args=(engine, run), key="again", type="primary")
        elif status == "failed" and run.lacks_smollm2:
            st.caption("The comparison starts when SmolLM2 is downloaded.")
        elif status == "failed" and run.refuses_input:
            st.caption("The comparison starts with another input, or with an example from above.")
        elif status == "failed":
            st.caption("Nothing was computed.")
            st.button("Try again", on_click=session.go_on, args=(engine, run), key="again")


def budget_line(run: Run) -> str:
    """Return how far the methods came within the budget of a run, and what the rest would take."""
    came = Counter(_how_far(run, method) for method in run.columns)
    parts = ", ".join(f"{came[how]} {how}" for how in HOW_FAR if came[how] or how == HOW_FAR[0])
    seconds = run.seconds_missing
    what = "The rest" if came[HOW_FAR[0]] < len(run.columns) else f"The rest ({missing(run)})"
    rest = f"{what} takes about {wording.duration(max(seconds, 1.0))}." if seconds else ""
    return f"After {run.seconds:.0f} s, of {wording.counted(len(run.columns), 'method')}: {parts}. {rest}".strip()


def missing(run: Run) -> str:
    """Return the names of what did not fit into the budget; two at most, the others counted."""
    names = summary.missing_parts(run.comparison())
    more = len(names) - 2
    return wording.join_names([*names[:2], *([f"{more} more"] if more > 0 else [])])


def _how_far(run: Run, method: str) -> str:
    """Return one of `HOW_FAR`. Methods "in part" have scores, so they are compared too."""
    comparison, (complete, in_part, no_time, failed) = run.comparison(), HOW_FAR
    if comparison.failure(method):
        return failed
    if comparison.result(method) is None:
        return no_time
    return in_part if method in (*comparison.postponed, *comparison.ended_early) else complete


def how(run: Run) -> str:
    """Return what a finished run took, and what of it was known before."""
    if not run.columns:
        return f"The prediction alone in {run.seconds:.1f} s."
    methods = f"{len(run.columns)} method{'s' if len(run.columns) != 1 else ''}"
    if run.stored is not None and all(column.stored for column in run.columns.values()):
        return f"{methods}, stored results (Crosslight {run.stored.card.crosslight})."
    known = sum(column.remembered or column.stored for column in run.columns.values())
    if known == len(run.columns):
        return f"{methods}, remembered from before."
    if known:
        return f"{methods}, {known} of them remembered; the rest took {run.seconds:.1f} s."
    return f"{methods} in {run.seconds:.1f} s, curves and metrics included."
