import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.names import POSITION, RANDOM
from explainers.methods.registry import select
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import Settings
from explainers.studies.criteria import consistency_markdown, consistency_rows, controls

WORDS = ("good", "bad", "dull", "very good", "not bad")
INPUTS = [Example(f"the {thing} was {word}") for thing in ("film", "plot", "end", "joke") for word in WORDS]


def test_every_method_and_control_has_a_row_and_a_constant_order_none_of_its_own(bert: FrozenModel) -> None:
    rows = consistency_rows(bert, INPUTS, select(["aml", "occlusion"]), Settings(), print)
    by_method = {row["method"]: row for row in rows}
    assert set(by_method) == {"aml", "occlusion", RANDOM, POSITION}
    assert by_method[POSITION] == {
        "method": POSITION,
        "inputs": len(INPUTS),
        "reason": "every input has the same explanation",
    }
    for part in ("cons", "within"):
        assert all(-1 <= by_method[method][part]["mean"] <= 1 for method in ("aml", "occlusion", RANDOM))


def test_inputs_of_the_same_length_have_random_orders_of_their_own(bert: FrozenModel) -> None:
    encoding = bert.encode(INPUTS[0])
    assert controls(encoding, 0)[RANDOM] != controls(encoding, 1)[RANDOM]
    assert controls(encoding, 0) == controls(encoding, 0)


def test_a_method_that_fails_has_a_reason(bert: FrozenModel) -> None:
    def failing(*_args: object) -> Attribution:
        raise RuntimeError

    rows = consistency_rows(bert, INPUTS, select(["occlusion"]), Settings(), print, failing)
    assert rows[0] == {"method": "occlusion", "inputs": 0, "reason": "Internal error in Crosslight (RuntimeError)."}


def test_two_inputs_are_too_few(bert: FrozenModel) -> None:
    with pytest.raises(DataUnavailable, match="at least 3"):
        consistency_rows(bert, INPUTS[:2], select(["occlusion"]), Settings(), print)


def test_the_table_says_what_is_clear_and_what_is_undefined() -> None:
    interval = {"low": -0.1, "mean": 0.1, "high": 0.3, "texts": 9}
    rows = [
        {"method": POSITION, "inputs": 9, "reason": "every input has the same explanation"},
        {"method": "lime", "inputs": 9, "cons": interval},
        {"method": "aml", "inputs": 9, "cons": {**interval, "low": 0.2, "mean": 0.25}, "within": interval},
    ]
    lines = consistency_markdown({"rows": rows}).splitlines()
    assert lines[2:5] == [
        "| AML | 0.250 [0.200, 0.300] | 0.100° [-0.100, 0.300] | 9 |",
        "| LIME | 0.100° [-0.100, 0.300] | – | 9 |",
        "| Position only (first words first) | undefined: every input has the same explanation | – | 9 |",
    ]


def test_the_command_writes_a_record(tmp_path: Path, hub_folder: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(example.text for example in INPUTS))
    words = ["study", "consistency", "--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion"]
    result = CliRunner().invoke(app, [*words, "--steps", "20", "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "out" / "consistency.json").read_text())
    assert [row["method"] for row in record["rows"]] == ["occlusion", RANDOM, POSITION]
    assert record["command"].endswith("--n 150 --methods occlusion --steps 20 --data DIR")
