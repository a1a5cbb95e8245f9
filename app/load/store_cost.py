"""What it costs that a stored answer is on the disk: `python -m app.load.store_cost`.

Each writer is a thread with a store of its own, as an app of its own would have; a write is a transaction with one row.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import numpy as np

from app.database.connections import Synchronous
from app.store import Job, Store

WRITES = 400  # by all writers together
MODES: tuple[Synchronous, ...] = ("NORMAL", "FULL")


def seconds_of_writes(url: str, synchronous: Synchronous, writers: int) -> list[float]:
    """Seconds of each of `WRITES` transactions of so many threads at once."""
    seconds: list[float] = []

    def write() -> None:
        store = Store(url, synchronous)
        for _ in range(WRITES // writers):
            began = time.perf_counter()
            with store.begin() as session:
                session.add(Job(method="", model="", variant="", texts=0, spec_json="", folder="", error="x" * 500))
            seconds.append(time.perf_counter() - began)
        store.close()

    threads = [Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds


def table(folder: Path, writers: Sequence[int] = (1, 8)) -> str:
    """In Markdown, a row per setting and number of writers; the files lie in `folder`."""
    lines = ["| synchronous | writers | median, ms | 99 %, ms |", "|---|---|---|---|"]
    for number in writers:
        for mode in MODES:
            url = f"sqlite:///{folder / f'{mode}-{number}.db'}"
            median, slow = np.percentile(seconds_of_writes(url, mode, number), (50, 99)) * 1000
            lines.append(f"| {mode} | {number} | {median:.1f} | {slow:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as folder:
        sys.stdout.write(table(Path(folder)))
