"""Model cards: what the command `cards` writes from the JSON files of a bundle."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.models.bundle_cards import BUNDLES, bundle_names, read_card
from explainers.report.evaluation_tables import evaluation_markdown, evidence_markdown
from explainers.report.narrator_tables import narrator_cells
from explainers.report.tables import markdown_table
from explainers.studies.cards.model_card import MODEL_CARD, model_card

pytestmark = pytest.mark.skipif(not bundle_names(), reason="there is no bundle")
every_bundle = pytest.mark.parametrize("name", bundle_names())


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """A folder with the JSON files of all bundles, without cards."""
    for name in bundle_names():
        shutil.copytree(BUNDLES / name, tmp_path / name, ignore=shutil.ignore_patterns("*.safetensors", MODEL_CARD))
    return tmp_path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["study", "cards", *map(str, arguments)])
    return result.exit_code, result.output


def table_of(name: str, file: str) -> dict[str, Any]:
    path = BUNDLES / name / file
    if not path.is_file():
        pytest.skip(f"{name} has no {file}")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


def test_the_committed_cards_are_what_the_command_writes() -> None:
    code, output = run("--check")
    assert code == 0, output


def test_the_command_writes_every_card_once(copies: Path) -> None:
    assert run("--check", "--bundles", copies)[0] == 1
    code, output = run("--bundles", copies)
    assert code == 0
    assert output.count("written: ") == len(bundle_names())
    assert all((copies / name / MODEL_CARD).is_file() for name in bundle_names())
    assert run("--bundles", copies) == (0, "")
    assert run("--check", "--bundles", copies)[0] == 0


def test_check_reports_the_card_that_differs_and_leaves_it(copies: Path) -> None:
    run("--bundles", copies)
    changed = copies / bundle_names()[0] / MODEL_CARD
    changed.write_text("edited by hand", encoding="utf-8")
    code, output = run("--check", "--bundles", copies)
    assert code == 1
    assert re.findall(r"differs: (.+)", output) == [str(changed)]
    assert changed.read_text(encoding="utf-8") == "edited by hand"


def test_a_changed_result_changes_the_card(copies: Path) -> None:
    run("--bundles", copies)
    path = copies / bundle_names()[0] / "card.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    card["accuracy"]["test"] = 0.1234
    path.write_text(json.dumps(card), encoding="utf-8")
    assert run("--check", "--bundles", copies)[0] == 1
    assert "| 12.3 % |" in model_card(path.parent)


def test_a_damaged_card_is_one_sentence(copies: Path) -> None:
    (copies / bundle_names()[0] / "card.json").write_text("{}", encoding="utf-8")
    code, output = run("--bundles", copies)
    assert code == 2
    assert "card.json cannot be read" in output


@every_bundle
def test_it_has_the_accuracy_and_the_command_of_the_training(name: str) -> None:
    card = read_card(BUNDLES / name)
    page = model_card(BUNDLES / name)
    for split in ("test", "validation"):
        assert f"| {split} | {card['splits'][split]:,} | {100 * card['accuracy'][split]:.1f} % |" in page
    assert f"```sh\n{card['command']}\n```" in page


@every_bundle
def test_it_has_the_evaluation_with_its_command(name: str) -> None:
    table = table_of(name, "evaluation.json")
    page = model_card(BUNDLES / name)
    assert f"```sh\n{table['command']}\n```" in page
    for erasure in {row["erasure"] for row in table["rows"]}:
        assert evaluation_markdown(table["rows"], erasure) in page


def test_it_has_the_known_evidence_only_where_there_is_some() -> None:
    rows = table_of("scenes", "evaluation.json")["rows"]
    assert evidence_markdown(rows, "mask") in model_card(BUNDLES / "scenes")
    assert "Known evidence" not in model_card(BUNDLES / "sst2")


@every_bundle
def test_it_has_the_narrators_with_their_command(name: str) -> None:
    table = table_of(name, "narrative/evaluation.json")
    page = model_card(BUNDLES / name)
    assert f"```sh\n{table['command']}\n```" in page
    assert all(f"| {line['method']} | {line['agreement F1 ↑']} |" in page for line in narrator_cells(table["rows"]))


@every_bundle
def test_it_has_every_set_of_weights_with_its_command(name: str) -> None:
    page = model_card(BUNDLES / name)
    for path in (BUNDLES / name).glob("*/*.safetensors"):
        weights = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        assert f"`{weights['command']}`" in page
        assert f"| {weights['parameters']:,} |" in page
        assert all(warning in page for warning in weights.get("warnings", ()))


def test_a_table_has_every_column_and_escapes_pipes() -> None:
    rows = [{"a": "1|2"}, {"a": "3", "b": "4"}]
    assert markdown_table(rows) == "| a | b |\n|---|---|\n| 1\\|2 | – |\n| 3 | 4 |"
