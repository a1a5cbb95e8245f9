"""The upper half of the Evaluate page: model, data, preset and methods, what they cost, and the button to start. An
evaluation is then queued, its data written for a process of its own."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app import model_pool, plain_text
from app.evaluate.data_form import NO_DATA, SubmittedData, submitted_data
from app.evaluate.state import evaluate_state
from app.model_info import ModelInfo, model_box, model_info
from app.server.login import Account
from app.store import Job
from app.train.jobs import Jobs, device, discard, runs
from explainers.annotations.formats import archives
from explainers.comparison.budget import explaining_passes
from explainers.datasets.example import Example, InputImage
from explainers.datasets.labelled_rows import InputRow
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation.names import FEWEST
from explainers.evaluation.set_spec import PRESETS, SetSpec, offered_methods
from explainers.methods.registry import MethodSpec, select
from explainers.models.model_names import resolve_model_name
from explainers.report.wording import counted, duration

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel

ALL_ROWS = 1_000_000
MOST_CHECKED = 1_000
EXPLAINED_AGAIN = 8  # times for the sanity checks: five steps of random weights, seed, class, planted word
SANITY_HELP = (
    "Every method is checked on so many of the inputs: does its explanation change when the weights of the model are "
    "random, stay with another seed, differ for another class, and find a planted word? An input is explained about "
    "eight times for that."
)
THOROUGH_HELP = (
    "LIME and KernelSHAP sample until each input has settled, more steps are taken, and more is measured. It takes "
    "two to three times as long; the means over the set hardly differ."
)
LONG = 3600  # seconds, above which the page says what takes less
SHORTER = (
    " Fewer inputs or methods take less; of long texts also sentences as units, with --unit sentence in the terminal."
)
TICK = 2.0  # seconds between two looks at whether the model is loaded
PATCHES = 49  # of an image, about: models cut it into 7 × 7 or some more
TRIED = 8  # masks of which the seconds of a pass are measured; a large model takes seconds for each
MOST_PROCESSES = 8
UNWRITTEN = "The data cannot be written to the disk of the server: {}. Contact the administrator."


def title() -> None:
    st.title("Which explanation method suits your model?", anchor=False)
    st.write(
        "Give texts of the kind that your model reads. Every method explains each of them and is measured; the result "
        "says which method to use, on which inputs to trust it, and which words the model looks at over the whole set."
    )


def form(pool: model_pool.ModelPool) -> tuple[SetSpec, SubmittedData, ModelInfo]:
    """Draw model, data and preset; return them."""
    state = evaluate_state()
    first, second = st.columns([1, 2])
    with first:
        model = model_box(state)
        info = model_info(pool, model)
        spec = _preset(model, info)
    with second:
        data = submitted_data(model, info)
    return replace(spec, columns=data.columns, format=data.format, split=data.split), data, info


def start(
    jobs: Jobs, pool: model_pool.ModelPool, account: Account, spec: SetSpec, data: SubmittedData, info: ModelInfo
) -> bool:
    """Draw the button with the cost beside it, or why it cannot start; return whether it has started."""
    started = False
    unknown = bool(data.rows) and not pool.is_settled(spec.model)
    if unknown:
        pool.warm_up(spec.model)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Start evaluation", type="primary", key="start evaluation", disabled=not data.rows)
        with st.container():
            st.fragment(run_every=TICK if unknown else None)(_cost)(pool, spec, data, info, unknown=unknown)
    if pressed:
        try:
            number = submit(jobs, spec, data, account).id
            evaluate_state().change(evaluation=number)
            st.toast(f"Evaluation {number} has been started. It stands below.")
            started = True
        except ExplanationError as error:
            plain_text.error(str(error))
    if data.rows:
        with st.expander("The same on the command line, or on several machines"):
            command = f"{replace(spec, name=data.table).shell_command()} --out DIR"
            st.code(command, None, wrap_lines=True)
            st.caption("On each of four machines with `--shard 1/4` … `4/4`; then, with the files in one folder:")
            st.code("python -m explainers evaluate --merge DIR", None, wrap_lines=True)
    return started


def _cost(pool: model_pool.ModelPool, spec: SetSpec, data: SubmittedData, info: ModelInfo, *, unknown: bool) -> None:
    """Draw the cost, again and again as long as the model loads; then the whole page knows its classes, or that it must
    be downloaded first."""
    plain_text.caption(cost(pool, spec, data, info))
    if unknown and pool.is_settled(spec.model):
        st.rerun(scope="app")


def cost(pool: model_pool.ModelPool, spec: SetSpec, data: SubmittedData, info: ModelInfo) -> str:
    """Return what the evaluation costs, before it starts; or that data are missing, where nothing else is wrong."""
    if not data.rows:
        return "" if data.problem else NO_DATA
    inputs = min(spec.most or len(data.rows), len(data.rows))
    lengths = np.array([_units(row) for row in data.rows])
    middle = int(np.argsort(lengths)[len(lengths) // 2])
    typical, units, specs = data.rows[middle], int(lengths[middle]), _specs(spec, info)
    of_length = {length: spec.passes(specs, length, len(info.erasures)) for length in set(lengths.tolist())}
    passes = np.array([of_length[length] for length in lengths.tolist()])
    checked_with = replace(spec, thorough=True).settings
    again = min(spec.checked, inputs) * EXPLAINED_AGAIN * explaining_passes(specs, checked_with, units)
    asked = f"{counted(inputs, 'input')} × {counted(len(specs), 'method')}"
    line = f"{asked}: on average at most {passes.mean():,.0f} passes of the model per input"
    few = f" No method can be recommended from fewer than {FEWEST} inputs." if inputs < FEWEST else ""
    model, refused = pool.loaded(spec.model), pool.refusal(spec.model)
    if model is None and refused is not None:
        return f"{line}. The time is unknown: {refused} {model_pool.DOWNLOAD_FIRST} Starting fetches it too.{few}"
    if model is None:
        return f"{line}. The time is known when the model is loaded.{few}"
    # a pass has all cores here, and each of the processes one of them
    try:
        image = data.zipped.image(typical.image) if data.zipped else None
        seconds = _seconds_per_pass(
            model.name, model.version, str(model.device), model, typical.text, typical.pair, image
        )
    except DataUnavailable as error:  # an image that is damaged behind its header
        return f"{line}. The time is unknown: {typical.image}: {error}{few}"
    if seconds is None:
        return f"{line}. The time is unknown: the model reads nothing in line {typical.line:,}.{few}"
    of_typical = float((passes * lengths).mean()) / units  # a pass of a longer text takes longer
    takes = (inputs * of_typical + again) * seconds
    shorter = SHORTER if takes > LONG else ""
    return f"{line}, at most about {duration(takes)} on this machine.{shorter}{few}"


def _units(row: InputRow) -> int:
    return max(len(f"{row.text} {row.pair or ''}".split()), 1) + (PATCHES if row.image else 0)


def _preset(model: str, info: ModelInfo) -> SetSpec:
    state, presets = evaluate_state(), {preset.id: preset for preset in PRESETS}
    chosen = st.segmented_control(
        "Preset", list(presets), required=True, **state.widget("evaluate_preset", options=presets, initial="default")
    )
    preset = presets[chosen or PRESETS[0].id]
    st.caption(f"{preset.meaning[0].upper()}{preset.meaning[1:]}.")
    offered = offered_methods(model, info.version, pairs=info.pairs, multimodal=info.multimodal)
    names = {spec.name: spec.id for spec in offered}
    default = [spec.name for spec in offered if spec.id in preset.methods(offered)]
    with st.expander("Methods and number of inputs"):
        picked = st.multiselect(
            "Methods",
            list(names),
            **state.widget("evaluate_methods", options=names, default=default, initial="default"),
        )
        n = st.number_input(
            "Inputs at most, 0 for all",
            0,
            ALL_ROWS,
            step=10,
            **state.widget("evaluate_n", default=preset.n),
        )
        sanity = st.number_input(
            "Inputs for sanity checks, 0 for none",
            0,
            MOST_CHECKED,
            step=5,
            help=SANITY_HELP,
            **state.widget("evaluate_sanity", default=preset.sanity),
        )
        thorough = st.checkbox(
            "Every input as on the Compare page", help=THOROUGH_HELP, **state.widget("evaluate_thorough")
        )
    methods = () if set(picked or default) == set(default) else tuple(names[name] for name in picked)
    return SetSpec(
        model,
        "",
        preset=preset.id,
        methods=methods,
        n=None if n == preset.n else int(n),
        sanity=None if sanity == preset.sanity else int(sanity),
        thorough=thorough,
    )


def _specs(spec: SetSpec, info: ModelInfo) -> tuple[MethodSpec, ...]:
    offered = offered_methods(spec.model, info.version, pairs=info.pairs, multimodal=info.multimodal)
    return select(spec.methods or spec.chosen_preset.methods(offered))


@st.cache_data(show_spinner=False, max_entries=32)
def _seconds_per_pass(
    name: str,
    version: str,
    device: str,
    _model: "FrozenModel",
    text: str,
    pair: str | None,
    _image: InputImage | None = None,
) -> float | None:
    """Return the seconds of one pass in a batch, measured with random masks of an input; None where it has no units.
    The first batch warms up."""
    import time

    encoding = _model.encode(Example(text, pair, image=_image), windows=True)
    if not encoding.units:
        return None
    keeps = np.random.default_rng(0).random((TRIED, len(encoding.units))) < 0.5
    _model.probabilities(encoding, keeps)
    started = time.perf_counter()
    _model.probabilities(encoding, keeps)
    return (time.perf_counter() - started) / TRIED


def submit(jobs: Jobs, spec: SetSpec, data: SubmittedData, account: Account) -> Job:
    """Queue an evaluation. Raises `ExplanationError` if it cannot be carried out; then nothing stays on the disk."""
    if not data.rows:
        raise ExplanationError(data.problem or NO_DATA)
    spec = replace(
        spec,
        model=resolve_model_name(spec.model, model_pool.roots()),
        device=device(),
        processes=processes(),
        out="DIR",
    )
    folder, spec = _written(spec.check(), data)
    return jobs.enqueue(
        Job(
            kind="evaluate",
            method=spec.preset,
            model=spec.model,
            variant=data.name,
            texts=min(spec.most or len(data.rows), len(data.rows)),
            spec_json=spec.as_json(),
            folder=str(folder),
            owner=account.id,
            owner_name=account.name,
        )
    )


def processes() -> int:
    """Return how many processes explain a set: one per core; one alone on a GPU, and where processes cannot fork."""
    import torch

    from explainers.models.foreign.process_limits import can_fork

    accelerated = device() != "cpu" and (torch.cuda.is_available() or torch.backends.mps.is_available())
    return 1 if accelerated or not can_fork() else min(os.cpu_count() or 1, MOST_PROCESSES)


def _written(spec: SetSpec, data: SubmittedData) -> tuple[Path, SetSpec]:
    """Return a new folder with the file as it was given, that no other user may read, and the spec with it."""
    folder = None
    try:
        runs().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="evaluate-", dir=runs()))
        if data.zipped is not None:
            table = data.zipped.unpack(folder / "data", (row.image for row in data.rows))
            return folder, replace(spec, data=str(table), name=data.table, out=str(folder))
        ending = next((suffix for suffix in archives.SUFFIXES if data.name.lower().endswith(suffix)), "")
        file = folder / f"data{ending or Path(data.name).suffix.lower()}"
        file.write_bytes(data.content)
        return folder, replace(spec, data=str(file), name=data.name, out=str(folder))
    except (OSError, DataUnavailable) as error:
        if folder is not None:
            discard(folder)
        if isinstance(error, DataUnavailable):
            raise
        raise ExplanationError(UNWRITTEN.format(error.strerror)) from error
