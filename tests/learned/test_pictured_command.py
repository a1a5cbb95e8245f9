"""`fit --format --pictures`: what methods learn from a published set, before any model is asked."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import DataUnavailable
from explainers.learned import command
from explainers.learned.command import Order, parts
from explainers.learned.recipes import SHIPPED
from explainers.models import tasks
from explainers.models.classifier import FrozenModel

Written = Callable[..., tuple[Path, PictureFiles]]


def test_a_set_is_split_into_examples_to_learn_from_and_others_to_watch(esnlive: Written) -> None:
    data, files = esnlive(20)
    learned_from, watched = parts("small", data, 0, files)
    assert (len(learned_from), len(watched)) == (36, 4)  # a tenth of two hypotheses about each of 20 pictures
    assert len({each.text for each in (*learned_from, *watched)}) == 40
    assert all(each.picture and each.picture.path and each.picture.path.is_file() for each in learned_from)
    assert parts("small", data, 0, files) == (learned_from, watched)
    assert parts("small", data, 1, files) != (learned_from, watched)


def test_nobody_sees_what_people_answered(esnlive: Written) -> None:
    given = [each for part in parts("small", *swapped(esnlive(20))) for each in part]
    assert {(each.label, each.explanations, each.evidence) for each in given} == {(None, (), None)}


def swapped(written: tuple[Path, PictureFiles]) -> tuple[Path, int, PictureFiles]:
    data, files = written
    return data, 0, files


def test_too_few_examples_are_a_sentence(esnlive: Written) -> None:
    with pytest.raises(DataUnavailable, match=r"^A method learns from 20 examples or more; these are 18\.$"):
        parts("small", *swapped(esnlive(9)))


def test_a_set_that_was_named_is_never_passed_over(
    esnlive: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Task:
        read = staticmethod(lambda _folder: pytest.fail("the model's own data were read"))

    monkeypatch.setitem(tasks.TASKS, "small", Task)
    _, files = esnlive(20)
    with pytest.raises(DataUnavailable, match="Give the annotation file of esnlive with --data"):
        parts("small", None, 0, files)
    with pytest.raises(
        DataUnavailable, match=r"There is no file .*\. Give the annotation file as its authors publish it"
    ):
        parts("small", tmp_path, 0, files)
    with pytest.raises(DataUnavailable, match="There is no file or folder nothing"):
        parts("small", Path("nothing"), 0, files)


def test_the_command_on_the_card_names_the_set(tmp_path: Path) -> None:
    order = Order("aml", "scenes", Path("a.csv"), "mine", 3, (("epochs", "2"),), PictureFiles("vqa_x", tmp_path))
    assert shlex.split(order.command)[3:] == [
        *("fit", "aml", "--model", "scenes", "--data", "DATA", "--format", "vqa_x", "--pictures", "DIR"),
        *("--variant", "mine", "--seed", "3", "--set", "epochs=2"),
    ]


def test_all_methods_learn_from_the_set(
    bert: FrozenModel, esnlive: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Path | None, PictureFiles | None]] = []

    def noted(order: Order, *_given: Any, resume: bool) -> dict[str, Any]:
        made.append((order.data, order.pictures))
        return {"resume": resume}

    monkeypatch.setattr(command, "make", noted)
    data, files = esnlive(1)
    command.make_all(bert, data, 0, tmp_path, files)
    assert made == [(data, files)] * sum(map(len, SHIPPED.values()))
