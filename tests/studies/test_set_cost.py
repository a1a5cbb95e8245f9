import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.record_file import read_records
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.studies import set_cost
from explainers.studies.set_cost import BEGIN, DOCUMENT, END, FILE, measure, tables_of, with_tables

TEXTS = ("the film was very good", "the film was dull", "very good , not bad")


@pytest.fixture
def model(bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch) -> FrozenModel:
    """Of which three methods run by default."""
    monkeypatch.setattr(
        "explainers.evaluation.set_spec.applicable",
        lambda specs, _: [spec for spec in specs if spec.id in ("occlusion", "lime", "gradient_x_input")],
    )
    return bag({"good": 2.0, "bad": -2.0, "film": 0.1, "the": 0.0, "was": 0.0, "dull": -1.0, "very": 0.5, "not": -0.2})


def test_both_ways_are_kept_and_compared_input_by_input(model: FrozenModel, tmp_path: Path) -> None:
    rows = [InputRow(str(number), text) for number, text in enumerate(TEXTS)]
    lines: list[str] = []
    measure(model, rows, tmp_path, lines.append)
    records = read_records(tmp_path / FILE)
    assert [(record["id"], record["way"]) for record in records] == [
        (row.id, way) for row in rows for way in ("brief", "thorough")
    ]
    measure(model, rows, tmp_path, lines.append)  # nothing is explained again
    assert read_records(tmp_path / FILE) == records
    tables = tables_of(records, "study set-cost")
    assert "3 held-out inputs of 5 units on average" in tables
    occlusion = re.search(r"^\| Occlusion \|.*$", tables, re.MULTILINE)
    assert occlusion is not None
    assert [cell.strip() for cell in occlusion[0].split("|")][4:11:3] == ["0", "0", "0"]


def test_the_tables_stand_between_the_marks_of_the_document() -> None:
    assert with_tables(f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"
    with pytest.raises(ExplanationError, match="needs the marks"):
        with_tables("a", "new")
    assert with_tables(DOCUMENT.read_text(encoding="utf-8"), "new").count("new\n") >= 1


def test_the_command_writes_the_document(model: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "load", lambda _name, **_: model)
    monkeypatch.setattr(set_cost, "rows_of", lambda *_: [InputRow(text, text) for text in TEXTS[:2]])
    document = tmp_path / "evaluate.md"
    document.write_text(f"# Sets\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    options = ("--texts", "2", "--out", str(tmp_path), "--document", str(document))
    result = CliRunner().invoke(app, ("study", "set-cost", *options))
    assert result.exit_code == 0, result.stderr
    assert "study set-cost --model sst2 --texts 2" in document.read_text(encoding="utf-8")
