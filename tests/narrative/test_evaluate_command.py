import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explainers.datasets import esnli
from explainers.datasets.example import Example, Splits
from explainers.errors import ExplanationError
from explainers.models.classifier import FrozenModel
from explainers.narrative import evaluate_command
from explainers.narrative.command import Order
from explainers.narrative.evaluate_command import Wanted, lines, measure, weights
from explainers.narrative.evaluation import Spoken

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
