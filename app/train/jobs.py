"""Trainings as jobs: each is a process of its own, started from its spec as JSON.

Their state is in the store, so that a reload, a restart or a crash of the app does them no harm: a
process that still runs is watched again, one that died can be resumed from its last checkpoint. One trains at a
time, the others wait.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.login.gate import ANYBODY, Account
from app.operations.status import Watch
from app.store import Job, JobKind, Store
from app.train import processes, submission
from app.train.processes import Supervisor, card
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.training.spec import FitSpec

log = logging.getLogger(__name__)

EXPLAINERS = (sys.executable, "-m", "explainers")
PAUSE, LONG_PAUSE = 0.5, 30.0  # seconds between two checks, with a training on its way and without


@dataclass(frozen=True)
class Overview:
    """What an account may see of all trainings. `ahead` is how many come before an active one, by its number;
    `replaced` are the numbers of those whose weights a later training has replaced."""

    jobs: tuple[Job, ...]  # the newest first
    ahead: dict[int, int]
    replaced: frozenset[int]

    @property
    def active(self) -> bool:
        return any(job.active for job in self.jobs)


class Jobs:
    """All trainings of a store, and the thread that starts them and sees them end. Whatever reads or changes one raises
    `ExplanationError` if the store fails."""

    def __init__(self, store: Store, command: Sequence[str] = EXPLAINERS) -> None:
        self.store = store
        self.supervisor = Supervisor(store, command)
        self.watch = Watch("jobs", self._look, PAUSE)
        self.tidy = False

    def begin(self) -> "Jobs":
        self.watch.start()
        return self

    def close(self) -> None:
        """Stops watching. Trainings go on."""
        self.watch.close()
        self.store.close()

    def all(self) -> list[Job]:
        """The newest first, whoever owns them."""
        with self.store.read() as session:
            return list(session.scalars(select(Job).order_by(Job.id.desc())))

    def overview(self, account: Account = ANYBODY, kind: JobKind = "fit") -> Overview:
        """The trainings, or the evaluations; both wait in one queue."""
        queue = self.all()
        active = [job.id for job in reversed(queue) if job.active]
        every = [job for job in queue if job.kind == kind]
        done = [job for job in reversed(every) if job.status == "done"]
        latest = {(job.method, job.model, job.variant): job.id for job in done}
        return Overview(
            tuple(job for job in every if account.may_see(job.owner)),
            {number: ahead for ahead, number in enumerate(active)},
            frozenset(job.id for job in done) - frozenset(latest.values()),
        )

    def snapshot(self) -> dict[str, object]:
        """How many trainings there are by status, for the server's owner; none where the store fails."""
        try:
            return {"jobs": self.counts()}
        except ExplanationError:
            return {"jobs": "the store fails"}

    def counts(self) -> Counter[str]:
        """How many trainings there are, by status."""
        with self.store.read() as session:
            rows = session.execute(select(Job.status, func.count()).group_by(Job.status))
            return Counter({status: count for status, count in rows})

    def submit(self, spec: FitSpec, texts: Sequence[Example], account: Account = ANYBODY) -> Job:
        """Queues a training. Raises `ExplanationError` if it cannot be carried out; then no text stays on the disk."""
        spec = submission.checked(spec)
        same = (spec.method, spec.model, spec.variant)
        if any(job.active and (job.method, job.model, job.variant) == same for job in self.all()):
            raise ExplanationError("A training of this name is on its way. Choose another name, or cancel it first.")
        folder, spec = submission.written(spec, texts)
        job = Job(
            method=spec.method,
            model=spec.model,
            variant=spec.variant,
            texts=len(texts),
            spec_json=spec.as_json(),
            folder=str(folder),
            owner=account.id,
            owner_name=account.name,
        )
        return self.enqueue(job)

    def enqueue(self, job: Job) -> Job:
        """Queues a job whose folder is written. Where that fails, the folder goes."""
        try:
            with self.store.begin() as session:
                session.add(job)
        except BaseException:  # raised again: whatever stopped it, no text may stay on the disk
            submission.discard(job.run_folder)
            raise
        self.watch.call()
        return job

    def cancel(self, number: int, account: Account = ANYBODY) -> None:
        """Ends the process and all that it has started."""
        with self._changing(number, account) as (_, job):
            if job is not None and job.active:
                job.status, job.finished = "cancelled", time.time()
                self.supervisor.ending(job)
        self.watch.call()

    def resume(self, number: int, account: Account = ANYBODY) -> None:
        """Queues a training again; it continues from its last checkpoint."""
        with self._changing(number, account) as (_, job):
            if job is not None and job.status in ("failed", "cancelled"):
                if job.kind == "fit":  # an evaluation always goes on where it stopped
                    job.spec_json = replace(job.spec, resume=True).as_json()
                job.status, job.error, job.exit_code, job.finished = "waiting", "", None, None
                processes.forget_end(job.run_folder)
        self.watch.call()

    def delete(self, number: int, account: Account = ANYBODY, *, weights: bool = False) -> None:
        """Forgets a training that is over: texts, log and checkpoint go, and with `weights` those that it made, unless
        others have replaced them."""
        with self._changing(number, account) as (session, job):
            if job is None or job.active:
                return
            if job.pid in self.supervisor.dying:
                processes.end(job.pid, at_once=True)
            made = submission.own_weights(job, card(job)) if weights else None
            if made is not None:
                submission.discard_weights(made)
            submission.discard(job.run_folder)
            session.delete(job)

    def tick(self) -> bool:
        """Sees what has ended and starts what may start. True while anything is on its way."""
        return self.supervisor.tick()

    @contextmanager
    def _changing(self, number: int, account: Account) -> Iterator[tuple[Session, Job | None]]:
        """The job, if it is there and the account may see it; nobody else changes it during the block."""
        with self.supervisor.lock, self.store.begin() as session:
            job = session.get(Job, number, with_for_update=True)
            yield session, job if job is not None and account.may_see(job.owner) else None

    def _look(self) -> float:
        busy = self.tick()
        if not self.tidy:
            named, self.tidy = {job.run_folder.name for job in self.all()}, True
            if unknown := submission.remove_leftovers(named):
                log.warning(
                    "folders in runs that belong to no training of this database: %d; delete them by hand", unknown
                )
        return PAUSE if busy else LONG_PAUSE
