"""The table of faults names tests; each of them exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAULTS = (ROOT / "assets" / "docs" / "faults.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", FAULTS)


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_named_test_exists(path: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_row_names_its_test() -> None:
    rows = [line for line in FAULTS.splitlines() if line.startswith("| ") and not line.startswith("| fault |")]
    assert len(rows) == len(NAMED) > 40
