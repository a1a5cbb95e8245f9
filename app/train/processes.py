"""Processes that outlive the one that started them: whether they still run, how they are ended, their last words."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]

import explainers

PROJECT = Path(explainers.__file__).parents[1]
OUTPUT, ERRORS = "stdout.txt", "stderr.txt"
TAIL = 8000  # bytes of a file's end that are read
LONGEST = 500  # characters of a sentence
FRAME = " │╭╮╰╯─\t"  # what the command line draws around its errors


def start(command: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    """Begins the command in a group of its own; what it says goes to files in `folder`. No shell reads it."""
    path = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONIOENCODING": "utf-8"}
    with (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )


def alive(pid: int, command: Sequence[str]) -> bool:
    """Whether the process with this number runs, and is the one of this command."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        running: list[str] = process.cmdline()
    except psutil.Error:
        return False
    return running[1:] == list(command[1:])  # the first may be another path to the same Python


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
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
        return f"{name} ended the process, perhaps for lack of memory. Resume it."
    lines = [line.strip(FRAME) for line in tail(folder / ERRORS).splitlines()]
    message = next((line for line in reversed(lines) if line), "")
    if code is None or not message:
        return "The process ended unexpectedly; resume it."
    return message if len(message) <= LONGEST else f"{message[:LONGEST]} …"


def tail(path: Path) -> str:
    """The end of a file as text; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
