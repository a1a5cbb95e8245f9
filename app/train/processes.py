"""Processes that outlive the one that started them: whether they still run, how they ended, their last words.

A shell stands between, which only starts the command and writes its exit code: whoever comes later learns how it ended.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from explainers.installation import IMPORTED_FROM

OUTPUT, ERRORS, EXIT_CODE = "stdout.txt", "stderr.txt", "exit_code.txt"
SHELL = ("/bin/sh", "-c", f'trap : TERM; "$@"; code=$?; echo $code >"$0/{EXIT_CODE}"; exit $code')  # $0 is the folder
REFUSED = 2  # how a command ends that says what is wrong with its input
SIGNALLED = 128  # to which a shell adds the number of the signal that ended its command
TAIL = 8000  # bytes of a file's end that are read
LONGEST = 500  # characters of a sentence
UNEXPECTED = "The process ended unexpectedly; resume it."
FRAME = " │╭╮╰╯─\t"  # what the command line draws around its errors


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
