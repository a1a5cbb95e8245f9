import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainers.datasets import esnli
from explainers.datasets.example import Example, Splits
from explainers.datasets.picture import Picture
from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import ExplanationError
from explainers.models.classifier import FrozenModel
from explainers.narrative import evaluate_command
from explainers.narrative.command import Order
from explainers.narrative.evaluate_command import Wanted, draw, lines, measure, said_in, weights
from explainers.narrative.evaluation import Spoken
from explainers.narrative.sources import Source

Written = Callable[..., Path]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def splits(pairs: list[Example], monkeypatch: pytest.MonkeyPatch) -> Splits:
    found = Splits(tuple(pairs[:40]), (), tuple(pairs[40:]))
    monkeypatch.setattr(esnli, "read", lambda _folder: found)
    return found


def wanted(**fields: object) -> Wanted:
    return Wanted(**{"data": None, "n": 6, "seeds": 1, "methods": ("cause_phi", "cause"), **fields})  # type: ignore[arg-type]


def test_shipped_narrators_are_measured_and_everything_said_is_written(
    model: FrozenModel, written: Written, splits: Splits, tmp_path: Path
) -> None:
    for method in ("cause_phi", "cause"):
        written(method)
    told: list[str] = []
    text = measure(wanted(), model, tmp_path / "out", told.append)
    assert [line.split(":")[0] for line in told] == ["cause_phi, seed 0", "cause, seed 0"]
    assert text.splitlines()[2].startswith("| φ |")
    table = json.loads((tmp_path / "out" / "table.json").read_text())
    assert [row["method"] for row in table["rows"]] == ["cause_phi", "cause"]
    assert table["data"]["pairs"] == 6
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text().splitlines()]
    test = {(each.text, each.pair) for each in splits.test}
    assert len({(row["text"], row["pair"]) for row in rows} & test) == 6
    assert "## 6." in (tmp_path / "out" / "examples.md").read_text()


def test_one_pair_has_no_counterfactual(model: FrozenModel, splits: Splits, tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match=r"at least two pairs\. Give a larger --n"):
        measure(wanted(n=1), model, tmp_path, print)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each fitting was asked to go on with what lies there; nothing is fitted."""
    found: list[bool] = []

    def make(_order: Order, _model: FrozenModel, _folder: Path, _out: Path, *, resume: bool) -> None:
        found.append(resume)

    monkeypatch.setattr(evaluate_command, "make", make)
    return found


def test_shipped_weights_are_taken_for_their_own_settings_and_seed_only(
    model: FrozenModel, written: Written, made: list[bool]
) -> None:
    path = written("cause")
    assert weights(wanted(), model, "cause", 0, print) == path
    assert made == []
    assert weights(wanted(), model, "cause", 1, print) != path
    assert weights(wanted(settings=(("leak", "leaky"),)), model, "cause", 0, print) != path
    assert made == [True, True]  # an interrupted fitting goes on


def test_what_was_fitted_to_another_version_is_begun_anew(
    model: FrozenModel, written: Written, made: list[bool]
) -> None:
    folder = Order("cause", "small", None, 1).folder / "weights"
    path = written("cause", folder=folder)
    assert weights(wanted(), model, "cause", 1, print) == path
    assert made == []
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(card | {"model": {"name": "small", "version": "0"}}))
    weights(wanted(), model, "cause", 1, print)
    assert made == [False]


def test_a_line_has_both_classes_and_the_first_seeds_sentence() -> None:
    runs = [Spoken((text,), (0,), (0,), (), ()) for text in ("first", "second")]
    (line,) = lines([Example("p", "h", 2, ("why",))], [1], {"cause": runs}, ("a", "b", "c"))
    assert line == {
        "text": "p",
        "pair": "h",
        "pictured": False,
        "label": "c",
        "predicted": "b",
        "people": ["why"],
        "cause": "first",
    }


def picture(colour: int) -> Picture:
    return Picture.of(np.full((2, 3, 3), colour, dtype=np.uint8))


def test_pictures_are_numbered_as_the_items_of_the_page(tmp_path: Path) -> None:
    draw([Example("a", picture=picture(10)), Example("b"), Example("c", picture=picture(30))], tmp_path / "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["1.png", "3.png"]
    assert (Picture(path=tmp_path / "made" / "3.png").pixels() == 30).all()
    draw([Example("a"), Example("b")], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_is_said_in_an_example_is_all_of_its_words() -> None:
    assert said_in(Example("A dog runs.", "A cat sleeps.")) == "A dog runs. A cat sleeps."
    assert said_in(Example("A dog runs.", picture=picture(0))) == "A dog runs."


def test_weights_that_learned_from_another_set_are_not_taken(
    model: FrozenModel, written: Written, made: list[bool], tmp_path: Path
) -> None:
    files = PictureFiles("esnlive", tmp_path)
    path = written("cause")
    of_the_set = weights(wanted(pictures=files), model, "cause", 0, print)
    assert of_the_set != path
    assert made == [True]
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(
        json.dumps(card | {"command": Order("cause", "m", None, 0, (), files).command})
    )
    assert weights(wanted(pictures=files), model, "cause", 0, print) == path
    assert weights(wanted(), model, "cause", 0, print) not in (path, of_the_set)
    assert made == [True, True]


def test_the_first_items_of_a_pictured_set_are_drawn_and_the_command_names_the_set(
    model: FrozenModel, written: Written, splits: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = PictureFiles("esnlive", tmp_path)
    path = written("cause_phi")
    card = json.loads(path.with_suffix(".json").read_text())
    command = Order("cause_phi", "small", None, 0, (), files).command
    path.with_suffix(".json").write_text(json.dumps(card | {"command": command}))
    encode = model.encode
    monkeypatch.setattr(model, "encode", lambda example: encode(replace(example, picture=None)))
    pictured = tuple(replace(each, picture=picture(number)) for number, each in enumerate(splits.test))

    def published(_model: FrozenModel, data: Path | None, given: PictureFiles | None) -> Source:
        assert (data, given) == (Path("dev.csv"), files)
        return Source("esnlive", splits.train, (), pictured, lambda: [])

    monkeypatch.setattr(evaluate_command, "source", published)
    measure(
        wanted(data=Path("dev.csv"), methods=("cause_phi",), pictures=files),
        model,
        tmp_path / "out",
        lambda _line: None,
    )
    assert len(list((tmp_path / "out" / "examples").iterdir())) == 6
    page = (tmp_path / "out" / "examples.md").read_text()
    assert "![the picture](examples/6.png)" in page
    assert page.count("People: The ") == 6
    assert (
        "--format esnlive --pictures DIR --data DATA"
        in json.loads((tmp_path / "out" / "table.json").read_text())["command"]
    )
