"""The upper half of the Train page: which method, for which model, with which settings; and the button to start."""

from collections.abc import Iterator
from contextlib import suppress

import streamlit as st

from app import plain_text
from app.login.account import Account
from app.model_info import model_box, model_info
from app.model_pool import ModelPool
from app.train.hyperparameters import check_settings, recipes, settings
from app.train.jobs import RESUME_FLAG, Jobs
from app.train.log import duration, read
from app.train.submission import device_arguments
from app.train.texts_form import SubmittedTexts
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.training.artifacts import available_artifacts, own_folder
from explainers.training.fit_spec import VARIANT, FitSpec


def title() -> None:
    st.title("Train a method on your texts", anchor=False)
    st.write(
        "Some methods have to be trained before they can explain a model. Give them texts of the kind that the model "
        "will read. **No labels are needed**: the methods learn from the model's own predictions, and the model stays "
        "as it is."
    )


def fit_spec(pool: ModelPool) -> FitSpec:
    """Model, method, the name of the result, and the settings."""
    first, second, third = st.columns(3)
    with first:
        model = model_box()
    with second:
        method_box = st.empty()  # filled when the methods are loaded, which takes a while
    with third:
        variant = st.text_input(
            "Name of the result",
            "mine",
            max_chars=40,
            key="train variant",
            persist_state="session",
            help="The Compare page shows the result under this name. Small letters, digits, points and dashes.",
        )
    by_name, _shipped = recipes()
    with method_box:
        method = st.selectbox(
            "Method",
            list(by_name),
            key="train method",
            persist_state="session",
            format_func=method_name,
            help="The Methods page says what each of them learns.",
        )
    name = (variant or "").strip()
    with st.expander("Settings"):
        seed, changed = settings(method, name)
    _warn_of_name(pool, model, method, name)
    return FitSpec(method, model.strip(), variant=name, seed=seed, settings=changed)


def method_name(method: str) -> str:
    return METHODS.get(method).name if method in METHODS.ids else method


def _warn_of_name(pool: ModelPool, model: str, method: str, variant: str) -> None:
    """Says if the name is impossible, or weights of this name exist."""
    version = model_info(pool, model).version
    if not VARIANT.fullmatch(variant):
        st.caption("The name needs a small letter or a digit first, then small letters, digits, points or dashes.")
    for artifact in available_artifacts(model, version):
        if (artifact.method, artifact.variant) == (method, variant):
            earlier = artifact.path.parent == own_folder(model, version)
            weights = "your earlier weights" if earlier else "the weights that come with the model"
            plain_text.caption(f"This replaces {weights} of {method_name(method)} under the name {variant}.")


def start(jobs: Jobs, spec: FitSpec, submitted: SubmittedTexts, account: Account) -> None:
    """The button and what it starts; or why it cannot start."""
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Start training", type="primary", key="start training")
        st.caption(_expected_time(jobs, spec, len(submitted.texts)), width="stretch")
    if pressed and submitted.problem and not submitted.typed:
        plain_text.error(submitted.problem)
    elif pressed and not submitted.problem:
        try:
            check_settings(spec.method, spec.variant, spec.settings)
            jobs.submit(spec, submitted.texts, account)
        except ExplanationError as error:
            plain_text.error(str(error))
    st.caption("The same on the command line:")
    file = "texts.csv" if any(text.pair for text in submitted.texts) else "texts.txt"
    data = "" if submitted.generated else file
    st.code(spec.shell_command(data, extra=device_arguments()), None, wrap_lines=True)


def _expected_time(jobs: Jobs, spec: FitSpec, texts: int) -> str:
    """Judged by the last training of the same method and model; empty if there was none or the store fails."""
    earlier = None
    with suppress(ExplanationError):  # the list of trainings says it
        earlier = next(_seconds(jobs, spec), None)
    if earlier is None or not texts:
        return ""
    rate, besides = earlier
    epochs = dict(spec.settings).get("epochs") or recipes()[0][spec.method].epochs
    seconds = rate * texts * int(epochs) + besides
    return f"About {duration(seconds)}, judging by the last training of this kind."


def _seconds(jobs: Jobs, spec: FitSpec) -> Iterator[tuple[float, float]]:
    """Of earlier trainings of the same method and model, the latest first: the seconds per text and epoch, and those
    that loading and predicting took. A resumed one does not tell the latter."""
    for job in jobs.all():
        if (job.method, job.model) != (spec.method, spec.model) or job.status != "done" or RESUME_FLAG in job.command:
            continue
        log = read(job.run_folder)
        if log is not None and log.epochs and log.texts and job.started and job.finished:
            learning = log.epochs[-1].seconds
            besides = max(job.finished - job.started - learning, 0.0)
            yield learning / (log.texts * log.epochs[-1].number), besides
