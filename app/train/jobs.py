"""Trainings as jobs: each is a process of its own, started from the command line that a person would type.

Their state is in the store, so that a reload, a restart or a crash of the app does them no harm: a
process that still runs is watched again, one that died can be resumed after its last finished epoch. One trains at a
time, the others wait.
"""

import json
import logging
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from threading import Event, RLock, Thread
from typing import Any, cast

from sqlalchemy import CursorResult, select, update
from sqlalchemy.orm import Session

from app.store import Job, Store
from app.train import processes
from app.train.submission import checked, device_arguments, runs, written
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.training.fit_spec import FitSpec

log = logging.getLogger(__name__)

EXPLAINERS = (sys.executable, "-m", "explainers")
AT_ONCE = 1  # trainings; two cores are busy with one
PAUSE, LONG_PAUSE = 0.5, 30.0  # seconds between two checks, with a training on its way and without
GRACE = 5.0  # seconds between asking a process to end and ending it
NOT_STARTED = "The process cannot be started: {}. Start a new training."


class Jobs:
    """All trainings of a store, and the thread that starts them and sees them end."""

    def __init__(self, store: Store, command: Sequence[str] = EXPLAINERS) -> None:
        self.store, self.command = store, tuple(command)
        self.lock = RLock()
        self.children: dict[int, subprocess.Popen[bytes]] = {}  # by process number: those that were started here
        self.dying: dict[int, float] = {}  # by process number: when it is ended for good
        self.wake, self.closing = Event(), Event()
        self.thread = Thread(target=self._watch, name="jobs", daemon=True)

    def begin(self) -> "Jobs":
        self.thread.start()
        return self

    def close(self) -> None:
        """Stops watching. Trainings go on."""
        self.closing.set()
        self.wake.set()
        if self.thread.is_alive():
            self.thread.join()
        self.store.close()

    def all(self) -> list[Job]:
        """The newest first."""
        with self.store.begin() as session:
            return list(session.scalars(select(Job).order_by(Job.id.desc())))

    def submit(self, spec: FitSpec, texts: Sequence[Example]) -> Job:
        """Queues a training. Raises `ExplanationError` if it cannot be carried out."""
        spec = checked(spec)
        same = (spec.method, spec.model, spec.variant)
        if any(job.active and (job.method, job.model, job.variant) == same for job in self.all()):
            raise ExplanationError("A training of this name is on its way. Choose another name, or cancel it first.")
        folder, spec = written(spec, texts)
        job = Job(
            method=spec.method,
            model=spec.model,
            variant=spec.variant,
            texts=len(texts),
            command=[*self.command, *spec.arguments(), *device_arguments(), "--folder", str(folder)],
            folder=str(folder),
        )
        with self.store.begin() as session:
            session.add(job)
        self.wake.set()
        return job

    def cancel(self, number: int) -> None:
        """Ends the process and all that it has started."""
        with self.lock, self.store.begin() as session:
            job = session.get(Job, number)
            if job is not None and job.active:
                job.status, job.finished = "cancelled", time.time()
                self._ending(job)
        self.wake.set()

    def resume(self, number: int) -> None:
        """Queues a training again; it continues after the last finished epoch."""
        with self.lock, self.store.begin() as session:
            job = session.get(Job, number)
            if job is not None and job.status in ("failed", "cancelled"):
                job.command = job.command if "--resume" in job.command else [*job.command, "--resume"]
                job.status, job.error, job.exit_code, job.finished = "waiting", "", None, None
        self.wake.set()

    def delete(self, number: int) -> None:
        """Forgets a training that is over: texts, log and checkpoint go, the fitted weights stay."""
        with self.lock, self.store.begin() as session:
            job = session.get(Job, number)
            if job is None or job.active:
                return
            if job.pid in self.dying:
                processes.end(job.pid, at_once=True)
            folder = job.run_folder.resolve()
            if folder.parent == runs():
                shutil.rmtree(folder, ignore_errors=True)
            session.delete(job)

    def tick(self) -> bool:
        """Sees what has ended and starts what may start. True while anything is on its way."""
        with self.lock, self.store.begin() as session:
            for child in self.children.values():
                child.poll()  # so that those that have ended are gone
            for job in session.scalars(select(Job).where(Job.pid.is_not(None), Job.status != "running")):
                self._ending(job)
            running = list(session.scalars(select(Job).where(Job.status == "running")))
            for job in running:
                self._check(job)
            self.dying = {pid: moment for pid, moment in self.dying.items() if processes.group_alive(pid)}
            alive = {pid for pid, child in self.children.items() if child.returncode is None}  # perhaps not stored yet
            busy = alive | self.dying.keys() | {job.pid for job in running if job.status == "running"}
            free = AT_ONCE - len(busy)
            queued = select(Job).where(Job.status == "waiting", Job.pid.is_(None)).order_by(Job.id)
            for job in session.scalars(queued.limit(max(0, free))):
                self._start(session, job)
            self.children = {pid: child for pid, child in self.children.items() if child.returncode is None}
            active = session.scalar(select(Job.id).where(Job.status.in_(("waiting", "running"))).limit(1))
            return active is not None or bool(self.dying)

    def _watch(self) -> None:
        while not self.closing.is_set():
            busy = True
            try:
                busy = self.tick()
            except Exception:  # a full disk or a lost database must not end the watch
                log.exception("the trainings cannot be watched")
            self.wake.wait(PAUSE if busy else LONG_PAUSE)
            self.wake.clear()

    def _start(self, session: Session, job: Job) -> None:
        claim = update(Job).where(Job.id == job.id, Job.status == "waiting").values(status="running")
        if cast("CursorResult[Any]", session.execute(claim)).rowcount == 0:
            return  # another app on the same store was quicker
        job.started = time.time()
        try:
            child = processes.start(job.command, job.run_folder)
        except (OSError, ValueError) as error:  # ValueError: a sign that no command line can hold
            reason = error.strerror if isinstance(error, OSError) else str(error)
            job.status, job.finished, job.error = "failed", time.time(), NOT_STARTED.format(reason)
            return
        self.children[child.pid], job.pid = child, child.pid

    def _check(self, job: Job) -> None:
        """Sees whether a running job has ended. Of one that an earlier app has started nobody learns the exit code."""
        child = self.children.get(job.pid or 0)
        code = child.returncode if child else None
        if code is None and (child or (job.pid is not None and processes.alive(job.pid, job.command))):
            return
        if code == 0 or (code is None and card(job) is not None):
            job.status = "done"
        else:
            job.status, job.error = "failed", processes.last_words(job.run_folder, code)
        job.exit_code, job.pid, job.finished = code, None, time.time()

    def _ending(self, job: Job) -> None:
        """Asks a cancelled job's process to end, and ends it when it does not; forgets it when it is gone."""
        if job.pid is None:
            return
        if job.pid not in self.dying and processes.alive(job.pid, job.command):
            processes.end(job.pid)
            self.dying[job.pid] = time.monotonic() + GRACE
        elif job.pid in self.dying and processes.group_alive(job.pid) and time.monotonic() < self.dying[job.pid]:
            return
        else:
            if job.pid in self.dying:
                processes.end(job.pid, at_once=True)
            self.dying.pop(job.pid, None)
            job.pid = None


def card(job: Job) -> dict[str, Any] | None:
    """What the command has printed at its end: the card of the weights."""
    try:
        details = json.loads((job.run_folder / processes.OUTPUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return details if isinstance(details, dict) else None
