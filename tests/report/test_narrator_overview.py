"""Which narrator to use, from the evaluations' rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from explainers.methods.narrator_specs import NARRATORS
from explainers.report import narrator_overview
from explainers.report import narrator_overview as records
from explainers.report.narrator_overview import advice, overview_cells, track_record
from explainers.training.artifacts import Artifact


def row(method: str, column: str, mean: float, width: float = 0.02) -> dict[str, Any]:
    return {"method": method, column: {"mean": mean, "low": mean - width, "high": mean + width}}


RULES = [row("cause_phi", "reason_right", 0.05), row("cause_tokens", "reason_right", 0.92)]
NO_RULES = [
    row("cause", "picked_of_ten", 0.10),
    row("cause_phi_tokens", "picked_of_ten", 0.97),
    row("cause_tokens", "picked_of_ten", 0.96),
]


def test_every_narrator_has_a_row_with_what_is_known_of_it() -> None:
    cells = {cell["narrator"]: cell for cell in overview_cells({"nli": NO_RULES, "scenes": RULES})}
    assert list(cells) == [spec.name for spec in NARRATORS]
    tokens = cells["CAuSE (tokens)"]
    assert (tokens["picks its input of ten, nli"], tokens["right, scenes"]) == ("96 %", "92 %")
    assert tokens["reads"] == "the states of all tokens too"
    assert (cells["φ"]["picks its input of ten, nli"], cells["φ"]["right, scenes"]) == ("", "5 %")
    assert cells["φ"]["ties its sentence to the model"] == "nothing"
    assert cells["φ (words)"]["reads"] == "the words"


def test_the_best_are_named_with_those_that_may_be_as_good() -> None:
    first, second = advice({"scenes": RULES, "nli": NO_RULES})
    assert first == (
        "On scenes reasons are right most often from CAuSE (tokens) (92 %), of the unseen inputs that the model "
        "classified correctly."
    )
    assert second.endswith("come most often from φ (tokens) (97 %) and CAuSE (tokens) (96 %).")
    assert advice({"mine": [{"method": "cause"}]}) == []


SHARE = {"mean": 0.82, "low": 0.78, "high": 0.86}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "made" / "narrative"
    folder.mkdir(parents=True)
    monkeypatch.setattr(records, "BUNDLES", tmp_path)
    monkeypatch.setattr(records, "bundle_names", lambda: ("made",))
    for name in ("cause", "cause_phi"):
        card = {"recipe": {}, "model": {"version": "1"}, "sha256": ""}
        (folder / f"{name}.json").write_text(json.dumps(card))
    artifacts = [Artifact(name, "", folder / f"{name}.safetensors") for name in ("cause", "cause_phi")]
    monkeypatch.setattr(records, "available_artifacts", lambda *_: artifacts)
    return folder


def written(folder: Path, **row: object) -> None:
    table = {"rows": [{"method": "cause", **row}], "data": {"pairs": 1300}, "model": {"version": "1"}}
    (folder / "evaluation.json").write_text(json.dumps(table))


def test_right_reasons_are_told_with_their_interval(folder: Path) -> None:
    written(folder, reason_right=SHARE, reason_true=SHARE)
    record = track_record("made", "cause")
    assert record is not None
    assert record.answer == "82 %"
    assert "classified correctly, 82 % [78, 86] got a reason that was right" in record.detail
    assert "Of all 1,300, 82 % [78, 86] got one that was true." in record.detail
    assert track_record("made", "cause_phi") is None  # not evaluated


def test_where_nothing_checks_reasons_it_says_so(folder: Path) -> None:
    written(folder, own_words=SHARE, other_words=SHARE, picked_of_ten=SHARE)
    record = track_record("made", "cause")
    assert record is not None
    assert record.answer == "not known"
    assert "82 % [78, 86] of their content words stood in the input itself, and 82 % in another" in record.detail


def test_a_new_evaluation_is_read(folder: Path) -> None:
    written(folder)
    assert track_record("made", "cause") is None  # an earlier evaluation has neither
    written(folder, reason_right=SHARE, reason_true=SHARE)
    assert track_record("made", "cause") is not None


def test_ones_own_weights_and_other_models_have_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, reason_right=SHARE, reason_true=SHARE)
    monkeypatch.setattr(records, "available_artifacts", lambda *_: [Artifact("cause", "", Path("store/cause.x"))])
    assert track_record("made", "cause") is None
    assert track_record("owner/model", "cause") is None


def test_an_evaluation_of_another_version_says_nothing(folder: Path) -> None:
    written(folder, reason_right=SHARE, reason_true=SHARE)
    card = {"recipe": {}, "model": {"version": "2"}, "sha256": ""}
    (folder / "cause.json").write_text(json.dumps(card))
    assert track_record("made", "cause") is None


def test_where_readers_judged_the_sentences_of_these_weights_they_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written(folder, own_words=SHARE, other_words=SHARE, picked_of_ten=SHARE)
    found = {"readers": ["one", "two"], "inputs": 60, "grammatical": {**SHARE, "n": 60}, "holds": {**SHARE, "n": 60}}
    where = {"mean": 0.46, "low": 0.33, "high": 0.6, "n": 48}
    entry = {"writer": "cause", "sha256": "", **found, "holds_where_right": where}
    smaller = {**entry, "inputs": 20, "holds_where_right": SHARE}
    monkeypatch.setattr(narrator_overview, "SUMMARY", tmp_path / "summary.json")
    narrator_overview.SUMMARY.write_text(json.dumps([smaller, entry, {**entry, "sha256": "other", "inputs": 90}]))
    record = track_record("made", "cause")
    assert record is not None
    assert (record.answer, record.right) == ("46 %", 0.46)
    assert "of 48 reasons where the model was right, 46 % [33, 60] hold" in record.detail
    assert "of all 60, 82 % [78, 86]" in record.detail
    assert "Mean of 2 readers; " in record.detail
    assert track_record("made", "cause_phi") is None  # nobody read its sentences
    written(folder, reason_right=SHARE, reason_true=SHARE)
    record = track_record("made", "cause")
    assert record is not None
    assert record.right == 0.82  # rules have judged more of them


def test_a_narrator_that_was_measured_apart_has_its_record_too(folder: Path) -> None:
    written(folder, reason_right=SHARE, reason_true=SHARE)
    other = {"method": "cause_phi", "reason_right": SHARE, "reason_true": SHARE}
    table = {"rows": [other], "data": {"pairs": 60}, "model": {"version": "1"}}
    (folder / "evaluation-more.json").write_text(json.dumps(table))
    first, second = track_record("made", "cause"), track_record("made", "cause_phi")
    assert first is not None
    assert second is not None
    assert ("1,300" in first.detail, "60" in second.detail) == (True, True)
