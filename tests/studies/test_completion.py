"""The adapter of a prompt, and the document about the prompts, on a small language model."""

import json
from pathlib import Path

import pytest
import torch

from explainers import load
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.set_spec import Shard
from explainers.models.prompt import Prompt
from explainers.models.prompted.model import PromptedModel
from explainers.studies.architectures import texts_of
from explainers.studies.completion import measure
from explainers.studies.completion import train as training
from explainers.studies.completion.command import DOCUMENT, STORED
from explainers.studies.completion.measure import (
    METRICS,
    completion_document,
    measured_methods,
    prefix_ratio,
    record_answers,
    rows_of,
)
from explainers.studies.completion.train import (
    AdapterRecipe,
    batches,
    chosen_rows,
    collated,
    train,
    with_gaps,
)
from explainers.training.artifacts import Artifact
from tests.models.prompted.conftest import KINDS, language_model

PROMPT = Prompt("the film was very long {text} and there was", {"without": "old", "with": "new"})
RECIPE = AdapterRecipe(rank=2, examples=96, batch=8, learning_rate=2e-2, longest=40)

FITS = [
    {"method": "aml", "texts": {"learned from": 540}, "command": "fit aml"},
    {"method": "ivra", "texts": {"learned from": 540}, "command": "fit ivra"},
    {
        "method": "ciem",
        "texts": {"learned from": 900},
        "command": "fit ciem",
        "shipped": False,
        "warnings": ["No better than random orders."],
    },
]


class Interrupted(Exception):
    pass


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PromptedModel:
    from explainers.installation import STORE_VARIABLE
    from explainers.studies.architectures import tokenizer_of

    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    language_model("llama").save_pretrained(tmp_path / "llama")
    tokenizer_of(KINDS["llama"]).save_pretrained(tmp_path / "llama")
    loaded = load(str(tmp_path / "llama"), prompt=PROMPT, device="cpu")
    assert isinstance(loaded, PromptedModel)
    return loaded


@pytest.fixture
def examples() -> list[Example]:
    return [Example(text, label=label) for text, label in texts_of(300, "adapter")]


def silent(_line: str) -> None:
    pass


def test_rows_are_texts_of_enough_words_that_fit(model: PromptedModel, examples: list[Example]) -> None:
    rows = chosen_rows(model, [Example("too short", label=1), *examples], RECIPE)
    assert len(rows) == RECIPE.examples
    assert rows == chosen_rows(model, [Example("too short", label=1), *examples], RECIPE)
    template = len(model.fixed)
    assert all(template + training.SHORTEST <= len(ids) <= RECIPE.longest for ids, _, _ in rows)
    ready = batches(rows, RECIPE)
    assert sorted(row for batch in ready for row in batch) == sorted(rows)
    assert max(len(batch) for batch in ready) == RECIPE.batch


def test_words_are_deleted_and_the_template_stays(model: PromptedModel, examples: list[Example]) -> None:
    import random

    row = chosen_rows(model, examples, RECIPE)[0]
    assert with_gaps(row, 0.0, random.Random(0)) == list(row[0])
    assert tuple(with_gaps(row, 1.0, random.Random(0))) == model.fixed
    ids, attention = collated([[1, 2, 3], [4]], padding=9)
    assert ids.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert attention.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_an_interrupted_training_ends_as_another(
    model: PromptedModel, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "EVERY", 3)
    rows = chosen_rows(model, examples, RECIPE)
    before = {name: weight.clone() for name, weight in model.module.state_dict().items()}
    whole = train(model, rows, RECIPE, tmp_path / "whole", silent)

    def interrupt(line: str) -> None:
        if line.startswith("step 6 "):
            raise Interrupted

    with pytest.raises(Interrupted):
        train(model, rows, RECIPE, tmp_path / "parts", interrupt)
    shown: list[str] = []
    parts = train(model, rows, RECIPE, tmp_path / "parts", shown.append)
    assert [line.split()[1] for line in shown] == ["9", "12"]
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert all(torch.equal(before[name], weight) for name, weight in model.module.state_dict().items())
    assert {name.rpartition(".")[2] for name in whole} == {"down", "up"}
    assert all(float(weight.abs().max()) > 0 for weight in whole.values())


def test_the_adapter_learns(
    model: PromptedModel, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "EVERY", 1)
    losses: list[float] = []
    rows = chosen_rows(model, examples, RECIPE) * 6
    train(model, rows, RECIPE, tmp_path, lambda line: losses.append(float(line.split("loss ")[1].split(",")[0])))
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])


def test_the_document_has_every_prompt_and_method(
    model: PromptedModel, examples: list[Example], tmp_path: Path
) -> None:
    done = list(record_answers(model, "small", examples[:4], 2, tmp_path))
    assert done == [1, 2, 3, 4]
    rows = rows_of(tmp_path, "small")
    assert list(record_answers(model, "small", examples[:4], 2, tmp_path)) == done
    assert rows == rows_of(tmp_path, "small")
    assert [bool(row["metrics"]) for row in rows] == [True, True, False, False]
    assert list(record_answers(model, "small", examples[:4], 3, tmp_path)) == done
    assert [bool(row["metrics"]) for row in rows_of(tmp_path, "small")] == [True, True, True, False]
    assert rows_of(tmp_path, "small")[:2] == rows[:2]
    assert set(rows[0]["metrics"]["random"]) == set(METRICS)
    assert "self_ranking" in rows[0]["metrics"]
    prefix = prefix_ratio(model, examples[0])
    assert prefix["prefix"] == 5
    assert prefix["ratio"] > 0
    text = completion_document(
        {
            "command": "study completion",
            "card": {
                "recipe": {"rank": 2, "examples": 96, "seed": 0},
                "splits": {"validation": 4},
                "accuracy": {"validation": {"untuned": 0.5, "tuned": 0.75}},
                "command": "study completion-train",
            },
            "prompts": {
                "small": {"rows": rows, "prefix": prefix, "prior": {"without": 0.25, "with": 0.75}, "fits": FITS}
            },
        }
    )
    assert "## `smollm2:small`, 2 inputs explained" in text
    assert "without 0.25, with 0.75" in text
    assert all(f"| `{method}` |" in text for method in rows[0]["metrics"])
    assert "0.500 without it and 0.750 with it" in text
    assert "study completion-train" in text
    assert "Computed on: CPU (2)." in text
    assert "without labels: AML and IvRA to 540 and CIEM to 900 sentences of SST-2" in text
    assert "The weights of CIEM do not come with Crosslight." in text
    assert "The card of CIEM's fit warns: No better than random orders." in text
    assert "fit aml\nfit ivra" in text


def test_rows_of_shards_are_those_of_one_run(model: PromptedModel, examples: list[Example], tmp_path: Path) -> None:
    inputs = examples[:5]
    list(record_answers(model, "small", inputs, 2, tmp_path / "one"))
    for number in (2, 1):
        assert list(record_answers(model, "small", inputs, 2, tmp_path / "parts", Shard(number, 2)))[-1] == 4 - number
    rows = rows_of(tmp_path / "parts", "small")
    assert rows == rows_of(tmp_path / "one", "small")
    assert list(record_answers(model, "small", inputs, 3, tmp_path / "parts")) == [1, 2, 3, 4, 5]
    more = rows_of(tmp_path / "parts", "small")
    assert [bool(row["metrics"]) for row in more] == [True, True, True, False, False]
    assert [row for row in more if row["input"] != 2] == [row for row in rows if row["input"] != 2]


def test_shards_of_different_runs_are_not_put_together(
    model: PromptedModel, examples: list[Example], tmp_path: Path
) -> None:
    list(record_answers(model, "small", examples[:4], 0, tmp_path, Shard(1, 2)))
    with pytest.raises(ExplanationError, match="belong to different runs"):
        list(record_answers(model, "small", examples[4:8], 0, tmp_path, Shard(2, 2)))


def test_the_methods_that_were_fitted_are_measured_with_the_others(
    model: PromptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = measured_methods(model)
    fitted = (Artifact("ivra", "comp-softmax", Path("ivra.safetensors")),)
    monkeypatch.setattr(measure, "available_artifacts", lambda *_: fitted)
    assert [spec.id for spec in measured_methods(model)] == [*(spec.id for spec in others), "ivra"]


def test_the_document_says_what_is_stored() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == completion_document(json.loads(STORED.read_text(encoding="utf-8")))
