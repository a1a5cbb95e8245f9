import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.annotations.judged import marked_truth
from explainers.annotations.records import Item, Marked, Span
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.names import POSITION
from explainers.methods.registry import METHODS, select
from explainers.models.bundle_cards import BUNDLES
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import Settings
from explainers.studies.cards.model_card import model_card
from explainers.studies.plausibility import (
    FILE,
    PLAUSIBILITY_FILE,
    PlausibilityPlan,
    measure_plausibility,
    plausibility_markdown,
    plausibility_rows,
)

TEXT = "the film was not good"
NOT_GOOD = Marked((Span(13, 21),))


def predicted(model: FrozenModel, text: str) -> int:
    encoding = model.encode(text)
    return int(model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool)).argmax())


@pytest.fixture
def items(bert: FrozenModel) -> tuple[Item, ...]:
    right = predicted(bert, TEXT)
    return (
        Item("marked", Example(TEXT, label=right), (NOT_GOOD,)),
        Item("wrong", Example(TEXT, label=(right + 1) % len(bert.labels)), (NOT_GOOD,)),
        Item("unmarked", Example(TEXT, label=right), (Marked(),)),
        Item("again", Example(TEXT, label=right), (Marked((Span(0, 3),)),)),
    )


PLAN = PlausibilityPlan(select(["gradient_x_input", "kernel_shap"]), Settings(samples=12, steps=3), costly=1)


def test_items_that_are_wrong_or_unmarked_do_not_count(
    bert: FrozenModel, items: tuple[Item, ...], tmp_path: Path
) -> None:
    measured = measure_plausibility(bert, items, PLAN, tmp_path, lambda _line: None)
    assert (measured.right, measured.counted, measured.cut) == (3, 2, 0)
    assert measured.units == 5
    assert measured.marked == pytest.approx((2 / 5 + 1 / 5) / 2)
    rows = {row["method"]: row for row in plausibility_rows(measured.records)}
    assert {method: row["items"] for method, row in rows.items()} == {
        POSITION: 2, "gradient_x_input": 2, "kernel_shap": 1,
    }  # fmt: skip
    # the first words first: none of the two marked words, then the only one
    assert rows[POSITION]["f1"]["mean"] == pytest.approx((0 + 1) / 2)
    assert rows[POSITION]["f1_chance"] == pytest.approx((2 / 5 + 1 / 5) / 2)
    assert rows["kernel_shap"]["f1_chance"] == pytest.approx(2 / 5)
    assert rows[POSITION]["auc_chance"] == 0.5


def test_an_interrupted_run_goes_on(bert: FrozenModel, items: tuple[Item, ...], tmp_path: Path) -> None:
    whole = measure_plausibility(bert, items, PLAN, tmp_path / "a", lambda _line: None)
    measure_plausibility(bert, items, PLAN, tmp_path / "b", lambda _line: None)
    path = tmp_path / "b" / FILE
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], lines[2][:20]]))
    seen: list[str] = []
    again = measure_plausibility(bert, items, PLAN, tmp_path / "b", seen.append)
    assert [line.split(" items")[0] for line in seen] == ["2 of 4", "3 of 4", "4 of 4"]
    assert [{**record, "seconds": 0} for record in again.records] == [
        {**record, "seconds": 0} for record in whole.records
    ]
    with pytest.raises(ExplanationError, match="belongs to another run"):
        measure_plausibility(bert, items[:1], PLAN, tmp_path / "b", seen.append)


def test_nothing_to_measure_is_a_sentence(bert: FrozenModel, items: tuple[Item, ...], tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match="None of the 2 items"):
        measure_plausibility(bert, items[1:3], PLAN, tmp_path, lambda _line: None)


def test_a_unit_is_marked_if_at_least_half_of_the_people_marked_it(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    people = (NOT_GOOD, Marked((Span(17, 21),)), Marked((Span(17, 21),)))
    assert marked_truth(people, encoding).tolist() == [False, False, False, False, True]
    assert marked_truth(people[:2], encoding).tolist() == [False, False, False, True, True]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An invented data set in ERASER's format."""
    reviews = {"n1": ("NEG", "a dull , lifeless bore ."), "p1": ("POS", "a warm and funny film .")}
    (tmp_path / "docs").mkdir()
    for name, (_, text) in reviews.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    evidence = {"start_token": 1, "end_token": 4}
    rows = [
        {"annotation_id": name, "classification": label, "evidences": [[{"docid": name, **evidence}]]}
        for name, (label, _) in reviews.items()
    ]
    broken = {
        "annotation_id": "n1",
        "classification": "NEG",
        "evidences": [[{"docid": "n1", "start_token": 9, "end_token": 99}]],
    }
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, [*rows, broken])), encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(not (BUNDLES / "sst2").is_dir(), reason="there is no bundle")
def test_the_command_measures_a_data_set_and_reports_broken_rows(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [
        "study",
        "plausibility",
        "--data",
        str(folder),
        "--methods",
        "gradient_x_input",
        "--out",
        str(out),
        "--device",
        "cpu",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "Row 3: The evidence 9 to 99" in result.output
    table = json.loads((out / PLAUSIBILITY_FILE).read_text(encoding="utf-8"))
    assert table["data"]["counted"] == 2
    assert [row["method"] for row in table["rows"]] == [POSITION, "gradient_x_input"]
    assert plausibility_markdown(table) in result.output


@pytest.mark.skipif(not (BUNDLES / "sst2" / PLAUSIBILITY_FILE).is_file(), reason="no record is shipped")
def test_the_model_card_shows_the_shipped_record_beside_its_command(tmp_path: Path) -> None:
    shutil.copytree(BUNDLES / "sst2", tmp_path / "sst2", ignore=shutil.ignore_patterns("*.safetensors"))
    path = tmp_path / "sst2" / PLAUSIBILITY_FILE
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    card = model_card(tmp_path / "sst2")
    assert table["command"] in card
    for row in table["rows"]:
        assert f"{row['auprc']['mean']:.3f}" in card
        assert row["method"] in (*METHODS.ids, POSITION)
    path.unlink()
    assert "## Plausibility" not in model_card(tmp_path / "sst2")
