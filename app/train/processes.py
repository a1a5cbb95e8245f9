"""Processes that outlive the one that started them: those of jobs are started, seen to end, and ended when cancelled.

A shell stands between, which only starts the command and writes its exit code: whoever comes later learns how it ended.

Whatever moment the app or the database fails at, no job starts twice: it is claimed in the store first, then its
process is started, then the number of the process is stored, again and again until that succeeds.
"""

import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from typing import Any, cast

import psutil  # type: ignore[import-untyped]
from sqlalchemy import CursorResult, func, select, update
from sqlalchemy.orm import Session, aliased

from app.store import SPEC, Job, Store
from explainers.errors import ExplanationError
from explainers.installation import IMPORTED_FROM

OUTPUT, ERRORS, EXIT_CODE = "stdout.txt", "stderr.txt", "exit_code.txt"
SHELL = ("/bin/sh", "-c", f'trap : TERM; "$@"; code=$?; echo $code >"$0/{EXIT_CODE}"; exit $code')  # $0 is the folder
REFUSED = 2  # how a command ends that says what is wrong with its input
SIGNALLED = 128  # to which a shell adds the number of the signal that ended its command
TAIL = 8000  # bytes of a file's end that are read
LONGEST = 500  # characters of a sentence
UNEXPECTED = "The process ended unexpectedly; resume it."
FRAME = " │╭╮╰╯─\t"  # what the command line draws around its errors
log = logging.getLogger(__name__)

AT_ONCE = 1  # trainings; two cores are busy with one
GRACE = 5.0  # seconds between asking a process to end and ending it
STARTING = 30.0  # seconds after which a claimed job without a process is started again
NOT_STARTED = "The process cannot be started: {}. Start a new training."


def start(command: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    """Begins the command in a group of its own; what it says goes to files in `folder`. No shell reads its words."""
    path = os.pathsep.join(filter(None, (str(IMPORTED_FROM), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONIOENCODING": "utf-8"}
    forget_end(folder)
    with (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
        return subprocess.Popen(
            [*SHELL, str(folder), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )


def alive(pid: int, arguments: Sequence[str]) -> bool:
    """Return whether the process with this number runs, and its command ends with these arguments."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return _ends_with(process.cmdline(), arguments)
    except psutil.Error:
        return False


def number_of(arguments: Sequence[str]) -> int | None:
    """The process with these arguments, None if there is none: for one whose number was not kept."""
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if words[: len(SHELL)] == list(SHELL) and _ends_with(words, arguments) and alive(process.pid, arguments):
            return int(process.pid)
    return None


def _ends_with(words: list[str], arguments: Sequence[str]) -> bool:
    """Return whether a command line is that of the shell, or of the command that it has started."""
    return words[len(words) - len(arguments) :] == list(arguments)


def exit_code(folder: Path) -> int | None:
    """How the command ended; None if it did not, or was killed together with its shell."""
    try:
        return int((folder / EXIT_CODE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def forget_end(folder: Path) -> None:
    """Before it is started again."""
    (folder / EXIT_CODE).unlink(missing_ok=True)


def end(pid: int, *, at_once: bool = False) -> bool:
    """Asks the whole group of the process to end, or ends it `at_once`. False if nothing is left of it."""
    try:
        os.killpg(pid, signal.SIGKILL if at_once else signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def group_alive(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def last_words(folder: Path, code: int | None) -> str:
    """Why it failed, in one line: the last that it wrote to its standard error."""
    number = -code if code is not None and code < 0 else (code or 0) - SIGNALLED
    if number > 0:
        name = signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
        return f"{name} ended the process, perhaps for lack of memory. Resume it."
    lines = [line.strip(FRAME) for line in tail(folder / ERRORS).splitlines()]
    message = next((line for line in reversed(lines) if line), "")
    message = message if len(message) <= LONGEST else f"{message[:LONGEST]} …"
    if code is None:
        return UNEXPECTED + (f" Its last line was: {message}" if message else "")
    return message or UNEXPECTED


def tail(path: Path) -> str:
    """The end of a file as text; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


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
        if job.pid not in self.dying and alive(job.pid, job.arguments):
            end(job.pid)
            self.dying[job.pid] = time.monotonic() + GRACE
        elif job.pid in self.dying and group_alive(job.pid) and time.monotonic() < self.dying[job.pid]:
            return
        else:
            if job.pid in self.dying:
                end(job.pid, at_once=True)
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
        self.dying = {pid: moment for pid, moment in self.dying.items() if group_alive(pid)}
        own = {pid for pid, child in self.children.items() if child.returncode is None}
        busy = own | self.dying.keys() | {job.pid for job in jobs if job.status == "running"}
        session.flush()  # before others are counted
        queued = select(Job).where(Job.status == "waiting", Job.pid.is_(None)).order_by(Job.id)
        return [job for job in session.scalars(queued.limit(max(0, AT_ONCE - len(busy)))) if _claim(session, job)]

    def _launch(self, job: Job) -> int | str:
        """The number of the job's new process, or why there is none."""
        try:
            (job.run_folder / SPEC).write_text(job.checked_json, encoding="utf-8")
            child = start([*self.command, *job.arguments], job.run_folder)
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
                    end(outcome)  # deleted in the meantime
                elif job.pid is None and job.status in ("running", "cancelled"):
                    job.pid = outcome
        self.launched = {}

    def _check(self, job: Job) -> None:
        """Sees whether a running job has ended."""
        if job.pid is None:
            job.pid = number_of(job.arguments)  # its app crashed before it could store the number
        child = self.children.get(job.pid or 0)
        code = child.returncode if child else None
        if code is None and (child or (job.pid is not None and alive(job.pid, job.arguments))):
            return
        code = exit_code(job.run_folder) if code is None else code
        if job.pid is None and code is None:
            if time.time() - (job.started or 0.0) > STARTING:
                log.warning("the process of training %d is not there; it is started again", job.id)
                job.status = "waiting"
            return
        if code == 0 or (code is None and card(job) is not None):
            job.status = "done"
        else:
            job.status, job.error = "failed", last_words(job.run_folder, code)
        job.exit_code, job.pid, job.finished = code, None, time.time()


def _claim(session: Session, job: Job) -> bool:
    """Return whether this app may start the job: another app on the same store was not quicker and has started none."""
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
        details = json.loads((job.run_folder / OUTPUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return details if isinstance(details, dict) else None
