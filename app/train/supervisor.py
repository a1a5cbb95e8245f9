"""Starts the jobs that wait, sees them end, and ends those that were cancelled.

Whatever moment the app or the database fails at, no job starts twice: it is claimed in the store first, then its
process is started, then the number of the process is stored, again and again until that succeeds.
"""

import json
import logging
import subprocess
import time
from collections.abc import Sequence
from threading import RLock
from typing import Any, cast

from sqlalchemy import CursorResult, func, select, update
from sqlalchemy.orm import Session, aliased

from app.store import SPEC, Job, Store
from app.train import processes
from explainers.errors import ExplanationError

log = logging.getLogger(__name__)

AT_ONCE = 1  # trainings; two cores are busy with one
GRACE = 5.0  # seconds between asking a process to end and ending it
STARTING = 30.0  # seconds after which a claimed job without a process is started again
NOT_STARTED = "The process cannot be started: {}. Start a new training."


class Supervisor:
    """`command` is what stands before the arguments of a job; `lock` is held by whoever changes one."""

    def __init__(self, store: Store, command: Sequence[str]) -> None:
        self.store, self.command = store, tuple(command)
        self.lock = RLock()
        self.children: dict[int, subprocess.Popen[bytes]] = {}  # by process number: those that were started here
        self.dying: dict[int, float] = {}  # by process number: when it is ended for good
        self.launched: dict[int, int | str] = {}  # by job: its process, or why there is none; until the store knows

    def tick(self) -> bool:
        """Sees what has ended and starts what may start. True while anything is on its way."""
        with self.lock:
            for child in self.children.values():
                child.poll()  # so that those that have ended are gone
            self._store_launched()
            with self.store.begin() as session:
                claimed = self._see(session)
                active = session.scalar(select(Job.id).where(Job.status.in_(("waiting", "running"))).limit(1))
            self.children = {pid: child for pid, child in self.children.items() if child.returncode is None}
            for job in claimed:
                self.launched[job.id] = self._launch(job)
            self._store_launched()
            return active is not None or bool(self.dying)

    def ending(self, job: Job) -> None:
        """Asks a cancelled job's process to end, and ends it when it does not; forgets it when it is gone."""
        if job.pid is None:
            return
        if job.pid not in self.dying and processes.alive(job.pid, job.arguments):
            processes.end(job.pid)
            self.dying[job.pid] = time.monotonic() + GRACE
        elif job.pid in self.dying and processes.group_alive(job.pid) and time.monotonic() < self.dying[job.pid]:
            return
        else:
            if job.pid in self.dying:
                processes.end(job.pid, at_once=True)
            self.dying.pop(job.pid, None)
            job.pid = None

    def _see(self, session: Session) -> list[Job]:
        """Looks at every process. Returns the jobs that were claimed and are to be started now."""
        for job in session.scalars(select(Job).where(Job.pid.is_not(None), Job.status != "running")):
            self.ending(job)
        running = select(Job).where(Job.status == "running").with_for_update(skip_locked=True)
        jobs = list(session.scalars(running))
        for job in jobs:
            self._check(job)
        self.dying = {pid: moment for pid, moment in self.dying.items() if processes.group_alive(pid)}
        alive = {pid for pid, child in self.children.items() if child.returncode is None}
        busy = alive | self.dying.keys() | {job.pid for job in jobs if job.status == "running"}
        session.flush()  # before others are counted
        queued = select(Job).where(Job.status == "waiting", Job.pid.is_(None)).order_by(Job.id)
        return [job for job in session.scalars(queued.limit(max(0, AT_ONCE - len(busy)))) if _claim(session, job)]

    def _launch(self, job: Job) -> int | str:
        """The number of the job's new process, or why there is none."""
        try:
            (job.run_folder / SPEC).write_text(job.checked_json, encoding="utf-8")
            child = processes.start([*self.command, *job.arguments], job.run_folder)
        except ExplanationError as error:
            return f"{error} Start a new training."
        except OSError as error:
            return NOT_STARTED.format(error.strerror)
        self.children[child.pid] = child
        return child.pid

    def _store_launched(self) -> None:
        if not self.launched:
            return
        with self.store.begin() as session:
            for number, outcome in self.launched.items():
                job = session.get(Job, number, with_for_update=True)
                if isinstance(outcome, str):
                    if job is not None and job.status == "running":
                        job.status, job.finished, job.error = "failed", time.time(), outcome
                elif job is None:
                    processes.end(outcome)  # deleted in the meantime
                elif job.pid is None and job.status in ("running", "cancelled"):
                    job.pid = outcome
        self.launched = {}

    def _check(self, job: Job) -> None:
        """Sees whether a running job has ended."""
        if job.pid is None:
            job.pid = processes.number_of(job.arguments)  # its app crashed before it could store the number
        child = self.children.get(job.pid or 0)
        code = child.returncode if child else None
        if code is None and (child or (job.pid is not None and processes.alive(job.pid, job.arguments))):
            return
        code = processes.exit_code(job.run_folder) if code is None else code
        if job.pid is None and code is None:
            if time.time() - (job.started or 0.0) > STARTING:
                log.warning("the process of training %d is not there; it is started again", job.id)
                job.status = "waiting"
            return
        if code == 0 or (code is None and card(job) is not None):
            job.status = "done"
        else:
            job.status, job.error = "failed", processes.last_words(job.run_folder, code)
        job.exit_code, job.pid, job.finished = code, None, time.time()


def _claim(session: Session, job: Job) -> bool:
    """Whether this app may start the job: not if another app on the same store was quicker, or has started one."""
    other = aliased(Job)
    running = select(func.count()).select_from(other).where(other.status == "running").scalar_subquery()
    claim = update(Job).where(Job.id == job.id, Job.status == "waiting", running < AT_ONCE)
    values = {"status": "running", "started": time.time()}
    claimed = session.execute(claim.values(values).execution_options(synchronize_session=False))
    session.refresh(job)
    return cast("CursorResult[Any]", claimed).rowcount > 0


def card(job: Job) -> dict[str, Any] | None:
    """What the command has printed at its end: the card of the weights."""
    try:
        details = json.loads((job.run_folder / processes.OUTPUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return details if isinstance(details, dict) else None
