"""Which reasons a model's narrators learn from, and that nothing of the test is among them."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from explainers.datasets.images.sets import ImageFiles
from explainers.errors import DataUnavailable
from explainers.models.scenes import build
from explainers.narrative.fit import run_folder
from explainers.narrative.reason_sources import reason_source
from explainers.training.spec import FitSpec

LABELS = ("entailment", "neutral", "contradiction")
Written = Callable[..., tuple[Path, ImageFiles]]


def model(*, name: str = "small", labels: tuple[str, ...] = LABELS, multimodal: bool = True) -> Any:
    """All that is asked of a model is what it is called and what it answers."""
    return SimpleNamespace(name=name, labels=labels, multimodal=multimodal)


def test_of_ten_pictures_one_is_watched_and_one_is_for_the_test(esnlive: Written) -> None:
    source = reason_source(model(), *esnlive(40))
    assert source.name == "esnlive"
    assert [len(part) for part in (source.training, source.validation, source.test)] == [64, 8, 8]
    training, validation, tested = (
        {example.image and example.image.path for example in part}
        for part in (source.training, source.validation, source.test)
    )
    assert [len(part) for part in (training, validation, tested)] == [32, 4, 4]  # both hypotheses about each
    assert not training & validation | training & tested | validation & tested
    assert all(example.explanations for example in source.training)


def test_the_warm_up_says_what_is_taught_and_nothing_of_the_test(esnlive: Written) -> None:
    source = reason_source(model(), *esnlive(40))
    sentences = source.sentences()
    assert set(sentences) == {said for example in source.training for said in (example.text, *example.explanations)}
    assert len(sentences) == 2 * 64
    assert not {said for example in source.test for said in (example.text, *example.explanations)} & set(sentences)


def test_a_published_sets_classes_are_the_models(esnlive: Written) -> None:
    data, files = esnlive(40)
    label = {example.text: example.label for example in reason_source(model(), data, files).training}
    turned = {
        example.text: example.label for example in reason_source(model(labels=LABELS[::-1]), data, files).training
    }
    assert turned == {text: 2 - (number or 0) for text, number in label.items()}
    with pytest.raises(DataUnavailable, match="The classes of e-SNLI-VE are entailment, neutral, contradiction, and"):
        reason_source(model(labels=("yes", "no")), data, files)


def test_too_few_pictures_with_reasons_are_a_sentence(esnlive: Written) -> None:
    data, files = esnlive(41)
    rows = data.read_text().splitlines()
    data.write_text("\n".join([*rows[:-4], *(row.rpartition(",")[0] + "," for row in rows[-4:])]) + "\n")
    with pytest.raises(DataUnavailable, match="The set esnlive has reasons for 39 images; 40 are needed"):
        reason_source(model(), data, files)
    rows[-1] = rows[-1].replace(",contradiction,", ",,").replace(",neutral,", ",,").replace(",entailment,", ",,")
    data.write_text("\n".join(rows) + "\n")
    source = reason_source(model(), data, files)
    assert len(source.training) + len(source.validation) + len(source.test) == 81  # one has no class


def test_without_annotations_the_sentence_says_so(esnlive: Written) -> None:
    with pytest.raises(DataUnavailable, match="Give the annotation file of esnlive with --data"):
        reason_source(model(), None, esnlive(1)[1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (model(name="clip"), "classes of clip are not available. Give a published set with --format and --pictures."),
        (model(name="scenes", labels=("yes", "no")), "classes of scenes are not available. Give a published set with"),
        (model(labels=("yes", "no"), multimodal=False), "classes of small are not available. e-SNLI is about others."),
    ],
)
def test_a_model_for_which_there_are_no_reasons_is_told_what_to_give(given: Any, said: str) -> None:
    with pytest.raises(DataUnavailable) as raised:
        reason_source(given, None)
    assert str(raised.value).startswith("Reasons for the classes of ")
    assert said in str(raised.value)


def test_reasons_of_scenes_come_from_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SIZES", {"train": 12, "explainer": 6, "validation": 5, "test": 20})
    source, splits = reason_source(model(name="scenes"), None), build.splits(None)
    assert source.name == "scenes"
    assert source.training == (*splits.train, *splits.explainer)
    assert (source.validation, source.test) == (splits.validation, splits.test)
    sentences = source.sentences()
    assert set(sentences) == {said for example in splits.train for said in (example.text, *example.explanations)}
    assert not {example.text for example in source.test} & set(sentences)


def test_more_training_examples_go_on_where_the_data_set_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SIZES", {"train": 12, "explainer": 6, "validation": 5, "test": 20})
    short = reason_source(model(name="scenes"), None)
    more = short.further_training(7)
    monkeypatch.setattr(build, "SIZES", {"train": 19, "explainer": 6, "validation": 5, "test": 20})
    assert tuple(more) == build.splits(None).train[12:]
    assert len(more) == 7


def test_published_reasons_have_no_more_training_examples(esnlive: Written) -> None:
    source = reason_source(model(), *esnlive(40))
    with pytest.raises(DataUnavailable, match="No generator draws more examples of esnlive"):
        source.further_training(7)


def test_trainings_on_other_sets_have_other_folders_and_commands(tmp_path: Path) -> None:
    own = FitSpec("cause", "scenes")
    other = FitSpec("cause", "scenes", "a.csv", format="esnlive", images=str(tmp_path))
    assert run_folder(own) != run_folder(other)
    assert "--format" not in own.command
    assert other.command == (
        "python -m explainers fit cause --model scenes --data DATA --format esnlive --pictures DIR --seed 0"
    )
