"""Seconds and memory by size of the model, on small models, and the stored document."""

import json
import math

import pytest
import torch

from app.compare import state
from explainers.comparison.decision import decide
from explainers.errors import ExplanationError
from explainers.models.optimisation import computes_in_bfloat16
from explainers.results.decision import Settings
from explainers.studies.speed import sizes as measured
from explainers.studies.speed.command import SIZES_DOCUMENT, SIZES_STORED
from explainers.studies.speed.sizes import ModelSize, comparison, random_model, rows, sizes_document, text_of

SMALL = (ModelSize("encoder", 32, 1, 2, 64), ModelSize("decoder", 32, 1, 2, 64, causal=True))


@pytest.mark.parametrize("size", SMALL, ids=lambda size: size.name)
def test_a_model_of_a_size_has_its_numbers(size: ModelSize) -> None:
    model = random_model(size, torch.device("cpu"))
    assert model.last_token == size.causal
    assert model.base.config.hidden_size == 32
    text = text_of(12)
    assert len(set(text.split())) == 12
    assert len(model.encode(text).ids) == 14
    again = random_model(size, torch.device("cpu"))
    assert again.version == model.version


def test_the_rows_have_every_method_and_both_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "SIZES", SMALL)
    monkeypatch.setattr(measured, "SAMPLES", 20)
    monkeypatch.setattr(measured, "STEPS", 2)
    monkeypatch.setattr(measured, "DEFAULT_SECONDS", math.inf)
    precisions = ["float32", *["bfloat16"] * computes_in_bfloat16(torch.device("cpu"))]
    shown: list[str] = []
    found = list(rows(["decoder", "encoder"], [3], "cpu", shown.append))
    assert [line.partition(", ")[0] for line in shown[:2]] == ["decoder: made", "decoder"]
    assert [line.rpartition(", ")[0] for line in shown[-4:]] == [
        f"encoder, 3 words, {precisions[-1]}: {part}" for part in ("pass", "methods", "budget", "settled")
    ]
    assert [(row["size"], row["words"], row["device"]) for row in found] == [
        ("decoder", 3, "CPU"),
        ("encoder", 3, "CPU"),
    ]
    for row in found:
        part = row["float32"]
        assert {"lime", "kernel_shap", "occlusion", "integrated_gradients"} <= set(part["methods"])
        assert part["methods"]["occlusion"]["passes"] == 4  # the whole text, and without each word
        assert part["methods"]["occlusion"]["GB"] is None
        assert 0 < part["settled"]["first column"] <= part["settled"]["seconds"]
        assert part["settled"]["complete"] == part["budget"]["complete"] == 6
    document = sizes_document(found)
    assert "| decoder | 3 | float32 |" in document
    assert "study sizes --sizes 'encoder' --words 3 --device cpu --threads 1\n" in document


def test_a_method_that_cannot_explain_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(SMALL[0], torch.device("cpu"))
    monkeypatch.setattr(type(model), "attention_received", _refused)
    monkeypatch.setattr(measured, "SAMPLES", 10)
    row = measured.measured(model, 2)
    assert row["float32"]["methods"]["attention_mean"] == {"reason": "No attention."}
    assert "Attention, mean: No attention." in sizes_document([{"size": "encoder", **row}])


def test_a_comparison_that_has_no_time_completes_fewer_methods() -> None:
    model = random_model(SMALL[0], torch.device("cpu"))
    decision, _ = decide(model, text_of(6), settings=Settings())
    assert comparison(model, decision, 0.0)["complete"] < comparison(model, decision)["complete"]


def test_the_limit_is_that_of_the_page() -> None:
    assert list(state.BUDGETS)[1] == measured.DEFAULT_SECONDS


def _refused(*_: object, **__: object) -> None:
    raise ExplanationError("No attention.")


def test_an_unknown_size_is_a_sentence() -> None:
    with pytest.raises(ExplanationError, match=r"There is no size 'huge'\. Choose from: MiniLM-L6, BERT-base"):
        next(rows(["huge"], [3], "cpu"))


def test_the_document_is_that_of_the_stored_rows() -> None:
    stored = json.loads(SIZES_STORED.read_text(encoding="utf-8"))
    assert SIZES_DOCUMENT.read_text(encoding="utf-8") == sizes_document(stored)
