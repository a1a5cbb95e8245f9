"""The section "Another model or class": the same input and methods for a second model, or for another class of the
first, row by row below those of the first.

What is second has a run of its own, which begins when the first one is over. A second model explains the class that the
first one explains, where it has one of that name, unless another is chosen.
"""

from dataclasses import replace
from functools import partial

import streamlit as st

from app import plain_text, streamlit_shims
from app.compare import drawing_options, language_model, session
from app.compare.engine import Engine
from app.compare.runs import Lease, Request, Run
from app.compare.state import compare_state
from app.model_info import ModelInfo, model_info, offered_models
from explainers.comparison.two_models import ModelPair, places, second_question, two_models
from explainers.errors import ExplanationError, without_folders
from explainers.report.two_models import (
    alone_notes,
    class_note,
    failure_notes,
    pair_html,
    row_names,
    units_note,
)
from explainers.report.wording import counted, one_line
from explainers.results.manifest import strict_json

TITLE = "Another model or class"
IDEA = "The same input and methods for a second model, another version of it, or another class: where do they differ?"
WAITING = "It begins when all methods above are done."
SAME = "This is the model above. Choose another one, or another class."
CUT_OTHERWISE = (
    "The second model cuts this input into other units, so what was removed for the first cannot be removed for it. "
    "Restore what was removed, or choose words as units."
)
SHORT = "Not all methods had time."
STOPPED = "The second model was stopped. Finished results stay."
PREDICTS = "Asking the second model what it predicts …"


def pending() -> bool:
    """Return whether the run of the second model is on its way."""
    second = compare_state().beside_run
    return second is not None and second.active


def show(engine: Engine, run: Run, drawing: drawing_options.DrawingOptions) -> bool:
    """Draw the section, and return whether something of it was still to come."""
    state = compare_state()
    st.header(TITLE, anchor=False)
    st.caption(IDEA)
    with st.container(horizontal=True):
        model = _model_box(engine, run)
        label = _class_box(engine, run, model)
    asked, second, over = bool(model or label), state.beside_run, run.finished and run.decision is not None
    if second is not None and not (asked and over):
        second.stop()
        state.beside_run = second = None
    if not asked or not over:
        if asked:
            st.caption(WAITING)
        elif state.controls.beside:
            st.caption(SAME)
        return False
    second = _second_run(engine, run, model or run.request.model, label)
    waits = second.active or _asks_more(engine, run, second, label)  # before it is drawn: results may come meanwhile
    _draw(engine, run, second, drawing, label)
    return waits


def _model_box(engine: Engine, run: Run) -> str:
    """Draw the box for the second model, and return its name; empty for none."""
    state, first = compare_state(), run.request.model
    others = [
        name
        for name in offered_models(state.controls.beside, fetched=True)
        if name != first and _fits(engine, run, name)
    ]
    chosen = [] if state.controls.beside in ("", *others) else [state.controls.beside]
    options = ["", *others, *chosen]
    st.selectbox(
        "Second model",
        options,
        format_func=lambda name: name or "none",
        accept_new_options=True,
        help="One of the list, or typed: an id on the Hugging Face hub, or a folder.",
        width=480,
        **state.widget("beside", listed=options),
    )
    return state.controls.beside if state.controls.beside != first else ""


def _class_box(engine: Engine, run: Run, model: str) -> str:
    """Draw the box for the class of the second run, where there are more than two; return it, empty for that of the
    first. Of two classes each is explained against the other anyway."""
    state, labels = compare_state(), _info(engine, run, model or run.request.model).labels
    options = ["", *labels]
    if len(labels) <= 2:
        return ""
    st.selectbox(
        "Class",
        options,
        format_func=lambda label: label or "the same",
        width=240,
        **state.widget("beside_class", options=options, listed=options),
    )
    label = state.controls.beside_class
    explained = run.decision.card.labels[run.decision.label] if run.decision is not None else ""
    return "" if label == explained and not model else label


def _info(engine: Engine, run: Run, name: str) -> ModelInfo:
    """Return what is known of a model that one of the two runs has read, also where it was released since."""
    info = model_info(engine.pool, name)
    for known in (run, compare_state().beside_run):
        if not info.labels and known is not None and known.request.model == name and known.whole is not None:
            card = known.whole.card
            info = replace(info, labels=card.labels, input_names=card.input_names, version=card.version)
    return info


def _fits(engine: Engine, run: Run, name: str) -> bool:
    """Return whether the model reads such an input, as far as that is known."""
    info, example = model_info(engine.pool, name), run.request.example
    if not info.labels:
        return True
    return info.multimodal == (example.image is not None) and info.pairs == (example.pair is not None)


def _second_run(engine: Engine, run: Run, model: str, label: str) -> Run:
    """Return the second run. Where the classes of its model are not known, its first run only asks for its
    prediction: which class to explain is known after that."""
    state = compare_state()
    request = _request(run, model, _info(engine, run, model), label)
    current = state.beside_run
    same = current is not None and current.request == request and not current.abandoned
    if (
        current is not None
        and same
        and not session.gives_more_time(request, current)
        and not engine.is_fetched_since(current)
    ):
        current.lease.renew()
        current.follow_time(request.budget)
        return current
    if current is not None:
        current.stop()
    state.beside_run = second = engine.submit(request, lease=Lease(streamlit_shims.connection()))
    second.follow_time(request.budget)
    return second


def _asks_more(engine: Engine, run: Run, second: Run, label: str) -> bool:
    """Return whether the classes of the second model, and with them what to ask, became known meanwhile."""
    model = second.request.model
    return second.status == "done" and second.request != _request(run, model, _info(engine, run, model), label)


def _request(run: Run, model: str, info: ModelInfo, chosen: str) -> Request:
    """Ask of the second model what the first was asked, as far as it can answer: methods that were fitted to it, and
    the `chosen` class, or that which the first one explains, where it has it."""
    first = run.request
    asked = second_question(run.comparison().decision, first.methods, model, info, label=chosen)
    return replace(
        first,
        model=model,
        methods=asked.methods if info.labels else (),
        label=asked.label,
        versus=asked.versus,
        settings=replace(first.settings, erasure=asked.erasure),
        narrators=(),
        guess=(),
        given=(),  # what a file says is about the first
        budget=compare_state().controls.budget or None,
    )


def _draw(engine: Engine, run: Run, second: Run, drawing: drawing_options.DrawingOptions, label: str) -> None:
    _state(engine, second)
    if second.status == "failed" or second.current is None:
        return
    if second.active and second.current.decision.encoding.multimodal:
        return  # each row holds the image, too much to send again with every method
    if not _same_input(run, second):
        plain_text.error(CUT_OTHERWISE)
        return
    known = id(run), run.settled, second.settled, second.status  # before the comparisons, which may grow meanwhile
    try:
        pair = second.view("two models", known, lambda: two_models(run.comparison(), second.comparison()))
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    key = known, drawing.preset, drawing.percent
    st.html(second.view("two models drawn", key, lambda: _html(pair, run, second, drawing)))
    _notes(pair, run, second, label)
    st.download_button(
        "Both models, JSON",
        data=partial(_json, pair),
        file_name="crosslight-two-models.json",
        mime="application/json",
        on_click="ignore",
        disabled=second.active,
        key="file two models",
    )


def _same_input(run: Run, second: Run) -> bool:
    """Return whether the same parts of the input were removed for both: numbers are those of each model's units."""
    if run.whole is None or second.whole is None or not run.request.removed:
        return True
    one, other = list(places(run.whole.encoding)), list(places(second.whole.encoding))
    numbers = [number for number in run.request.removed if number < len(one)]
    return all(number < len(other) and one[number] == other[number] for number in numbers)


def _state(engine: Engine, second: Run) -> None:
    """Draw how far the second run is, with a button to stop it; or how it ended before all was done, with one to go
    on."""
    with st.container(horizontal=True, vertical_alignment="center", width=480 if second.active else "stretch"):
        if second.active:
            st.progress(*_progress(second))
            st.button("Stop", on_click=second.stop, key="stop second")
        elif second.is_short:
            st.caption(SHORT)
            st.button("Compute the rest", on_click=_complete, args=(engine, second), key="go on with second")
        elif second.status == "failed" and second.download:
            plain_text.warning(second.error)
            st.button(f"Download {second.download}", on_click=_download, args=(engine, second), key="go on with second")
        elif second.status == "failed" and second.lacks_smollm2:
            with st.container():
                language_model.offer([second.request.model], "of the second model")
        elif second.status == "failed" and second.refuses_input:
            plain_text.warning(without_folders(second.error))
        elif second.status == "failed":
            plain_text.error(without_folders(second.error))
            st.button("Try again", on_click=_go_on, key="go on with second")
        elif second.status == "stopped":
            st.caption(STOPPED)
            st.button("Continue", on_click=_go_on, key="go on with second")


def _go_on() -> None:
    """Forget the run, so that another begins; what was finished is remembered."""
    compare_state().beside_run = None


def _download(engine: Engine, second: Run) -> None:
    """Let the second model be fetched, and begin again."""
    engine.pool.allow_download(second.request.model)
    _go_on()


def _complete(engine: Engine, second: Run) -> None:
    """Compute what did not fit into the second run's budget; what is done is remembered."""
    compare_state().beside_run = engine.submit(
        replace(second.request, budget=None), lease=Lease(streamlit_shims.connection())
    )


def _progress(second: Run) -> tuple[float, str]:
    """Return how far the run is, from 0 to 1 and in words."""
    done, count = len(second.settled_methods), len(second.columns)
    return done / max(count, 1), f"{done} of {counted(count, 'method')} done" if count else PREDICTS


def _json(pair: "ModelPair") -> str:
    return strict_json(pair.as_dict())


def _notes(pair: "ModelPair", run: Run, second: Run, label: str) -> None:
    """Say what is not compared, and why."""
    names = _names(pair, run, second)
    if other_class := class_note(pair, (_name(run), _name(second)), label):
        plain_text.warning(other_class)
    if warning := pair.second.decision.encoding.warning:
        plain_text.warning(f"{_name(second)}: {warning}")
    if second.finished and not second.is_short:
        for sentence in (*failure_notes(pair.second, names[1]), *alone_notes(pair, names)):
            plain_text.caption(without_folders(sentence))
    if short := units_note(pair):
        plain_text.caption(short)


def _html(pair: "ModelPair", run: Run, second: Run, drawing: drawing_options.DrawingOptions) -> str:
    finished = run.finished, second.finished
    preset, percent = drawing.preset, drawing.percent
    return pair_html(pair, _names(pair, run, second), finished=finished, preset=preset, percent=percent)


def _names(pair: "ModelPair", run: Run, second: Run) -> tuple[str, str]:
    return row_names(pair, (_name(run), _name(second)))


def _name(run: Run) -> str:
    """Return the model's name as it was asked for."""
    return one_line(run.request.model)
