"""The load test itself, on an app that it starts."""

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from app.load.__main__ import load_command

COMMAND = Typer()
COMMAND.command()(load_command)


@pytest.mark.slow
def test_one_session_compares_on_a_small_model_without_errors(tmp_path: Path) -> None:
    out = tmp_path / "load.json"
    arguments = ["--start", "--sessions", "1", "--minutes", "0.05", "--model", "one-layer", "--out", str(out)]
    result = CliRunner().invoke(COMMAND, arguments)
    assert result.exit_code == 0, result.output
    (level,) = json.loads(out.read_text())["results"]
    assert level["done"] == level["comparisons"] >= 1
    assert 0 < level["first_column"]["median"] <= level["all_columns"]["median"]
    assert level["memory"][1] > 100  # MB
    assert "| sessions |" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--start"),
        (["--url", "http://example.org/"], "on this machine"),
        (["--url", "http://127.0.0.1:9/", "--soak", "1", "--model", "sst2"], "--pid"),
    ],
    ids=["no target", "another machine", "a soak without a process"],
)
def test_what_cannot_be_tested_is_refused_with_a_sentence(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(COMMAND, arguments)
    assert result.exit_code == 2
    assert sentence in result.output
