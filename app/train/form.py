"""The upper half of the Train page: method, model, settings, how long it takes, and the button to start.

The form for the hyperparameters is made from the fields of the method's recipe: label, meaning, choices and bounds.

How long it takes is said by a step on its own texts where the model is loaded, else by the last training of the same
method and model. The step is timed in the background, one at a time, so that no page waits for it.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import model_pool, plain_text
from app.model_info import is_fetched_first, model_box, model_info
from app.server.login import Account
from app.store import Job
from app.train import outcome
from app.train.jobs import Jobs, device
from app.train.state import train_state
from app.train.texts_form import SubmittedTexts
from explainers.datasets.example import Example
from explainers.datasets.images.sets import OWN
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.models.prompt import split_name
from explainers.report.wording import duration
from explainers.training.artifacts import available_artifacts, own_folder
from explainers.training.spec import VARIANT, FitSpec, Setting, settings_of, typed, with_hyperparameters

if TYPE_CHECKING:
    from explainers.learned.fit import FitPace
    from explainers.learned.recipe import Recipe
    from explainers.models.frozen_model import FrozenModel

SEED = "seed"  # which stands beside the settings
FETCHES = "Starting fetches the model, whatever its size."
TICK = 2.0  # seconds between two looks at whether a step has been timed
USUAL = ("epochs", "learning_rate", "batch")  # what a person changes first

LANGUAGE_MODEL = (
    "A language model may take hours without a GPU. Try a few texts and one epoch first: this line then says how long "
    "more of them take."
)
TIMING = "Timing a step of the training on these texts …"
MEASURED = "About {} on this machine by a timed step, plus loading the model and any jobs queued before."
UNTIMED = ("epochs", "validations", "learning_rate", "weight_decay", "select")  # settings that change no step
LASTS = 600.0  # seconds after which a step is timed anew: the machine may have been busy


@st.cache_resource(show_spinner="Loading the methods that learn")
def recipes() -> tuple[dict[str, Any], dict[str, Any]]:
    """The methods that learn, as dataclasses of their settings, and the settings of the shipped variants."""
    model_pool.import_transformers()  # with torch, after the page was drawn
    from explainers.learned.recipes import RECIPES, SHIPPED

    return RECIPES, SHIPPED


def settings(method: str, variant: str) -> tuple[int, tuple[tuple[str, str], ...]]:
    """The seed, and what differs from what the command line would take by itself for this method and variant."""
    every, shipped = recipes()
    recipe, standard = every[method], shipped.get(method, {}).get(variant, {})
    st.caption(recipe.__doc__ or "")
    by_name = {setting.name: setting for setting in settings_of(recipe)}
    about_seed = by_name.pop(SEED)
    usual_first = sorted(by_name.values(), key=lambda one: USUAL.index(one.name) if one.name in USUAL else len(USUAL))
    cells = [cell for _ in range(0, len(by_name) + 1, 3) for cell in st.columns(3)]
    with cells[0]:
        widget = train_state().widget("train_seed")
        seed = st.number_input(about_seed.label, 0, 9999, step=1, help=about_seed.meaning, **widget)
    changed = []
    for cell, setting in zip(cells[1:], usual_first, strict=False):
        with cell:
            value = _widget(method, setting)
        if value != standard.get(setting.name, setting.default):
            changed.append((setting.name, typed(value)))
    return int(seed), tuple(changed)


def check_settings(method: str, variant: str, changed: tuple[tuple[str, str], ...]) -> None:
    """Raises `ExplanationError` if a training with these settings would be refused."""
    by_name, shipped = recipes()
    with_hyperparameters(by_name[method], method, shipped.get(method, {}).get(variant, {}) | dict(changed))


def _widget(method: str, setting: Setting) -> Any:
    """Chosen by the type; what it returns has that type."""
    default, least, most = setting.default, setting.least, setting.most
    rest: dict[str, Any] = {
        "key": f"set {method} {setting.name}",
        "persist_state": "session",
        "help": f"{setting.meaning} On the command line: `--set {setting.name}=…`",
    }
    if setting.choices:
        return st.selectbox(setting.label, setting.choices, index=setting.choices.index(default), **rest)
    if setting.kind == "boolean":
        return st.checkbox(setting.label, default, **rest)
    if setting.kind == "string":
        return st.text_input(setting.label, default, max_chars=100, **rest)
    number: type[int] | type[float] = int if setting.kind == "integer" else float
    step = 10.0 ** math.floor(math.log10(abs(default))) if number is float and default else 0.01
    bounds = {"min_value": least, "max_value": most, "value": default, "step": max(step, 1) if number is int else step}
    values: dict[str, Any] = {name: value if value is None else number(value) for name, value in bounds.items()}
    return number(st.number_input(setting.label, format="%d" if number is int else "%g", **values, **rest))


def title() -> None:
    st.title("Train a method on your texts", anchor=False)
    st.write(
        "Some methods have to be trained before they can explain a model. Give them texts of the kind that the model "
        "will read. **No labels are needed**: the methods learn from the model's own predictions, and the model stays "
        "as it is."
    )


def fit_spec(pool: model_pool.ModelPool) -> FitSpec:
    """Model, method, the name of the result, and the settings."""
    state = train_state()
    first, second, third = st.columns(3)
    with first:
        model = model_box(state)
    with second:
        method_box = st.empty()  # filled when the methods are loaded, which takes a while
    with third:
        variant = st.text_input(
            "Name of the result",
            max_chars=40,
            help="The Compare page shows the result under this name. Small letters, digits, points and dashes.",
            **state.widget("train_variant"),
        )
    by_name, _shipped = recipes()
    if state.controls.train_method not in by_name:
        state.change(train_method=next(iter(by_name)))
    with method_box:
        method = st.selectbox(
            "Method",
            list(by_name),
            format_func=method_name,
            help="The Methods page says what each of them learns.",
            **state.widget("train_method", listed=by_name),
        )
    name = (variant or "").strip()
    with st.expander("Settings"):
        seed, changed = settings(method, name)
    _warn_of_name(pool, model, method, name)
    return FitSpec(method, model.strip(), variant=name, seed=seed, settings=changed)


def method_name(method: str) -> str:
    return METHODS.get(method).name if method in METHODS.ids else method


def _warn_of_name(pool: model_pool.ModelPool, model: str, method: str, variant: str) -> None:
    """Says if the name is impossible, or weights of this name exist."""
    version = model_info(pool, model).version
    if not VARIANT.fullmatch(variant):
        st.caption("The name needs a small letter or a digit first, then small letters, digits, points or dashes.")
    for artifact in available_artifacts(model, version):
        if (artifact.method, artifact.variant) == (method, variant):
            earlier = artifact.path.parent == own_folder(model, version)
            weights = "your earlier weights" if earlier else "the weights that come with the model"
            plain_text.caption(f"This replaces {weights} of {method_name(method)} under the name {variant}.")


def start(jobs: Jobs, pool: model_pool.ModelPool, spec: FitSpec, submitted: SubmittedTexts, account: Account) -> None:
    """The button and what it starts; or why it cannot start."""
    fetches = is_fetched_first(spec.model)
    if submitted.texts and not fetches and not pool.is_settled(spec.model):
        pool.warm_up(spec.model)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Start training", type="primary", key="start training")
        with st.container():
            waits = bool(submitted.texts) and not fetches and not is_known(pool, spec, submitted.texts)
            draw = st.fragment(run_every=TICK if waits else None)(_cost)
            draw(jobs, pool, spec, submitted.texts, FETCHES if fetches else "", waits=waits)
    if pressed and submitted.problem and not submitted.typed:
        plain_text.error(submitted.problem)
    elif pressed and not submitted.problem:
        try:
            check_settings(spec.method, spec.variant, spec.settings)
            jobs.submit(spec, submitted.texts, account)
            st.toast("The training has been started. It stands below.")
        except ExplanationError as error:
            plain_text.error(str(error))
    st.caption("The same on the command line:")
    images = any(text.image for text in submitted.texts)
    table = images or any(text.pair for text in submitted.texts)
    data = "" if submitted.generated else submitted.file or ("texts.csv" if table else "texts.txt")
    column, pair_column = (*submitted.columns, "", "")[:2]
    spec = replace(spec, column=column, pair_column=pair_column)
    spec = replace(spec, format=OWN, images="DIR") if images else spec
    with st.container(key="train command"):
        st.code(replace(spec, data=data, device=device()).shell_command(), None, wrap_lines=True)


def _cost(
    jobs: Jobs, pool: model_pool.ModelPool, spec: FitSpec, texts: Sequence[Example], first: str, *, waits: bool
) -> None:
    """Draw the time that a training takes, again and again until a step of it has been timed."""
    st.caption(" ".join(filter(None, (first, fit_time_line(jobs, pool, spec, texts)))), width="stretch")
    if waits and is_known(pool, spec, texts):
        st.rerun(scope="app")


def fit_time_line(jobs: Jobs, pool: model_pool.ModelPool, spec: FitSpec, texts: Sequence[Example]) -> str:
    """Return how long the training takes, as far as that is known. Without a model that is loaded and an earlier
    training, or where the store fails, it is a warning for a language model, and nothing for others."""
    timing = _timing(pool, spec, texts)
    if timing is not None and not timing.done():
        return TIMING
    if timing is not None and timing.exception() is None:
        return MEASURED.format(duration(_seconds(spec, timing.result(), len(texts))))
    return _by_the_last(jobs, spec, texts)  # where the step failed, the training says why


def is_known(pool: model_pool.ModelPool, spec: FitSpec, texts: Sequence[Example]) -> bool:
    """Return whether waiting adds nothing: the step is timed, or its model cannot be loaded."""
    timing = _timing(pool, spec, texts)
    return pool.is_settled(spec.model) if timing is None else timing.done()


def _timing(pool: model_pool.ModelPool, spec: FitSpec, texts: Sequence[Example]) -> "Future[FitPace] | None":
    """Return the measurement, which begins now unless there is one; None without the model on the training's device."""
    model = pool.loaded(spec.model)
    if not texts or model is None:
        return None
    from explainers.learned.fit import recipe_for
    from explainers.models.catalog import resolve_device

    with suppress(ExplanationError):  # for wrong settings, which the training names
        if model.device != resolve_device(model_pool.own_device()):
            return None
        recipe = recipe_for(spec)
        words = sum(len(text.split()) for example in texts for text in example.texts) / len(texts)
        settings = tuple(pair for pair in spec.settings if pair[0] not in UNTIMED)
        timed = replace(spec, seed=0, variant="", settings=settings).as_json()
        size = min(len(texts), recipe.batch), round(words), any(text.image for text in texts)
        return _begun(model.version, timed, size, model, recipe, texts)
    return None


@st.cache_resource(show_spinner=False, max_entries=64, ttl=LASTS)
def _begun(
    version: str,
    timed: str,
    size: tuple[int, int, bool],
    _model: "FrozenModel",
    _recipe: "Recipe",
    _texts: Sequence[Example],
) -> "Future[FitPace]":
    from explainers.learned.fit import measured_pace

    return _worker().submit(measured_pace, _recipe, _model, tuple(_texts))


@st.cache_resource(show_spinner=False)
def _worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "timed step")


def _seconds(spec: FitSpec, pace: "FitPace", texts: int) -> float:
    from explainers.learned.fit import held_out, recipe_for

    judged = held_out(texts)
    return pace.seconds(recipe_for(spec), texts - judged, judged)


def _by_the_last(jobs: Jobs, spec: FitSpec, texts: Sequence[Example]) -> str:
    earlier = None
    with suppress(ExplanationError):  # the list of trainings says it
        earlier = next(_earlier(jobs, spec), None)
    if earlier is None:
        return LANGUAGE_MODEL if split_name(spec.model)[1] else ""
    if not texts:
        return ""
    from explainers.learned.recipes import RECIPES

    rate, besides = earlier
    epochs = dict(spec.settings).get("epochs") or RECIPES[spec.method].epochs
    seconds = rate * len(texts) * int(epochs) + besides
    return f"About {duration(seconds)}, judging by the last training of this kind, plus any jobs queued before."


def _earlier(jobs: Jobs, spec: FitSpec) -> Iterator[tuple[float, float]]:
    """Earlier trainings of this method and model, the latest first: seconds per text and epoch, and those
    that loading and predicting took. A resumed one does not tell the latter."""
    for job in jobs.all():
        if (job.method, job.model) != (spec.method, spec.model) or job.status != "done" or _resumed(job):
            continue
        log = outcome.read(job.run_folder)
        if log is not None and log.epochs and log.texts and job.started and job.finished:
            learning = log.epochs[-1].seconds
            besides = max(job.finished - job.started - learning, 0.0)
            yield learning / (log.texts * log.epochs[-1].number), besides


def _resumed(job: Job) -> bool:
    """Also where its spec cannot be read, so that nothing is known about it."""
    try:
        return job.spec.resume
    except ExplanationError:
        return True
