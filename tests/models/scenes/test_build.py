import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.datasets.scenes.world import Scene, Thing, draw
from explainers.models.catalog import load_bundle
from explainers.models.scenes import build, samples
from explainers.models.scenes.build import generated_part, make_scenes, scene_accuracy, splits
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.recipe import SceneModelRecipe
from explainers.models.scenes.samples import generate_sentences, row_sample

pytestmark = pytest.mark.usefixtures("narrow_networks")
SCENE = Scene((Thing("square", "blue", 20, 0, 0, 0), Thing("square", "blue", 30, 50, 50, 1)), towers=False)
STATEMENTS = (("There are two blue squares", "true"), ("There is a circle", "false"), ("They look nice", "true"))
RECIPE = SceneModelRecipe(steps=2, batch=2, alone=0, seed=1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """NLVR's three parts with one image and three statements each."""
    for split in ("train", "dev", "test"):
        folder = tmp_path / "nlvr" / split
        (folder / "images").mkdir(parents=True)
        Image.fromarray(draw(SCENE)).save(folder / "images" / f"{split}-0.png")
        lines = (
            {"id": f"{number}-0", "sentence": text, "label": label, "image": f"images/{split}-0.png"}
            for number, (text, label) in enumerate(STATEMENTS)
        )
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path / "nlvr"


@pytest.fixture(autouse=True)
def small_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of times less of everything, and all files in the test's own folder."""
    monkeypatch.setattr(build, "WORK", tmp_path / "work")
    monkeypatch.setattr(build, "SIZES", {"train": 6, "explainer": 4, "validation": 5, "test": 8})
    monkeypatch.setattr(samples, "generate_sentences", lambda _number, seed: generate_sentences(100, seed))
    monkeypatch.setattr(
        build,
        "monitored_samples",
        lambda human: {"nlvr_dev": [row_sample(row.text, row.label or 0, row.image.pixels()) for row in human.dev]},
    )


@pytest.fixture
def card(data: Path, tmp_path: Path) -> dict[str, Any]:
    with torch.random.fork_rng(devices=[]):
        return make_scenes(data, RECIPE, tmp_path / "bundle", resume=False)


def test_a_training_leaves_a_bundle_with_its_card(card: dict[str, Any], tmp_path: Path) -> None:
    model = load_bundle(tmp_path / "bundle", torch.device("cpu"))
    assert isinstance(model, SceneModel)
    assert card == json.loads((tmp_path / "bundle" / "card.json").read_text())
    assert card["command"].endswith("train-model scenes --data DIR --steps 2 --learning-rate 0.003 --seed 1")
    assert card["splits"]["train"] == 2 * 2
    assert card["splits"]["nlvr"] == {"rows": 3, "understood": 2}
    assert [line["step"] for line in card["log"]] == [2]
    for name in ("validation", "test"):
        assert card["accuracy"][name] == scene_accuracy(model, [item.example() for item in generated_part(name)])
    tables = card["per_kind"]
    assert list(tables) == ["generated, unseen wording", "NLVR dev", "NLVR test"]
    assert tables["generated, unseen wording"]["all"]["n"] == 8
    for table in tables.values():
        kinds = [figures["n"] for kind, figures in table.items() if kind != "all"]
        assert sum(kinds) == table["all"]["n"]


def test_a_resumed_training_goes_on_with_the_words_that_it_had(
    card: dict[str, Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (tmp_path / "work" / "tokenizer.json").read_bytes()
    monkeypatch.setattr(build, "train_tokenizer", lambda *_args: pytest.fail("the words were learned again"))
    again = make_scenes(data, SceneModelRecipe(steps=3, batch=2, alone=0, seed=1), tmp_path / "bundle", resume=True)
    assert [line["step"] for line in again["log"]] == [2, 3]
    assert again["sha256"] != card["sha256"]
    assert (tmp_path / "bundle" / "tokenizer.json").read_bytes() == words


def trained(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("train-model", "scenes", *arguments))


def test_what_cannot_be_trained_is_a_sentence(data: Path, tmp_path: Path) -> None:
    common = ("--data", str(data))
    for arguments, sentence in (
        ((), "Give --data, the folder of NLVR: train.tar.gz, dev.tar.gz and test.tar.gz."),
        (("--data", str(tmp_path / "nowhere")), "train.tar.gz"),
        ((*common, "--steps", "0"), "A training needs at least 1 step, not 0."),
        ((*common, "--resume"), "holds no interrupted training. Omit --resume"),
    ):
        result = trained(*arguments)
        assert result.exit_code == 2, arguments
        assert sentence in result.stderr
    assert not (tmp_path / "work").exists()


def test_a_system_that_cannot_fork_is_a_sentence(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "can_fork", lambda: False)
    result = trained("--data", str(data))
    assert result.exit_code == 2
    assert "this system cannot fork" in result.stderr


def test_from_the_command_line_a_bundle_is_made_and_its_card_printed(data: Path, tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        result = trained("--data", str(data), "--steps", "1", "--seed", "3", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0
    card = json.loads(result.stdout)
    assert card == json.loads((tmp_path / "out" / "card.json").read_text())
    assert (card["recipe"]["steps"], card["recipe"]["seed"], card["recipe"]["learning_rate"]) == (1, 3, 3e-3)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((0, 2, 2), 2 / 3),  # no row is neutral, so the predictions are 0, 2 and 0
        ((0, 1, 1), 2 / 3),  # neutral may be predicted, and is three times
    ],
)
def test_where_no_row_is_neutral_the_likelier_of_the_other_classes_is_the_answer(
    monkeypatch: pytest.MonkeyPatch, labels: tuple[int, ...], expected: float
) -> None:
    answers = iter([(0.3, 0.6, 0.1), (0.2, 0.5, 0.3), (0.35, 0.45, 0.2)])
    monkeypatch.setattr(build, "predict", lambda _model, _row, blind: np.array(next(answers)))
    result = scene_accuracy(None, [Example("", label=label) for label in labels])  # type: ignore[arg-type]
    assert result == pytest.approx(expected, abs=1e-4)


def test_without_the_image_every_patch_is_erased(model: SceneModel, example: Example) -> None:
    encoding = model.encode(example)
    words = np.array([unit.kind == "word" for unit in encoding.units])
    assert build.predict(model, example, blind=True) == pytest.approx(model.probabilities(encoding, words)[0], abs=1e-5)
    (expected,) = model.probabilities(encoding, words | True)
    assert build.predict(model, example, blind=False) == pytest.approx(expected, abs=1e-5)


def test_the_parts_are_drawn_apart_and_the_same_every_time() -> None:
    result = splits(None)
    assert [len(part) for part in (result.train, result.validation, result.test, result.explainer)] == [6, 5, 8, 4]
    assert result == splits(None)
    parts = [
        {(example.text, example.image) for example in one} for one in (result.train, result.validation, result.test)
    ]
    assert parts[0].isdisjoint(parts[1] | parts[2])
    assert all(example.explanations and example.evidence and example.image for example in result.train)
    assert all(item.wording.held_out for item in generated_part("test"))
    assert not any(
        item.wording.held_out for name in ("train", "explainer", "validation") for item in generated_part(name)
    )
