import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner, Result

from explainers.cli import app
from explainers.datasets.example import Example
from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.world import Scene, Thing
from explainers.models.bundle import load_bundle
from explainers.models.scenes import making
from explainers.models.scenes.making import make_scenes, part, right, splits
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.recipe import Recipe
from explainers.models.scenes.samples import of_row, sentences

pytestmark = pytest.mark.usefixtures("narrow_networks")
SCENE = Scene((Thing("square", "blue", 20, 0, 0, 0), Thing("square", "blue", 30, 50, 50, 1)), towers=False)
SAID = (("There are two blue squares", "true"), ("There is a circle", "false"), ("They look nice", "true"))
RECIPE = Recipe(steps=2, batch=2, alone=0, seed=1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """NLVR's three parts with one picture and three statements each."""
    for split in ("train", "dev", "test"):
        folder = tmp_path / "nlvr" / split
        (folder / "images").mkdir(parents=True)
        Image.fromarray(drawn(SCENE)).save(folder / "images" / f"{split}-0.png")
        lines = (
            {"id": f"{place}-0", "sentence": text, "label": label, "image": f"images/{split}-0.png"}
            for place, (text, label) in enumerate(SAID)
        )
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path / "nlvr"


@pytest.fixture(autouse=True)
def small_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of times less of everything, and all files in the test's own folder."""
    monkeypatch.setattr(making, "WORK", tmp_path / "work")
    monkeypatch.setattr(making, "SIZES", {"train": 6, "explainer": 4, "validation": 5, "test": 8})
    monkeypatch.setattr(making, "sentences", lambda _number, seed: sentences(100, seed))
    monkeypatch.setattr(
        making,
        "watched",
        lambda people: {"nlvr_dev": [of_row(row.text, row.label or 0, row.picture.pixels()) for row in people.dev]},
    )


@pytest.fixture
def made(data: Path, tmp_path: Path) -> dict[str, Any]:
    with torch.random.fork_rng(devices=[]):
        return make_scenes(data, RECIPE, tmp_path / "bundle", resume=False)


def test_a_training_leaves_a_bundle_with_its_card(made: dict[str, Any], tmp_path: Path) -> None:
    model = load_bundle(tmp_path / "bundle", torch.device("cpu"))
    assert isinstance(model, SceneModel)
    assert made == json.loads((tmp_path / "bundle" / "card.json").read_text())
    assert made["command"].endswith("train-model scenes --data DIR --steps 2 --learning-rate 0.003 --seed 1")
    assert made["splits"]["train"] == 2 * 2
    assert made["splits"]["nlvr"] == {"rows": 3, "understood": 2}
    assert [line["step"] for line in made["log"]] == [2]
    for name in ("validation", "test"):
        assert made["accuracy"][name] == right(model, [each.example() for each in part(name)])
    tables = made["per_kind"]
    assert list(tables) == ["generated, unseen wording", "NLVR dev", "NLVR test"]
    assert tables["generated, unseen wording"]["all"]["n"] == 8
    for table in tables.values():
        kinds = [figures["n"] for kind, figures in table.items() if kind != "all"]
        assert sum(kinds) == table["all"]["n"]


def test_a_resumed_training_goes_on_with_the_words_that_it_had(
    made: dict[str, Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (tmp_path / "work" / "tokenizer.json").read_bytes()
    monkeypatch.setattr(making, "learned", lambda *_args: pytest.fail("the words were learned again"))
    again = make_scenes(data, Recipe(steps=3, batch=2, alone=0, seed=1), tmp_path / "bundle", resume=True)
    assert [line["step"] for line in again["log"]] == [2, 3]
    assert again["sha256"] != made["sha256"]
    assert (tmp_path / "bundle" / "tokenizer.json").read_bytes() == words


def trained(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("train-model", "scenes", *arguments))


def test_what_cannot_be_trained_is_a_sentence(data: Path, tmp_path: Path) -> None:
    given = ("--data", str(data))
    for arguments, sentence in (
        ((), "Give --data, the folder of NLVR: train.tar.gz, dev.tar.gz and test.tar.gz."),
        (("--data", str(tmp_path / "nowhere")), "train.tar.gz"),
        ((*given, "--steps", "0"), "There must be at least 1 step, not 0."),
        ((*given, "--resume"), "There is no interrupted training in"),
    ):
        result = trained(*arguments)
        assert result.exit_code == 2, arguments
        assert sentence in result.stderr
    assert not (tmp_path / "work").exists()


def test_a_system_that_cannot_fork_is_a_sentence(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "forks", lambda: False)
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
        ((0, 2, 2), 2 / 3),  # nobody is neutral here, so the answers are 0, 2 and 0
        ((0, 1, 1), 2 / 3),  # neutral may be the answer, and is it three times
    ],
)
def test_where_no_row_is_neutral_the_likelier_of_the_other_classes_is_the_answer(
    monkeypatch: pytest.MonkeyPatch, labels: tuple[int, ...], expected: float
) -> None:
    answers = iter([(0.3, 0.6, 0.1), (0.2, 0.5, 0.3), (0.35, 0.45, 0.2)])
    monkeypatch.setattr(making, "asked", lambda _model, _row, blind: np.array(next(answers)))
    found = right(None, [Example("", label=label) for label in labels])  # type: ignore[arg-type]
    assert found == pytest.approx(expected, abs=1e-4)


def test_without_the_picture_every_patch_is_erased(model: SceneModel, example: Example) -> None:
    encoding = model.encode(example)
    words = np.array([unit.kind == "word" for unit in encoding.units])
    assert making.asked(model, example, blind=True) == pytest.approx(model.probabilities(encoding, words)[0])
    assert making.asked(model, example, blind=False) == pytest.approx(model.probabilities(encoding, words | True)[0])


def test_the_parts_are_drawn_apart_and_the_same_every_time() -> None:
    found = splits(None)
    assert [len(each) for each in (found.train, found.validation, found.test, found.explainer)] == [6, 5, 8, 4]
    assert found == splits(None)
    parts = [{(each.text, each.picture) for each in one} for one in (found.train, found.validation, found.test)]
    assert parts[0].isdisjoint(parts[1] | parts[2])
    assert all(each.explanations and each.evidence and each.picture for each in found.train)
    assert all(each.said.held_out for each in part("test"))
    assert not any(each.said.held_out for name in ("train", "explainer", "validation") for each in part(name))
