from pathlib import Path

import pytest

from explainers.studies.architectures import (
    BATCH,
    CONTROL,
    FAMILIES,
    FITTED,
    LEARNED,
    METHODS,
    PLANTED,
    STEPS,
    documented,
    measured,
    texts_of,
)

FAMILY = {family.kind: family for family in FAMILIES}


def test_every_other_text_has_the_planted_word_once() -> None:
    for text, label in texts_of(100, "any"):
        assert text.split().count(PLANTED) == label


def test_no_text_that_is_judged_was_trained_on() -> None:
    trained = {text for step in range(STEPS) for text, _ in texts_of(BATCH, f"training 0, step {step}")}
    for part, count in (("held out", 200), ("fitted", FITTED), ("explained", 40)):
        texts = {text for text, _ in texts_of(count, part)}
        assert len(texts) == count
        assert not texts & trained


@pytest.mark.slow
def test_the_planted_word_is_found_in_a_small_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("explainers.studies.architectures.FITTED", 24)
    row = measured(FAMILY["gpt2"], tmp_path, inputs=1, seed=0)
    assert row["accuracy"] > 0.95
    assert row["erasure"] == "delete"
    assert set(row["reasons"]) == {"decompx", "globenc", "alti"}  # its layers are normalised before their parts
    assert set(row["ranks"]) == {*METHODS, *LEARNED} - set(row["reasons"])
    assert row["reasons"]["alti"].startswith("The layers of the model are not built like BERT's")
    assert row["ranks"]["occlusion"] == [1.0]
    assert CONTROL not in row["ranks"]


@pytest.mark.slow
def test_the_planted_word_is_found_in_a_small_encoder_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("explainers.studies.architectures.FITTED", 24)
    row = measured(FAMILY["t5"], tmp_path, inputs=1, seed=0)
    assert row["accuracy"] > 0.95
    assert row["erasure"] == "delete"  # T5 has no mask token
    assert set(row["ranks"]) == {*METHODS, *LEARNED} - {"decompx", "globenc", "alti"}
    assert row["ranks"]["occlusion"] == [1.0]
    table = documented({"command": "run", "rows": [row]}).partition("## Encoder-decoders")[2]
    assert "| `t5` |" in table.partition("## What does not work")[0]


def test_a_family_that_cannot_be_opened_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.studies.architectures.STEPS", 1)
    row = measured(FAMILY["xlnet"], tmp_path, inputs=1, seed=0)
    assert row["refused"].startswith("It cannot be explained here: it expects padding in front of a text")
    document = documented({"command": "run", "rows": [row]})
    assert "| `xlnet` | all | It cannot be explained here: it expects padding" in document


def test_a_method_without_ranks_has_a_dash_and_its_reason() -> None:
    row = {
        "family": "gpt2",
        "decoder": True,
        "accuracy": 1.0,
        "erasure": "delete",
        "ranks": {"occlusion": [1.0, 2.0]},
        "reasons": {"ivra": "No queries.", "alti": "No BERT.", "decompx": "No BERT."},
    }
    document = documented({"command": "run", "rows": [row]})
    assert "| `gpt2` | 1.00 | delete | – | – | – | – | 1.5 | – | – | – | – | – | – | – | – |" in document
    assert "| `gpt2` | IvRA | No queries. |" in document
    assert "| `gpt2` | DecompX, ALTI | No BERT. |" in document
