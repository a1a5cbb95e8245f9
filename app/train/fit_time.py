"""How long a training takes, said before it starts: by a step on its own texts where the model is loaded, else by the
last training of the same method and model.

The step is timed in the background, one at a time, so that no page waits for it.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from app.model_pool import ModelPool, own_device
from app.store import Job
from app.train.jobs import Jobs
from app.train.log import read
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.prompt import split_name
from explainers.report.text import duration
from explainers.training.spec import FitSpec

if TYPE_CHECKING:
    from explainers.learned.fit import FitPace
    from explainers.learned.recipe import Recipe
    from explainers.models.frozen_model import FrozenModel

LANGUAGE_MODEL = (
    "A language model may take hours without a GPU. Try a few texts and one epoch first: this line then says how long "
    "more of them take."
)
TIMING = "Timing a step of the training on these texts …"
MEASURED = "About {} on this machine by a timed step, plus loading the model and any jobs queued before."
UNTIMED = ("epochs", "validations", "learning_rate", "weight_decay", "select")  # settings that change no step
LASTS = 600.0  # seconds after which a step is timed anew: the machine may have been busy


def line(jobs: Jobs, pool: ModelPool, spec: FitSpec, texts: Sequence[Example]) -> str:
    """Return how long the training takes, as far as that is known. Without a model that is loaded and an earlier
    training, or where the store fails, it is a warning for a language model, and nothing for others."""
    timing = _timing(pool, spec, texts)
    if timing is not None and not timing.done():
        return TIMING
    if timing is not None and timing.exception() is None:
        return MEASURED.format(duration(_seconds(spec, timing.result(), len(texts))))
    return _by_the_last(jobs, spec, texts)  # where the step failed, the training says why


def is_known(pool: ModelPool, spec: FitSpec, texts: Sequence[Example]) -> bool:
    """Return whether waiting adds nothing: the step is timed, or its model cannot be loaded."""
    timing = _timing(pool, spec, texts)
    return pool.is_settled(spec.model) if timing is None else timing.done()


def _timing(pool: ModelPool, spec: FitSpec, texts: Sequence[Example]) -> "Future[FitPace] | None":
    """Return the measurement, which begins now unless there is one; None without the model on the training's device."""
    model = pool.loaded(spec.model)
    if not texts or model is None:
        return None
    from explainers.learned.fit import recipe_for
    from explainers.models.catalog import resolve_device

    with suppress(ExplanationError):  # for wrong settings, which the training names
        if model.device != resolve_device(own_device()):
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
        log = read(job.run_folder)
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
