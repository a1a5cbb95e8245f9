"""The list of an account's jobs of one kind, as Train and Evaluate draw it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app import plain_text, streamlit_shims
from app.server.login import Account
from app.store import Job, JobKind
from app.train.jobs import Jobs, Overview
from app.train.state import JobListState
from explainers.errors import ExplanationError

TICK, SLOW_TICK = 2.0, 10.0  # seconds between two redraws while anything is on its way, or while the store fails
BUTTONS_WIDTH = 320  # pixels, enough for three buttons
COLOURS = {"waiting": "gray", "running": "blue", "done": "green", "failed": "red", "cancelled": "orange"}


@dataclass(frozen=True)
class JobList:
    """The jobs of this kind that an account sees. `draw` draws them."""

    jobs: Jobs
    account: Account
    kind: JobKind
    state: JobListState[Any]
    draw: Callable[["JobList", Overview], None]

    def overview(self) -> Overview | str:
        """Return the jobs, or why they cannot be read."""
        try:
            return self.jobs.overview(self.account, self.kind)
        except ExplanationError as error:
            return str(error)

    def show(self, overview: Overview | str) -> None:
        """Draw the list, again and again as long as a job is on its way or the store fails; first this `overview`."""
        tick = _tick(overview)
        st.fragment(run_every=tick)(self._redraw)([overview], tick)

    def _redraw(self, known: list[Overview | str], tick: float | None) -> None:
        if problem := self.state.take_problem():
            plain_text.error(problem)
        overview = known.pop() if known else self.overview()
        if not isinstance(overview, str):
            self.draw(self, overview)
        elif overview != problem:
            plain_text.error(overview)
        if tick != _tick(overview):
            st.rerun(scope="app")  # begins or ends the ticking

    def change(self, change: Callable[[int, Account], None], number: int) -> None:
        """Do what a button asks for. If the store fails, the list says so."""
        try:
            change(number, self.account)
        except ExplanationError as error:
            self.state.problem = str(error)

    def head(self, job: Job, *about: str | plain_text.Bold) -> streamlit_shims.Container:
        """Draw status, what the job is about, and whose it is. Return the place of its buttons, which has one width: a
        button does not move under the pointer while others come and go."""
        with st.container(horizontal=True, vertical_alignment="center"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.badge(job.status, color=COLOURS[job.status])  # type: ignore[arg-type]
                plain_text.paragraph(*about)
                if job.owner != self.account.id and job.owner_name:
                    plain_text.caption(f"by {job.owner_name}")
            return st.container(horizontal=True, width=BUTTONS_WIDTH)

    def buttons(self, job: Job, resume: str, about_resume: str, ask: Callable[[Job], None]) -> None:
        """Draw Cancel, or Resume under its name and Delete; `ask` draws the question before the job is deleted."""
        if job.active:
            st.button("Cancel", key=f"cancel {job.id}", on_click=self.change, args=(self.jobs.cancel, job.id))
            return
        if job.status in ("failed", "cancelled"):
            again = (self.jobs.resume, job.id)
            st.button(resume, key=f"resume {job.id}", on_click=self.change, args=again, help=about_resume)
        with st.popover("Delete", key=f"ask {job.id}"):
            ask(job)


def waiting(job: Job, ahead: int) -> None:
    """Draw for how many jobs it waits, as long as it does."""
    if job.status == "waiting":
        st.caption(f"Waits for {ahead} other job{'' if ahead == 1 else 's'}." if ahead else "Starts in a moment.")


def _tick(overview: Overview | str) -> float | None:
    if isinstance(overview, str):
        return SLOW_TICK
    return TICK if overview.active else None
