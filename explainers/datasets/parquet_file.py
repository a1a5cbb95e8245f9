"""Parquet files of users, read in a process of their own (`parquet_process`): what ends that reader ends no app."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from explainers.errors import DataUnavailable

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-m", "explainers.datasets.parquet_process")
PATIENCE = 60.0  # seconds for a file
KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")  # of the environment; no secrets
UNREADABLE = "{} is not a readable Parquet file. Save it again."


def read_parquet(
    content: bytes, name: str, choose: Callable[[Sequence[str]], Sequence[str]], *, most_rows: int, largest: int
) -> "pd.DataFrame":
    """The chosen columns as strings, "" for missing cells. Raises `DataUnavailable` if the file cannot be used."""
    import pandas as pd

    with reader() as process:
        try:
            _send(process, len(content).to_bytes(8, "big") + content)
            columns = list(choose(_answer(process)["names"]))
            request = {"columns": columns, "most_rows": most_rows, "largest": largest}
            _send(process, json.dumps(request).encode() + b"\n")
            read = _answer(process)
        except (OSError, ValueError) as error:  # it has ended: the pipe is closed, or its answer is cut off
            raise DataUnavailable(UNREADABLE.format(name)) from error
    if "problem" in read:
        raise DataUnavailable(read["problem"])
    cells = [[texts[number] if number >= 0 else "" for number in numbers] for texts, numbers in read["cells"]]
    return pd.DataFrame(dict(enumerate(cells)), dtype=object).set_axis(columns, axis="columns").astype(str)


@contextmanager
def reader() -> "Iterator[subprocess.Popen[bytes]]":
    """The process; it is ended after the block, or when it takes too long."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = subprocess.Popen(
        COMMAND,
        env={**environment, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    timer = Timer(PATIENCE, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _send(process: "subprocess.Popen[bytes]", content: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.flush()


def _answer(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Raises `ValueError` if there is none."""
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer
