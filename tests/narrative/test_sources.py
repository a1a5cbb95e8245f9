"""Which reasons a model's narrators learn from, and that nothing of the test is among them."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import DataUnavailable
from explainers.models.scenes import making
from explainers.narrative.command import Order
from explainers.narrative.sources import source

LABELS = ("entailment", "neutral", "contradiction")
Written = Callable[..., tuple[Path, PictureFiles]]


def model(*, name: str = "small", labels: tuple[str, ...] = LABELS, pictured: bool = True) -> Any:
    """All that is asked of a model is what it is called and what it answers."""
    return SimpleNamespace(name=name, labels=labels, pictured=pictured)


def test_of_ten_pictures_one_is_watched_and_one_is_for_the_test(esnlive: Written) -> None:
    found = source(model(), *esnlive(40))
    assert found.name == "esnlive"
    assert [len(part) for part in (found.taught, found.validation, found.test)] == [64, 8, 8]
    taught, watched, tested = (
        {each.picture and each.picture.path for each in part} for part in (found.taught, found.validation, found.test)
    )
    assert [len(part) for part in (taught, watched, tested)] == [32, 4, 4]  # both hypotheses about each
    assert not taught & watched | taught & tested | watched & tested
    assert all(each.explanations for each in found.taught)


def test_the_warm_up_says_what_is_taught_and_nothing_of_the_test(esnlive: Written) -> None:
    found = source(model(), *esnlive(40))
    sentences = found.sentences()
    assert set(sentences) == {said for each in found.taught for said in (each.text, *each.explanations)}
    assert len(sentences) == 2 * 64
    assert not {said for each in found.test for said in (each.text, *each.explanations)} & set(sentences)


def test_a_published_sets_classes_are_the_models(esnlive: Written) -> None:
    data, files = esnlive(40)
    label = {each.text: each.label for each in source(model(), data, files).taught}
    turned = {each.text: each.label for each in source(model(labels=LABELS[::-1]), data, files).taught}
    assert turned == {text: 2 - (number or 0) for text, number in label.items()}
    with pytest.raises(DataUnavailable, match="The classes of e-SNLI-VE are entailment, neutral, contradiction, and"):
        source(model(labels=("yes", "no")), data, files)


def test_too_few_pictures_with_reasons_are_a_sentence(esnlive: Written) -> None:
    data, files = esnlive(41)
    rows = data.read_text().splitlines()
    data.write_text("\n".join([*rows[:-4], *(row.rpartition(",")[0] + "," for row in rows[-4:])]) + "\n")
    with pytest.raises(DataUnavailable, match="The set esnlive has reasons for 39 pictures; 40 are needed"):
        source(model(), data, files)
    rows[-1] = rows[-1].replace(",contradiction,", ",,").replace(",neutral,", ",,").replace(",entailment,", ",,")
    data.write_text("\n".join(rows) + "\n")
    found = source(model(), data, files)
    assert len(found.taught) + len(found.validation) + len(found.test) == 81  # one has no class


def test_without_annotations_the_sentence_says_so(esnlive: Written) -> None:
    with pytest.raises(DataUnavailable, match="Give the annotation file of esnlive with --data"):
        source(model(), None, esnlive(1)[1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (model(name="clip"), "classes of clip here. Give a published set with --format and --pictures."),
        (model(name="scenes", labels=("yes", "no")), "classes of scenes here. Give a published set with"),
        (model(labels=("yes", "no"), pictured=False), "classes of small here. e-SNLI is about others."),
    ],
)
def test_a_model_for_which_there_are_no_reasons_is_told_what_to_give(given: Any, said: str) -> None:
    with pytest.raises(DataUnavailable) as raised:
        source(given, None)
    assert str(raised.value).startswith("There are no reasons for the ")
    assert said in str(raised.value)


def test_reasons_of_scenes_come_from_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "SIZES", {"train": 12, "explainer": 6, "validation": 5, "test": 20})
    found, splits = source(model(name="scenes"), None), making.splits(None)
    assert found.name == "scenes"
    assert found.taught == (*splits.train, *splits.explainer)
    assert (found.validation, found.test) == (splits.validation, splits.test)
    sentences = found.sentences()
    assert set(sentences) == {said for each in splits.train for said in (each.text, *each.explanations)}
    assert not {each.text for each in found.test} & set(sentences)


def test_orders_of_other_sets_have_other_folders_and_commands(tmp_path: Path) -> None:
    own = Order("cause", "scenes", None)
    other = Order("cause", "scenes", Path("a.csv"), pictures=PictureFiles("esnlive", tmp_path))
    assert own.folder != other.folder
    assert "--format" not in own.command
    assert other.command == (
        "python -m explainers fit cause --model scenes --data DATA --format esnlive --pictures DIR --seed 0"
    )
