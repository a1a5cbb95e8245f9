"""Tests every property with many new examples and writes the figures, in some minutes:
`PYTHONPATH=. .venv/bin/python tests/fuzz/record.py`."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from explainers.report.tables import Table, TableColumn

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "assets" / "docs" / "fuzzing.md"
SUBJECTS = {
    "test_encoding": "text into units",
    "test_readers": "files of texts",
    "test_images": "images",
    "test_store": "trainings in the store",
}
PROPERTY = re.compile(r"^tests/fuzz/(\w+)\.py::(\w+)(?:\[.*\])?:$", re.MULTILINE)
COUNT = re.compile(r"(\d+) passing, (\d+) failing")
ABOUT = """# Fuzzing

The tests in `tests/fuzz` state what must hold for any input, and hypothesis searches for one that breaks it: texts of
any signs, damaged files, images of any bytes, trainings that are submitted, cancelled and resumed in any order.
`make test` tries the same few examples each time. The figures below are of a run with many new ones, repeated by
`PYTHONPATH=. .venv/bin/python tests/fuzz/record.py`.

{}

What it has found: a Parquet file in which one byte is changed can end the process that reads it, and with it the app.
Such files are now read in a process of their own.
"""


def statistics() -> str:
    """What pytest prints about a long run. Raises `CalledProcessError` if a property fails."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/fuzz", "--hypothesis-show-statistics"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "FUZZ": "long"}, text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.stderr.write(done.stdout)
    done.check_returncode()
    return done.stdout


def figures(output: str) -> dict[str, tuple[int, int, int]]:
    """Properties, examples and failures by subject."""
    counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    parts = PROPERTY.split(output)
    for subject, report in zip(parts[1::3], parts[3::3], strict=True):
        passed, failed = (sum(map(int, column)) for column in zip(*COUNT.findall(report), strict=True))
        counts[SUBJECTS[subject]].append((passed + failed, failed))
    return {
        subject: (len(count), sum(examples for examples, _ in count), sum(failed for _, failed in count))
        for subject, count in counts.items()
    }


TABLE: Table[tuple[str, tuple[int, int, int]]] = Table(
    (
        TableColumn("subject", lambda row: row[0]),
        TableColumn("properties", lambda row: row[1][0]),
        TableColumn("examples", lambda row: row[1][1], ","),
        TableColumn("failures", lambda row: row[1][2]),
    )
)


def page(output: str) -> str:
    return ABOUT.format(TABLE.markdown(figures(output).items()))


if __name__ == "__main__":
    PAGE.write_text(page(statistics()), encoding="utf-8")
