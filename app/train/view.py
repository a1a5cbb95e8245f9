"""The lower half of the Train page: every training, its progress and its result."""

import time
from collections.abc import Callable
from functools import partial

import streamlit as st

from app import plain_text
from app.login.account import Account
from app.model_info import info_on_card
from app.plain_text import Bold
from app.server import lifetime
from app.store import Job, Store
from app.train import processes
from app.train.jobs import EXPLAINERS, Jobs, Overview
from app.train.log import Log, duration, pace, read
from app.train.outcome import curves, result, title
from app.train.submission import own_weights
from app.train.supervisor import card
from explainers.errors import ExplanationError

TICK, SLOW_TICK = 2.0, 10.0  # seconds between two redraws while anything is on its way, or while the store fails
PROBLEM = "training problem"  # in the session: why a button could not do its work
RESUME, ABOUT_RESUME = "Resume", "Continues from the last checkpoint, if one was written."
ABOUT_WEIGHTS = "Otherwise they stay, and the Compare page still offers them."
AGAIN, ABOUT_AGAIN = "Try again", "It will end with the same sentence as long as its cause is there."
COLOURS = {"waiting": "gray", "running": "blue", "done": "green", "failed": "red", "cancelled": "orange"}


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


def trainings(jobs: Jobs, account: Account) -> None:
    """Draws the trainings of an account, again and again as long as one is on its way or the store fails."""
    st.header("Trainings", anchor=False)
    known = [_overview(jobs, account)]  # for the first drawing
    tick = _tick(known[0])
    st.fragment(run_every=tick)(_list)(jobs, account, known, tick)


def _overview(jobs: Jobs, account: Account) -> Overview | str:
    """The trainings, or why they cannot be read."""
    try:
        return jobs.overview(account)
    except ExplanationError as error:
        return str(error)


def _tick(overview: Overview | str) -> float | None:
    if isinstance(overview, str):
        return SLOW_TICK
    return TICK if overview.active else None


def _list(jobs: Jobs, account: Account, known: list[Overview | str], tick: float | None) -> None:
    problem = st.session_state.pop(PROBLEM, "")
    if problem:
        plain_text.error(problem)
    overview = known.pop() if known else _overview(jobs, account)
    if isinstance(overview, str):
        if overview != problem:
            plain_text.error(overview)
    else:
        _draw(jobs, account, overview)
    if tick != _tick(overview):
        st.rerun(scope="app")  # begins or ends the ticking


def _draw(jobs: Jobs, account: Account, overview: Overview) -> None:
    if not overview.jobs:
        st.caption("None yet. Trainings appear here, and continue when you close the page.")
    for place, job in enumerate(overview.jobs):
        with st.container(border=True, key=f"job-{job.id}"):
            _head(jobs, account, job)
            _progress_and_problems(job, ahead=overview.ahead.get(job.id, 0))
            if job.id in overview.replaced:
                st.caption("A later training has replaced these weights.")
            elif job.status == "done":
                result(job)
            _record(job, newest=place == 0)


def _change(change: Callable[[int, Account], None], number: int, account: Account) -> None:
    """What a button does. If the store fails, the list says so."""
    try:
        change(number, account)
    except ExplanationError as error:
        st.session_state[PROBLEM] = str(error)


def _delete(jobs: Jobs, job: Job, account: Account) -> None:
    weights = bool(st.session_state.get(_weights_key(job), False))
    _change(partial(jobs.delete, weights=weights), job.id, account)


def _weights_key(job: Job) -> str:
    return f"weights {job.id}"


def _head(jobs: Jobs, account: Account, job: Job) -> None:
    """What is trained, its status, and buttons."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(job.status, color=COLOURS[job.status])  # type: ignore[arg-type]
        noun = info_on_card(job.model).generator_noun or "example"
        source = f"{job.texts:,} texts" if job.texts else f"generated {noun}s"
        plain_text.paragraph(Bold(title(job)), f" for {job.model}, {source}")
        if job.owner != account.id and job.owner_name:
            plain_text.caption(f"by {job.owner_name}")
        if job.active:
            st.button("Cancel", key=f"cancel {job.id}", on_click=_change, args=(jobs.cancel, job.id, account))
            return
        if job.status in ("failed", "cancelled"):
            again = (jobs.resume, job.id, account)
            if job.exit_code == processes.REFUSED:
                st.button(AGAIN, key=f"resume {job.id}", on_click=_change, args=again, help=ABOUT_AGAIN)
            else:
                st.button(RESUME, key=f"resume {job.id}", on_click=_change, args=again, help=ABOUT_RESUME)
        with st.popover("Delete", key=f"ask {job.id}"):
            st.write("Deletes the texts, the log and the checkpoint of this training.")
            if own_weights(job, card(job)) is not None:
                st.checkbox("Its weights too", key=_weights_key(job), help=ABOUT_WEIGHTS)
            st.button("Delete it", key=f"delete {job.id}", on_click=_delete, args=(jobs, job, account))


def _progress_and_problems(job: Job, *, ahead: int) -> None:
    log = read(job.run_folder)
    if job.status == "waiting":
        st.caption(f"Waits for {ahead} other training{'' if ahead == 1 else 's'}." if ahead else "Starts in a moment.")
    if job.status == "running":
        st.progress(*_progress(job, log))
    if job.error:
        plain_text.error(job.error)
    if job.finished is not None:
        st.caption(_when(job))
    for sentence in log.warnings if log is not None else ():
        plain_text.warning(sentence)


def _record(job: Job, *, newest: bool) -> None:
    """The curves, open for the newest training, and the command."""
    log = read(job.run_folder)
    if log is not None and log.terms:
        if job.status == "running":
            curves(job, log)
        else:
            with st.expander("Losses and metrics", expanded=newest, key=f"curves {job.id}", on_change="rerun") as part:
                if part.open:
                    curves(job, log)
    with st.expander("Command", key=f"command {job.id}"):
        st.code(job.typed, None, wrap_lines=True)


def _progress(job: Job, log: Log | None) -> tuple[float, str]:
    """How far a running training is, from 0 to 1 and in words."""
    if log is None or not log.steps:
        return 0.0, "Loading the model and predicting every text"
    if log.step >= log.steps:
        return 1.0, "Checking and saving the weights"
    since = None
    if log.moment > (job.started or 0.0):  # else the log is that of the training before it was resumed
        since = st.session_state.setdefault(f"pace {job.id} {job.started}", (log.step, log.moment))
    seconds = pace(log, since)
    left = f", about {duration(seconds * (log.steps - log.step))} left" if seconds else ""
    epoch = f"epoch {log.epoch} of {log.total_epochs}"
    return log.step / log.steps, f"Step {log.step:,} of {log.steps:,}, {epoch}{left}"


def _when(job: Job) -> str:
    moment = time.strftime("%d %B, %H:%M", time.localtime(job.finished))
    took = f", after {duration(job.finished - job.started)}" if job.finished and job.started else ""
    return f"{job.status.capitalize()} on {moment}{took}."
