"""What the app is doing, for its owner and for a container's health check: `python -m app.operations.status [--json]`.

The app writes a small file into the folder of the store every ten seconds, and the command reads it: it needs no open
port, and it also notices an app that hangs. Only numbers and names of embedded models are in it, no text of anybody.
"""

import argparse
import json
import logging
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil  # type: ignore[import-untyped]

from explainers.installation import VERSION, store

EVERY = 10.0  # seconds between two writings
OLDEST = 60.0  # seconds; an older file means that the app hangs
HANGING = "hanging"  # the value that `collect` may give: how many comparisons do not move; any but 0 is a fault
NONE = "No app has written its status. Start it, or set CROSSLIGHT_STORE as for the app."

Collect = Callable[[], Mapping[str, object]]
Status = dict[str, Any]
LONGEST_PAUSE = 60.0  # seconds between two attempts while it fails


class StatusWriter:
    """Writes what `collect` returns, which is JSON, and what is known of the process.

    If `collect` hangs or fails, the file grows old.
    """

    def __init__(self, collect: Collect) -> None:
        self.collect = collect
        self.started = time.time()
        self.path = folder() / f"{_host()}-{os.getpid()}.json"
        self.watch = Watch("status", self.write, pause=EVERY)

    def start(self) -> "StatusWriter":
        """Begin to write; before that, remove what apps of this machine that were killed have left."""
        for path, status in _written():
            if not _lives(status):
                path.unlink(missing_ok=True)
        self.watch.start()
        return self

    def close(self) -> None:
        """Return when nothing is written any more and the file is removed."""
        self.watch.close()
        self.path.unlink(missing_ok=True)

    def write(self) -> float:
        """Write once; return the seconds until the next time."""
        status: Status = {
            "version": VERSION,
            "process": os.getpid(),
            "created": psutil.Process().create_time(),
            "started": round(self.started),
            "written": time.time(),
            "memory_mb": round(psutil.Process().memory_info().rss / 2**20),
            "threads": threading.active_count(),
            **self.collect(),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(status, file)
        fresh.replace(self.path)
        return EVERY


def folder() -> Path:
    return store().resolve() / "status"


def statuses() -> list[Status]:
    """Return what the apps of this machine, or container, wrote; of ended apps only if there is no other."""
    written = [status for _, status in _written()]
    return [status for status in written if _lives(status)] or written


def _written() -> list[tuple[Path, Status]]:
    result = []
    for path in sorted(folder().glob(f"{_host()}-*.json")):
        try:
            status = dict(json.loads(path.read_text(encoding="utf-8")))
            float(status["written"]), int(status["process"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # removed in this moment, or not ours
        result.append((path, status))
    return result


def _lives(status: Status) -> bool:
    """Return whether the very process runs; its number may belong to another one by now."""
    try:
        created = psutil.Process(int(status["process"])).create_time()
        return bool(created == status.get("created", created))  # an earlier version does not tell it
    except psutil.Error:
        return False


def fault(status: Status, now: float) -> str:
    """Return what is wrong with the app in a sentence; empty if it is well."""
    age = now - float(status["written"])
    if not _lives(status):
        return f"The app has ended; its last status is {age:.0f} s old."
    if age > OLDEST:
        return f"The app has written nothing for {age:.0f} s, so it hangs."
    if status.get(HANGING):
        return "A comparison has stopped moving."
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every app of this machine is well, 1 if one is not or there is none."""
    parser = argparse.ArgumentParser(prog="python -m app.operations.status", description="What the app is doing.")
    parser.add_argument("--json", action="store_true", help="one object for each app, in a list")
    as_json = parser.parse_args(arguments).json
    now = time.time()
    faults = [(status, fault(status, now)) for status in statuses()]
    if as_json:
        report = [{**status, "age": round(now - status["written"], 1), "fault": text} for status, text in faults]
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        sys.stdout.write("\n\n".join(_text(status, text, now) for status, text in faults) + "\n")
    if not faults:
        sys.stderr.write(NONE + "\n")
    return int(not faults or any(text for _, text in faults))


def _text(status: Status, text: str, now: float) -> str:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.get("started", 0)))
    age = f"{now - status['written']:.0f} s ago"
    shown = {**status, "started": started, "written": age, "state": text or "healthy"}
    width = max(map(len, shown))
    return "\n".join(f"{name:<{width}} {_value(value)}" for name, value in shown.items())


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in value.items()) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _host() -> str:
    return re.sub(r"[^\w.-]", "_", socket.gethostname())


if __name__ == "__main__":
    sys.exit(main())


log = logging.getLogger(__name__)


class Watch:
    """Calls `look`, which returns the seconds until the next call.

    While it raises, the pauses double from `pause` seconds to a minute; the log has one traceback of a series and one
    line for each further kind of failure.
    """

    def __init__(self, name: str, look: Callable[[], float], pause: float = 0.5) -> None:
        self.name, self.look, self.pause = name, look, pause
        self.failures: set[str] = set()  # the kinds of this series
        self.attempts = 0  # that failed, in this series
        self.called, self.closing = Event(), Event()
        self.thread = Thread(target=self._watch, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def call(self) -> None:
        """End the pause."""
        self.called.set()

    def close(self) -> None:
        """Return when the thread has ended."""
        self.closing.set()
        self.called.set()
        if self.thread.is_alive():
            self.thread.join()

    def attempt(self) -> float:
        """Look once; return the seconds until the next time."""
        try:
            pause = self.look()
        except Exception as error:  # a full disk or a lost database must not end the watch
            self._note(error)
            self.attempts += 1
            return float(min(LONGEST_PAUSE, self.pause * 2 ** min(self.attempts, 20)))
        if self.attempts:
            log.info("%s: works again after %d failed attempts", self.name, self.attempts)
            self.failures, self.attempts = set(), 0
        return pause

    def _note(self, error: Exception) -> None:
        kind = f"{type(error).__name__}: {error}"
        if not self.failures:
            log.error("%s: failed, the next attempts follow at longer intervals", self.name, exc_info=error)
        elif kind not in self.failures:
            log.error("%s: %s", self.name, kind)
        self.failures.add(kind)

    def _watch(self) -> None:
        while not self.closing.is_set():
            self.called.wait(self.attempt())
            self.called.clear()
