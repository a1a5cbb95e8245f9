"""From the data on the disk to a narrator with a card."""

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from explainers.datasets import esnli
from explainers.datasets.esnli import DEV, TEST
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.learned.weights import STORE_VARIABLE
from explainers.models.base import sha256
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.narrative import command
from explainers.narrative.cause import Recipe
from explainers.narrative.command import RUNS, Order, make, parts
from explainers.narrative.narrate import narrate
from explainers.narrative.weights import own_folder

HEADER = "unique_key\tlabel\tpremise\thypothesis\texplanation1\texplanation2\texplanation3"
LABELS = ("entailment", "neutral", "contradiction")
WORDS = ("good", "bad", "dull", "very good", "not bad", "unwatchable")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_language: None) -> None:
    """Runs and store are the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    read = esnli.read
    monkeypatch.setattr(esnli, "read", lambda folder: read(folder, validation=4))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "esnli"
    folder.mkdir(parents=True)
    for name, first, pictures, word in ((DEV, 0, 12, "film"), (TEST, 50, 6, "zebra")):
        rows = [
            f"{first + n}.jpg#0r1n\t{label}\tthe {word} {n} was {WORDS[n % 6]}\ta plot {label}"
            f"\tThe {word} was {label}ish .\tSo .\tYes ."
            for n in range(pictures)
            for label in LABELS
        ]
        (folder / name).write_bytes(gzip.compress("\n".join([HEADER, *rows]).encode()))
    return folder


def order(data: Path | None, method: str = "cause", **fields: Any) -> Order:
    return Order(method, "small", data, **{"settings": (("epochs", "1"), ("batch", "8")), **fields})


def test_settings_make_the_recipe_and_the_name_its_losses() -> None:
    found = Order("cause_phi", "nli", None, 3, (("leak", "leaky"), ("epochs", "2"))).recipe
    assert found == Recipe("phi", "leaky", epochs=2, seed=3)
    assert [Order(method, "nli", None).recipe.losses for method in ("cause_phi_ts", "cause")] == ["phi_ts", "cause"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((("losses", "phi"),), "leave them away"),
        ((("seed", "1"),), "leave them away"),
        ((("leak", "open"),), r"leak of cause cannot be 'open'\. Choose from: closed, leaky"),
        ((("depth", "1"),), "cause has no setting 'depth'"),
        ((("epochs", "0"),), "must be at least 1"),
    ],
)
def test_a_setting_that_does_not_exist_gets_a_sentence(settings: tuple[tuple[str, str], ...], said: str) -> None:
    with pytest.raises(ExplanationError, match=said):
        _ = Order("cause", "nli", None, settings=settings).recipe


def test_every_order_has_its_own_folder() -> None:
    orders = [Order("cause", "nli", None), Order("cause", "nli", None, 1), Order("cause_phi", "nli", None)]
    orders += [Order("cause", "nli", None, settings=(("language", "../x/y"),)), Order("cause", "sst2", None)]
    folders = [each.folder for each in orders]
    assert len(set(folders)) == len(folders)
    assert all(each.parent == RUNS for each in folders)


def test_the_command_says_how_to_get_the_same_weights() -> None:
    found = Order("cause", "nli", Path("/somewhere"), 2, (("leak", "leaky"),)).command
    assert found == "python -m explainers fit cause --model nli --data DATA --seed 2 --set leak=leaky"


def test_nothing_of_the_test_is_learned_from_or_watched(model: FrozenModel, data: Path) -> None:
    taught, watched = parts(order(data), model)
    assert (len(taught), len(watched)) == (30, 6)
    assert not any("zebra" in said for item in (*taught, *watched) for said in item.said)


def test_nothing_of_the_test_is_in_the_vocabulary(model: FrozenModel, data: Path) -> None:
    command.speaker(order(data), model)
    words = (RUNS / "language-esnli.words.json").read_text()
    assert "▁film" in words
    assert "zeb" not in words


def test_a_model_of_other_classes_is_refused_before_the_warm_up(model: FrozenModel, data: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"no reasons for the classes of small here\. e-SNLI is about others"):
        make(order(data), replace(model, labels=("a", "b", "c")), Path("run"), None, resume=False)
    assert not RUNS.exists()


def test_a_model_without_a_head_is_refused_before_the_warm_up(bert: FrozenModel, data: Path) -> None:
    with pytest.raises(ExplanationError, match="no head of several layers"):
        make(order(data), replace(bert, labels=LABELS), Path("run"), None, resume=False)
    assert not RUNS.exists()


def test_a_narrator_is_written_with_its_card_and_speaks(model: FrozenModel, data: Path) -> None:
    before = fingerprint(model)
    card = make(order(data), model, Path("run"), None, resume=False)
    path = own_folder("small", "1") / "cause.safetensors"
    assert json.loads(path.with_suffix(".json").read_text()) == json.loads(json.dumps(card))
    assert card["sha256"] == sha256(path)
    assert card["recipe"] == asdict(order(data).recipe)
    assert card["items"]["learned from"] == 30
    assert fingerprint(model) == before
    said = narrate(model, model.encode(Example("the film was good", "a plot")), "cause")
    assert said.text
    assert len(said.read) == 3


def test_the_same_order_gives_the_same_file(model: FrozenModel, data: Path) -> None:
    first = make(order(data), model, Path("one"), Path("a"), resume=False)
    torch.manual_seed(7)
    second = make(order(data), model, Path("two"), Path("b"), resume=False)
    other = make(order(data, seed=1), model, Path("three"), Path("c"), resume=False)
    assert first["sha256"] == second["sha256"] != other["sha256"]


def test_the_language_is_warmed_up_once(model: FrozenModel, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command.speaker(order(data), model)

    def again(*_args: object) -> None:
        raise AssertionError("warmed up twice")

    monkeypatch.setattr(command, "_warmed_up", again)
    phi, spoken, _ = command.speaker(order(data, "cause_phi"), model)
    assert phi.get_input_embeddings().num_embeddings == spoken.size
