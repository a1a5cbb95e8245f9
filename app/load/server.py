"""The app under load: started for the test or running already, its memory and threads, and what it says of itself."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from explainers.errors import ExplanationError
from explainers.evaluation import cold_start

ENDING = 20.0  # seconds from asking the app to end to ending it
STATUS = "status"  # the folder of the store in which every app writes a file of its own
STALE = 60.0  # seconds after which it says nothing about now


@dataclass(frozen=True)
class Sample:
    """The server process at one moment: MB of memory, threads, share of one core since the last sample."""

    memory: float
    threads: int
    load: float
    status: dict[str, Any] | None = None


class Watched:
    """The server process, and its status file in the folder of its store."""

    def __init__(self, pid: int, store: Path | None = None) -> None:
        try:
            self.process = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise ExplanationError(f"There is no process {pid}. Give the number of the app's process.") from error
        self.store = store
        self.process.cpu_percent()

    def sample(self) -> Sample:
        """Raises `ExplanationError` when the process has ended."""
        try:
            with self.process.oneshot():
                memory, threads = self.process.memory_info().rss / 1e6, self.process.num_threads()
                return Sample(memory, threads, self.process.cpu_percent() / 100, self.status())
        except psutil.NoSuchProcess as error:
            raise ExplanationError("The app has ended during the test.") from error

    def status(self) -> dict[str, Any] | None:
        """What the app last wrote, None if it wrote nothing, or nothing lately."""
        for path in (self.store / STATUS).glob("*.json") if self.store is not None else ():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                if content["process"] == self.process.pid and time.time() - content["written"] < STALE:
                    return dict(content)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # replaced in this moment, or not the app's
        return None


@contextmanager
def started(environment: Mapping[str, str]) -> Iterator[tuple[str, Watched]]:
    """The app with a store of its own: its address and its process. Raises `ExplanationError` if it does not start."""
    port = cold_start.free_port()
    with tempfile.TemporaryDirectory(prefix="crosslight-load-") as name:
        store = Path(name)
        with (store / "app.log").open("wb") as log:
            app = subprocess.Popen(
                [*cold_start.COMMAND, f"--server.port={port}"],
                cwd=cold_start.ROOT,
                env={**os.environ, "CROSSLIGHT_STORE": name, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                cold_start.wait_for(port)
                yield f"http://127.0.0.1:{port}/", Watched(app.pid, store)
            finally:
                _end(app)


def _end(app: "subprocess.Popen[bytes]") -> None:
    app.send_signal(signal.SIGTERM)
    try:
        app.wait(timeout=ENDING)
    except subprocess.TimeoutExpired:
        app.kill()
        app.wait()
