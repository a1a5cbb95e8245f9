import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation.measurement import final_attribution
from explainers.evaluation.names import POSITION, RANDOM
from explainers.methods.registry import select
from explainers.models.frozen_model import FrozenModel
from explainers.report.paper_definitions import PUBLISHED
from explainers.results.attribution import Attribution
from explainers.results.decision import Settings
from explainers.studies.published_metrics import (
    KeptInputs,
    measure_published,
    published_markdown,
    published_rows,
)

INPUTS = [Example(f"the {thing} was {word}") for thing in ("film", "plot") for word in ("good", "bad", "dull")]


def test_every_method_and_control_has_every_metric(bert: FrozenModel) -> None:
    rows = published_rows(bert, INPUTS, select(["occlusion"]), Settings(), print)
    assert [row["method"] for row in rows] == ["occlusion", RANDOM, POSITION]
    assert all(set(row["metrics"]) == {metric.id for metric in PUBLISHED} for row in rows)
    assert all(interval["texts"] == len(INPUTS) for row in rows for interval in row["metrics"].values())


def test_what_matters_most_for_the_answer_is_ahead_of_random_orders(bert: FrozenModel) -> None:
    occlusion, random, _ = published_rows(bert, INPUTS, select(["occlusion"]), Settings(), print)
    assert occlusion["metrics"]["cimi_comp"]["mean"] > random["metrics"]["cimi_comp"]["mean"]
    assert occlusion["metrics"]["ciem_suff"]["mean"] < random["metrics"]["ciem_suff"]["mean"]


def test_gains_are_paired_and_positive_where_a_method_is_better(bert: FrozenModel) -> None:
    measured = measure_published(bert, INPUTS, select(["occlusion"]), Settings(), print)
    gains = measured.gains("occlusion")
    rows = {row["method"]: row["metrics"] for row in measured.rows()}
    assert set(gains) == {RANDOM, POSITION}
    for metric in PUBLISHED:
        difference = rows["occlusion"][metric.id]["mean"] - rows[RANDOM][metric.id]["mean"]
        better = difference if metric.higher_is_better else -difference
        assert gains[RANDOM][metric.id].mean == pytest.approx(better)
        assert gains[RANDOM][metric.id].texts == len(INPUTS)


def test_an_interrupted_measurement_goes_on(bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, arguments = KeptInputs(tmp_path / "inputs.jsonl", {"n": 1}), (select(["occlusion"]), Settings(), print)
    whole = measure_published(bert, INPUTS, *arguments)
    measure_published(bert, INPUTS[:1], *arguments, kept=kept)
    explained = []

    def counting(*given: Any) -> Any:
        explained.append(given)
        return final_attribution(*given)

    for _ in range(2):
        assert measure_published(bert, INPUTS, *arguments, kept=kept, explain=counting) == whole
    assert len(explained) == len(INPUTS) - 1
    with pytest.raises(ExplanationError, match="belongs to another run"):
        measure_published(bert, INPUTS, *arguments, kept=replace(kept, signature={"n": 2}))


def test_a_method_that_failed_on_an_input_is_not_paired(bert: FrozenModel) -> None:
    measured = measure_published(bert, INPUTS, select(["occlusion"]), Settings(), print)
    measured.values[RANDOM].pop()
    assert set(measured.gains("occlusion")) == {POSITION}


def test_a_method_that_fails_has_a_reason(bert: FrozenModel) -> None:
    def failing(*_args: object) -> Attribution:
        raise RuntimeError

    row, *_ = published_rows(bert, INPUTS, select(["occlusion"]), Settings(), print, failing)
    assert row == {"method": "occlusion", "inputs": 0, "reason": "Internal error in Crosslight (RuntimeError)."}
    assert "| Occlusion | failed: Internal error in Crosslight (RuntimeError). |" in published_markdown({"rows": [row]})


def test_inputs_without_words_are_a_sentence(bert: FrozenModel) -> None:
    with pytest.raises(DataUnavailable, match="None of the inputs has a word"):
        published_rows(bert, [], select(["occlusion"]), Settings(), print)


def test_the_command_writes_a_record_and_the_tables(tmp_path: Path, hub_folder: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"{example.text} {number}" for example in INPUTS for number in range(4)))
    words = [
        "study",
        "published-metrics",
        "--model",
        str(hub_folder),
        "--data",
        str(texts),
        "--methods",
        "occlusion",
        "--n",
        "2",
    ]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "out" / "published_metrics.json").read_text())
    assert [row["method"] for row in record["rows"]] == ["occlusion", RANDOM, POSITION]
    assert record["command"].endswith("--split test --n 2 --methods occlusion --data DIR")
    assert "| method | AML Comp ↑ | AML Suff ↓ |" in result.output
    assert "| CIEM SUFF | `zero` |" in result.output
