"""The lower half of the Train page: every training, its progress and its result.

Trainings that an earlier app has left go on whichever page is opened first.
"""

import logging
import time
from functools import partial

import streamlit as st

from app import model_info, plain_text
from app.server import lifetime, login
from app.session import value_of
from app.store import Job, Store, exists
from app.train import job_list, outcome, processes
from app.train.jobs import EXPLAINERS, Jobs, Overview, own_weights
from app.train.state import train_state
from explainers.errors import ExplanationError
from explainers.report.wording import duration

RESUME, ABOUT_RESUME = "Resume", "Continues from the last checkpoint, if one was written."
ABOUT_WEIGHTS = "Otherwise they stay, and the Compare page still offers them."
AGAIN, ABOUT_AGAIN = "Try again", "It will end with the same sentence as long as its cause is there."


@st.cache_resource(show_spinner=False, on_release=Jobs.close)
def shared_jobs() -> Jobs:
    """One for all sessions; it takes over the trainings of an earlier app."""
    result = Jobs(Store(), EXPLAINERS).begin()
    lifetime.register(result)
    return result


def jobs() -> Jobs:
    """The shared jobs. Stops the page if no database can be named."""
    try:
        return shared_jobs()
    except ExplanationError as error:
        plain_text.error(str(error))
        st.stop()


def trainings(jobs: Jobs, account: login.Account) -> None:
    """Draws the trainings of an account, again and again as long as one is on its way or the store fails."""
    st.header("Trainings", anchor=False)
    listed = job_list.JobList(jobs, account, "fit", train_state(), _draw)
    listed.show(listed.overview())


def _draw(listed: job_list.JobList, overview: Overview) -> None:
    if not overview.jobs:
        st.caption("None yet. Trainings appear here, and continue when you close the page.")
    for place, job in enumerate(overview.jobs):
        with st.container(border=True, key=f"job-{job.id}"):
            _head(listed, job)
            _progress_and_problems(job, ahead=overview.ahead.get(job.id, 0))
            if job.id in overview.replaced:
                st.caption("A later training has replaced these weights.")
            elif job.status == "done":
                outcome.result(job)
            _record(job, newest=place == 0)


def _delete(listed: job_list.JobList, job: Job) -> None:
    weights = bool(value_of(_weights_key(job)))
    listed.change(partial(listed.jobs.delete, weights=weights), job.id)


def _weights_key(job: Job) -> str:
    return f"weights {job.id}"


def _head(listed: job_list.JobList, job: Job) -> None:
    """What is trained, its status, and buttons."""

    def ask(job: Job) -> None:
        st.write("Deletes the texts, the log and the checkpoint of this training.")
        if own_weights(job, processes.card(job)) is not None:
            st.checkbox("Its weights too", key=_weights_key(job), help=ABOUT_WEIGHTS)
        st.button("Delete it", key=f"delete {job.id}", on_click=_delete, args=(listed, job))

    noun = model_info.info_on_card(job.model).generator_noun or "example"
    source = f"{job.texts:,} texts" if job.texts else f"generated {noun}s"
    with listed.head(job, plain_text.Bold(outcome.title(job)), f" for {job.model}, {source}"):
        refused = job.exit_code == processes.REFUSED
        listed.buttons(job, *((AGAIN, ABOUT_AGAIN) if refused else (RESUME, ABOUT_RESUME)), ask)


def _progress_and_problems(job: Job, *, ahead: int) -> None:
    log = outcome.read(job.run_folder)
    job_list.waiting(job, ahead)
    if job.status == "running":
        st.progress(*_progress(job, log))
    if job.error:
        plain_text.error(job.error)
    if job.finished is not None:
        st.caption(_when(job, log))
    for sentence in log.warnings if log is not None else ():
        plain_text.warning(sentence)


def _record(job: Job, *, newest: bool) -> None:
    """The curves, open for the newest training, and the command."""
    log = outcome.read(job.run_folder)
    if log is not None and log.terms:
        if job.status == "running":
            outcome.curves(job, log)
        else:
            with st.expander("Losses and metrics", expanded=newest, key=f"curves {job.id}", on_change="rerun") as part:
                if part.open:
                    outcome.curves(job, log)
    with st.expander("Command", key=f"command {job.id}"):
        try:
            st.code(job.spec.shell_command(), None, wrap_lines=True)
        except ExplanationError as error:
            plain_text.caption(str(error))


def _progress(job: Job, log: outcome.Log | None) -> tuple[float, str]:
    """How far a running training is, from 0 to 1 and in words."""
    if log is None or not log.steps:
        return 0.0, "Loading the model and predicting every text"
    if log.step >= log.steps:
        return 1.0, "Checking and saving the weights"
    since = None
    if log.moment > (job.started or 0.0):  # else the log is that of the training before it was resumed
        since = train_state().paces.setdefault((job.id, job.started), (log.step, log.moment))
    seconds = outcome.pace(log, since)
    left = f", about {duration(seconds * (log.steps - log.step))} left" if seconds else ""
    epoch = f"epoch {log.epoch} of {log.total_epochs}"
    return log.step / log.steps, f"Step {log.step:,} of {log.steps:,}, {epoch}{left}"


def _when(job: Job, log: outcome.Log | None) -> str:
    """Return when it ended, and how far it had come if it is not done."""
    moment = time.strftime("%d %B, %H:%M", time.localtime(job.finished))
    took = f", after {duration(job.finished - job.started)}" if job.finished and job.started else ""
    at = ""
    if log is not None and log.step and job.status != "done":
        at = f", at step {log.step:,} of {log.steps:,}"
    return f"{job.status.capitalize()} on {moment}{took}{at}."


log = logging.getLogger(__name__)

_reported: set[str] = set()  # what the log says once


def resume_watching() -> None:
    """Called when the page is drawn, so that nobody waits for the database's library. A store that fails is no matter
    for the other pages: the Train page says what is wrong."""
    try:
        if exists():
            shared_jobs()
    except (ExplanationError, OSError) as error:
        if str(error) not in _reported:
            _reported.add(str(error))
            log.error("trainings cannot be watched: %s", error)
