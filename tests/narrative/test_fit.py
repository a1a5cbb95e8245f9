"""From the data on the disk to a narrator with a card."""

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from explainers.datasets import text_sets
from explainers.datasets.example import Example
from explainers.datasets.text_sets import DEV, TEST
from explainers.errors import DataUnavailable, ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import sha256
from explainers.narrative import fit
from explainers.narrative.fit import RUNS, make, read_parts, recipe_for, run_folder
from explainers.narrative.narrate import narrate
from explainers.narrative.recipe import NarratorRecipe
from explainers.training.artifacts import own_folder
from explainers.training.spec import FitSpec

HEADER = "unique_key\tlabel\tpremise\thypothesis\texplanation1\texplanation2\texplanation3"
LABELS = ("entailment", "neutral", "contradiction")
WORDS = ("good", "bad", "dull", "very good", "not bad", "unwatchable")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_language: None) -> None:
    """Runs and store are the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    read = text_sets.read_esnli
    monkeypatch.setattr(text_sets, "read_esnli", lambda folder: read(folder, validation=4))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "esnli"
    folder.mkdir(parents=True)
    for name, first, images, word in ((DEV, 0, 12, "film"), (TEST, 50, 6, "zebra")):
        rows = [
            f"{first + n}.jpg#0r1n\t{label}\tthe {word} {n} was {WORDS[n % 6]}\ta plot {label}"
            f"\tThe {word} was {label}ish .\tSo .\tYes ."
            for n in range(images)
            for label in LABELS
        ]
        (folder / name).write_bytes(gzip.compress("\n".join([HEADER, *rows]).encode()))
    return folder


def fit_spec(data: Path, method: str = "cause", **fields: Any) -> FitSpec:
    return FitSpec(method, "small", str(data), **{"settings": (("epochs", "1"), ("batch", "8")), **fields})


def test_settings_make_the_recipe_and_the_name_its_losses() -> None:
    recipe = recipe_for(FitSpec("cause_phi", "nli", seed=3, settings=(("leak", "leaky"), ("epochs", "2"))))
    assert recipe == NarratorRecipe("phi", "leaky", words=False, inputs=False, epochs=2, seed=3)
    assert [recipe_for(FitSpec(method, "nli")).losses for method in ("cause_phi_ts", "cause")] == ["phi_ts", "cause"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((("losses", "phi"),), r"Omit them from --set"),
        ((("seed", "1"),), r"Omit them from --set"),
        ((("leak", "open"),), r"leak of cause must be 'closed', 'leaky' or 'sentence', not 'open'"),
        ((("depth", "1"),), "cause has no setting 'depth'"),
        ((("epochs", "0"),), "must be at least 1"),
    ],
)
def test_a_setting_that_does_not_exist_gets_a_sentence(settings: tuple[tuple[str, str], ...], message: str) -> None:
    with pytest.raises(ExplanationError, match=message):
        recipe_for(FitSpec("cause", "nli", settings=settings))


def test_every_training_has_its_own_folder() -> None:
    specs = [FitSpec("cause", "nli"), FitSpec("cause", "nli", seed=1), FitSpec("cause_phi", "nli")]
    specs += [FitSpec("cause", "nli", settings=(("language", "../x/y"),)), FitSpec("cause", "sst2")]
    folders = [run_folder(spec) for spec in specs]
    assert len(set(folders)) == len(specs)
    assert all(folder.parent == RUNS for folder in folders)


def test_the_command_says_how_to_get_the_same_weights() -> None:
    result = FitSpec("cause", "nli", "/somewhere", seed=2, settings=(("leak", "leaky"),)).command
    assert result == "python -m explainers fit cause --model nli --data DATA --seed 2 --set leak=leaky"


def test_nothing_of_the_test_is_learned_from_or_watched(model: FrozenModel, data: Path) -> None:
    parts = read_parts(fit_spec(data), model)
    assert (len(parts.training), len(parts.validation)) == (30, 6)
    assert not any("zebra" in sentence for item in (*parts.training, *parts.validation) for sentence in item.sentences)


def test_more_examples_need_a_generator(model: FrozenModel, data: Path) -> None:
    spec = replace(fit_spec(data), settings=(*fit_spec(data).settings, ("more_examples", "5")))
    with pytest.raises(DataUnavailable, match="Omit --set more_examples"):
        read_parts(spec, model)


def test_nothing_of_the_test_is_in_the_vocabulary(model: FrozenModel, data: Path) -> None:
    fit.warmed_up_language_model(fit_spec(data), model)
    words = (RUNS / "language-esnli.words.json").read_text()
    assert "▁film" in words
    assert "zeb" not in words


def test_a_model_of_other_classes_is_refused_before_the_warm_up(model: FrozenModel, data: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"classes of small are not available\. e-SNLI is about others"):
        make(fit_spec(data), replace(model, labels=("a", "b", "c")), Path("run"), None, resume=False)
    assert not RUNS.exists()


def test_a_model_without_a_head_is_refused_before_the_warm_up(bert: FrozenModel, data: Path) -> None:
    with pytest.raises(ExplanationError, match="no head of several layers"):
        make(fit_spec(data), replace(bert, labels=LABELS), Path("run"), None, resume=False)
    assert not RUNS.exists()


def test_a_narrator_is_written_with_its_card_and_speaks(model: FrozenModel, data: Path) -> None:
    before = fingerprint(model)
    card = make(fit_spec(data), model, Path("run"), None, resume=False)
    path = own_folder("small", "1", "narrative") / "cause.safetensors"
    assert json.loads(path.with_suffix(".json").read_text()) == json.loads(json.dumps(card))
    assert card["sha256"] == sha256(path)
    assert card["recipe"] == asdict(recipe_for(fit_spec(data)))
    assert card["items"]["learned from"] == 30
    assert fingerprint(model) == before
    said = narrate(model, model.encode(Example("the film was good", "a plot")), "cause")
    assert said.text
    assert len(said.read) == 3


def test_a_narrator_that_reads_tokens_is_written_and_reads_them_again(model: FrozenModel, data: Path) -> None:
    settings = (("layer", "1"), ("epochs", "2"), ("phi_epochs", "1"), ("batch", "8"))
    card = make(fit_spec(data, "cause_tokens", settings=settings), model, Path("run"), None, resume=False)
    assert (card["recipe"]["layer"], card["validation"]["epoch"]) == (1, 2)
    assert narrate(model, model.encode(Example("the film was good", "a plot")), "cause_tokens").text


@pytest.mark.parametrize(
    ("method", "layer", "message"),
    [("cause_tokens", "0", "give its number with --set layer=2"), ("cause", "1", "Omit --set layer")],
)
def test_only_narrators_that_read_tokens_have_a_layer(method: str, layer: str, message: str) -> None:
    with pytest.raises(ExplanationError, match=message):
        recipe_for(FitSpec(method, "nli", settings=(("layer", layer),)))


def test_what_a_narrator_reads_is_no_setting() -> None:
    spec = FitSpec("cause_phi_words", "nli")
    assert recipe_for(spec).reads == "words"
    assert recipe_for(replace(spec, method="cause_phi_tokens")).reads == "states"
    with pytest.raises(ExplanationError, match="sets its losses and what it reads"):
        recipe_for(replace(spec, settings=(("reads", "states"),)))


def test_a_narrator_to_start_from_must_have_been_fitted(model: FrozenModel, data: Path) -> None:
    settings = (("start", "cause_phi"), ("epochs", "1"), ("batch", "8"))
    with pytest.raises(ExplanationError, match="it has not been fitted to small"):
        make(fit_spec(data, settings=settings), model, Path("run"), None, resume=False)
    make(fit_spec(data, "cause_phi"), model, Path("phi"), None, resume=False)
    card = make(fit_spec(data, settings=settings), model, Path("run"), None, resume=False)
    assert card["recipe"]["start"] == card["started from"]["method"] == "cause_phi"
    with pytest.raises(ExplanationError, match="Unknown narrator 'phi'"):
        make(fit_spec(data, settings=(("start", "phi"),)), model, Path("run"), None, resume=False)


def test_adapters_are_for_pretrained_language_models() -> None:
    with pytest.raises(ExplanationError, match="Adapters are for pretrained language models; small is trained here"):
        recipe_for(FitSpec("cause_phi", "nli", settings=(("adapter_rank", "4"),)))


def test_the_same_training_gives_the_same_file(model: FrozenModel, data: Path) -> None:
    first = make(fit_spec(data), model, Path("one"), Path("a"), resume=False)
    torch.manual_seed(7)
    second = make(fit_spec(data), model, Path("two"), Path("b"), resume=False)
    other = make(fit_spec(data, seed=1), model, Path("three"), Path("c"), resume=False)
    assert first["sha256"] == second["sha256"] != other["sha256"]


def test_the_language_is_warmed_up_once(model: FrozenModel, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit.warmed_up_language_model(fit_spec(data), model)

    def again(*_args: object) -> None:
        raise AssertionError("warmed up twice")

    monkeypatch.setattr(fit, "_warm_up", again)
    phi, language, _ = fit.warmed_up_language_model(fit_spec(data, "cause_phi"), model)
    assert phi.get_input_embeddings().num_embeddings == language.size
