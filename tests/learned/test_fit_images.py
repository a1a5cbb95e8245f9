"""`fit --format --pictures`: what methods learn from a published set, before any model is asked."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explainers.datasets.images.sets import ImageFiles
from explainers.errors import DataUnavailable
from explainers.learned import fit
from explainers.learned.fit import read_examples
from explainers.learned.recipes import SHIPPED
from explainers.models import tasks
from explainers.models.frozen_model import FrozenModel
from explainers.training.spec import FitSpec

Written = Callable[..., tuple[Path, ImageFiles]]


def test_a_set_is_split_into_examples_to_learn_from_and_others_to_watch(esnlive: Written) -> None:
    data, files = esnlive(20)
    learned_from, validation = read_examples("small", data, 0, files)
    assert (len(learned_from), len(validation)) == (36, 4)  # a tenth of two hypotheses about each of 20 pictures
    assert len({example.text for example in (*learned_from, *validation)}) == 40
    assert all(example.image and example.image.path and example.image.path.is_file() for example in learned_from)
    assert read_examples("small", data, 0, files) == (learned_from, validation)
    assert read_examples("small", data, 1, files) != (learned_from, validation)


def test_nobody_sees_what_people_answered(esnlive: Written) -> None:
    given = [example for part in read_examples("small", *swapped(esnlive(20))) for example in part]
    assert {(example.label, example.explanations, example.evidence) for example in given} == {(None, (), None)}


def swapped(written: tuple[Path, ImageFiles]) -> tuple[Path, int, ImageFiles]:
    data, files = written
    return data, 0, files


def test_too_few_examples_are_a_sentence(esnlive: Written) -> None:
    with pytest.raises(DataUnavailable, match=r"^A method learns from 20 examples or more; 18 given\.$"):
        read_examples("small", *swapped(esnlive(9)))


def test_a_set_that_was_named_is_never_passed_over(
    esnlive: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Task:
        read = staticmethod(lambda _folder: pytest.fail("the model's own data were read"))

    monkeypatch.setitem(tasks.TASKS, "small", Task)
    _, files = esnlive(20)
    with pytest.raises(DataUnavailable, match="Give the annotation file of esnlive with --data"):
        read_examples("small", None, 0, files)
    with pytest.raises(DataUnavailable, match=r"does not exist\. Give the annotation file as its authors publish it"):
        read_examples("small", tmp_path, 0, files)
    with pytest.raises(DataUnavailable, match="The file or folder nothing does not exist"):
        read_examples("small", Path("nothing"), 0, files)


def test_the_command_on_the_card_names_the_set(tmp_path: Path) -> None:
    spec = FitSpec("aml", "scenes", "a.csv", "mine", 3, (("epochs", "2"),), "vqa_x", str(tmp_path))
    assert shlex.split(spec.command)[3:] == [
        *("fit", "aml", "--model", "scenes", "--data", "DATA", "--format", "vqa_x", "--pictures", "DIR"),
        *("--variant", "mine", "--seed", "3", "--set", "epochs=2"),
    ]


def test_all_methods_learn_from_the_set(
    bert: FrozenModel, esnlive: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources: list[tuple[Path | None, ImageFiles | None]] = []

    def noted(spec: FitSpec, *_given: Any, resume: bool) -> dict[str, Any]:
        sources.append((spec.data_path, spec.image_files))
        return {"resume": resume}

    monkeypatch.setattr(fit, "make", noted)
    data, files = esnlive(1)
    spec = FitSpec("all", bert.name, str(data), format=files.format, images=str(files.folder))
    fit.make_all(spec, bert, tmp_path)
    assert sources == [(data, files)] * sum(map(len, SHIPPED.values()))
