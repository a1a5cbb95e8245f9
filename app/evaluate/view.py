"""The lower half of the Evaluate page: every evaluation with its progress, and the result of one of them."""

import streamlit as st

from app import plain_text, streamlit_shims
from app.evaluate import results
from app.evaluate.state import Remaining, checked, checking, done, evaluate_state, has_result, moment, result
from app.server.login import Account
from app.session import write_address
from app.store import Job
from app.train import job_list, processes
from app.train.jobs import Jobs, Overview
from explainers.errors import without_folders
from explainers.report.wording import counted, duration

GOES_ON = "Goes on where it stopped: no input is explained twice."


def evaluations(jobs: Jobs, account: Account) -> job_list.JobList:
    """Return the list of an account's evaluations."""
    return job_list.JobList(jobs, account, "evaluate", evaluate_state(), _draw)


def place_of_form(overview: Overview | str) -> streamlit_shims.Container:
    """Return where the form stands: open before the first evaluation, folded above the results after it."""
    begun = not isinstance(overview, str) and bool(overview.jobs)
    return st.expander("New evaluation", key="new evaluation") if begun else st.container()


def _draw(listed: job_list.JobList, overview: Overview) -> None:
    st.header("Evaluations", anchor=False)
    state, numbers = evaluate_state(), [job.id for job in overview.jobs]
    state.offer("evaluation", numbers)
    if state.controls.evaluation is not None:
        state.problems.pop("evaluation", None)
    if problem := state.problems.get("evaluation"):
        plain_text.warning(problem)
    write_address(state.address())  # a press in this part of the page draws no other
    if not overview.jobs:
        st.caption("None yet. Evaluations appear here, and continue when you close the page.")
        return
    shown = state.controls.evaluation or numbers[0]
    for job in overview.jobs:
        with st.container(border=True, key=f"evaluation-{job.id}"):
            _head(listed, job, is_shown=job.id == shown)
            _progress(job, ahead=overview.ahead.get(job.id, 0))
    (chosen,) = (job for job in overview.jobs if job.id == shown)
    stored = result(chosen)
    if stored is not None:
        st.header(f"Result {chosen.id}", anchor=False)
        plain_text.caption(f"{without_folders(chosen.model)} on {chosen.variant}, {chosen.method}")
        results.draw(stored, chosen.id)
        with st.expander("Command"):
            st.code(stored.manifest["command"], None, wrap_lines=True)


def _show(number: int) -> None:
    evaluate_state().change(evaluation=number)


def _head(listed: job_list.JobList, job: Job, *, is_shown: bool) -> None:
    """Draw what is evaluated, its status, and buttons."""

    def ask(job: Job) -> None:
        st.write("Deletes the data and the result of this evaluation.")
        st.button("Delete it", key=f"delete {job.id}", on_click=listed.change, args=(listed.jobs.delete, job.id))

    about = f" for {without_folders(job.model)}, {job.method}, {counted(job.texts, 'input')}"
    with listed.head(job, plain_text.Bold(f"{job.id}. {job.variant}"), about):
        result_is_there = has_result(job)
        if is_shown and result_is_there:
            st.caption("Shown below.")
        readable = not is_shown and result_is_there
        if readable or (job.active and not is_shown):
            st.button("Show the result", key=f"show {job.id}", on_click=_show, args=(job.id,), disabled=not readable)
        listed.buttons(job, "Resume", GOES_ON, ask)


def _progress(job: Job, *, ahead: int) -> None:
    job_list.waiting(job, ahead)
    if job.status == "running":
        st.progress(*_share(job))
    if job.error:
        plain_text.error(_unfinished(job))
    if job.status == "cancelled":
        st.caption(f"Cancelled after {done(job):,} of {counted(job.texts, 'input')}.")
    if job.status == "done" and job.started and job.finished:
        st.caption(f"Took {duration(job.finished - job.started)}.")


def _unfinished(job: Job) -> str:
    if job.exit_code == processes.REFUSED:
        return job.error
    return f"{job.error} {done(job):,} of {counted(job.texts, 'input')} done."


def _share(job: Job) -> tuple[float, str]:
    """Return how far a running evaluation is, from 0 to 1 and in words."""
    inputs = min(max(done(job), 0), job.texts)
    if not inputs:
        return 0.0, "Explaining the first input" if moment(job) else "Loading the model"
    if inputs >= job.texts:
        return 1.0, f"Sanity checks: {counted(checked(job), 'input')} done" if checking(job) else "Writing the result"
    remaining = evaluate_state().remaining.setdefault((job.id, job.started), Remaining(job.started or 0.0))
    seconds = remaining.seconds(inputs, moment(job), job.texts)
    left = f", about {duration(seconds)} left" if seconds else ""
    return inputs / job.texts, f"{inputs:,} of {counted(job.texts, 'input')}{left}"
