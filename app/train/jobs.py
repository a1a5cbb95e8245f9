"""Trainings as jobs: each is a process of its own, started from its spec as JSON.

A training from the Train page is checked, and its texts are written for its process. The state of all is in the store,
so that a reload, a restart or a crash of the app does them no harm: a process that still runs is watched again, one
that died can be resumed from its last checkpoint. One trains at a time, the others wait.
"""

import csv
import json
import logging
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.model_pool import own_device, roots
from app.operations.status import Watch
from app.server.login import ANYBODY, Account
from app.store import Job, JobKind, Store
from app.train import processes
from explainers.datasets.example import Example
from explainers.datasets.images.sets import OWN
from explainers.errors import ExplanationError
from explainers.installation import store
from explainers.models.model_names import resolve_model_name
from explainers.training.artifacts import own_folder
from explainers.training.spec import VARIANT, FitSpec

log = logging.getLogger(__name__)

ABANDONED_AFTER = 600.0  # seconds; by then a folder's job is in the store


def device() -> str:
    """The device on which the app computes."""
    return own_device()


def runs() -> Path:
    """Where the folders of all trainings lie."""
    return store().resolve() / "runs"


def checked(spec: FitSpec) -> FitSpec:
    """The spec with the real path of its model, and the app's device. Raises `ExplanationError` if it cannot be carried
    out."""
    if not VARIANT.fullmatch(spec.variant):
        raise ExplanationError(
            "The name of the result needs a small letter or a digit first; then small letters, digits, points, dashes "
            "and underscores may follow, 40 in all."
        )
    return replace(spec, model=resolve_model_name(spec.model, roots()), device=device())


def written(spec: FitSpec, texts: Sequence[Example]) -> tuple[Path, FitSpec]:
    """A new folder that no other user of the machine may read, and the spec with it and the file of its texts, if any.
    Where that fails, nothing of them stays."""
    folder = None
    try:
        runs().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{spec.method}-{spec.variant}-", dir=runs()))
        if texts and texts[0].image is not None:
            table, images = _images(folder, texts)
            return folder, replace(spec, folder=str(folder), data=str(table), format=OWN, images=str(images))
        return folder, replace(spec, folder=str(folder), data=str(_texts(folder, texts)) if texts else "")
    except OSError as error:
        if folder is not None:
            discard(folder)
        reason = f"The texts cannot be written to the disk of the server: {error.strerror}. Contact the administrator."
        raise ExplanationError(reason) from error


def discard(folder: Path) -> None:
    """Removes the folder of a training. Raises `ExplanationError` if it stays. Any other folder is left alone."""
    if folder.resolve().parent != runs():
        return
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ExplanationError(f"The files of the training cannot be deleted: {error.strerror}. Try again.") from error


def own_weights(job: Job, details: dict[str, Any] | None) -> Path | None:
    """The file of the weights that this training made, `details` being the card that it printed; None where they were
    deleted, or replaced by another training or command."""
    version, checksum = (details or {}).get("model", {}).get("version", ""), (details or {}).get("sha256")
    path = own_folder(job.model, version) / f"{job.method}-{job.variant}.safetensors"
    try:
        present = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")).get("sha256")
    except (OSError, ValueError):
        return None
    return path if version and checksum and present == checksum else None


def discard_weights(path: Path) -> None:
    """Removes weights and their card. Raises `ExplanationError` if they stay."""
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
    except OSError as error:
        raise ExplanationError(f"The weights cannot be deleted: {error.strerror}. Try again.") from error


def remove_leftovers(named: Collection[str]) -> int:
    """Removes the texts that an app wrote just before it crashed: folders older than some minutes whose training never
    began and which no job has, by their names. Returns how many other folders there are that no job has."""
    unknown = 0
    for folder in sorted(runs().iterdir()) if runs().is_dir() else ():
        if folder.name in named or folder.is_symlink() or not folder.is_dir():
            continue
        try:
            if (folder / processes.OUTPUT).exists():  # perhaps the job of another database
                unknown += 1
            elif time.time() - folder.stat().st_mtime > ABANDONED_AFTER:
                discard(folder)
                log.warning("removed %s: its training was never queued", folder.name)
        except (OSError, ExplanationError) as error:  # the trainings go on all the same
            log.warning("%s cannot be removed: %s", folder.name, error)
    return unknown


def _images(folder: Path, texts: Sequence[Example]) -> tuple[Path, Path]:
    """A table, and the folder of the images that it names."""
    path, images = folder / "texts.csv", folder / "images"
    images.mkdir()
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("text", "image"))
        for number, text in enumerate(texts):
            if text.image is not None:
                (images / str(number)).write_bytes(text.image.content)
                table.writerow((text.text, str(number)))
    return path, images


def _texts(folder: Path, texts: Sequence[Example]) -> Path:
    """A line for each or, where some are pairs or have lines of their own, a table."""
    if not any(text.pair or len(text.text.splitlines()) > 1 for text in texts):
        path = folder / "texts.txt"
        path.write_text("".join(f"{text.text}\n" for text in texts), encoding="utf-8")
        return path
    path = folder / "texts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("text", "pair"))
        table.writerows((text.text, text.pair or "") for text in texts)
    return path


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
        self.supervisor = processes.Supervisor(store, command)
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
            discard(job.run_folder)
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
            made = own_weights(job, processes.card(job)) if weights else None
            if made is not None:
                discard_weights(made)
            discard(job.run_folder)
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
            if unknown := remove_leftovers(named):
                log.warning(
                    "folders in runs that belong to no training of this database: %d; delete them by hand", unknown
                )
        return PAUSE if busy else LONG_PAUSE
