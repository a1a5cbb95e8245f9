"""Files that end or hold up whoever reads them."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from explainers.datasets import parquet_process, tables
from explainers.datasets.user_texts import parse_texts
from explainers.errors import DataUnavailable
from explainers.installation import IMPORTED_FROM

ABORTS = (Path(__file__).parent / "aborts.parquet").read_bytes()  # one row; one byte was changed
DIRECTLY = """
import sys
from explainers.datasets.parquet_process import cells
cells(sys.stdin.buffer.read(), ["text"], most_rows=10, largest=1000)
"""


def test_the_file_does_end_a_process_that_reads_it() -> None:
    """If a newer library survives it, the process of its own may go."""
    command = [sys.executable, "-c", DIRECTLY]
    done = subprocess.run(command, input=ABORTS, cwd=IMPORTED_FROM, capture_output=True, check=False)
    assert done.returncode < 0, "no longer ended by a signal"


def test_a_file_that_ends_its_reader_is_a_sentence() -> None:
    with pytest.raises(DataUnavailable, match=r"^texts\.parquet is not a readable Parquet file\. Save it again\.$"):
        parse_texts(ABORTS, "texts.parquet")


def test_a_reader_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "COMMAND", (sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(tables, "PATIENCE", 0.2)
    with pytest.raises(DataUnavailable, match="not a readable Parquet file"):
        parse_texts(ABORTS, "texts.parquet")


def test_a_reader_waits_for_whoever_takes_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[object] = []
    output = SimpleNamespace(write=steps.append, flush=lambda: steps.append("taken"))
    monkeypatch.setattr(parquet_process.signal, "alarm", steps.append)
    monkeypatch.setattr(parquet_process.sys, "stdout", output)
    parquet_process.answer({"names": []})
    assert steps == [0, '{"names": []}\n', "taken", parquet_process.LONGEST]


def test_the_reader_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:password@host/database")
    with tables.reader() as process:
        environment = Path(f"/proc/{process.pid}/environ")
        if not environment.exists():
            pytest.skip("the environment of a process cannot be read here")
        assert b"password" not in environment.read_bytes()
    assert process.returncode is not None
    assert not os.path.exists(f"/proc/{process.pid}")
