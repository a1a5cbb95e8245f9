"""What the command line asks for where pictures are learned from."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from explainers.cli import app
from explainers.datasets.pictures.sets import PictureFiles
from explainers.models import catalog
from explainers.models.classifier import FrozenModel

Written = Callable[..., tuple[Path, PictureFiles]]
TAKING_SETS = {
    "a learned method": ("fit", "aml", "--model", "small"),
    "all of them": ("fit", "all", "--model", "small"),
    "a narrator": ("fit", "cause", "--model", "small"),
    "narratives": ("narratives", "--model", "small"),
    "a head": ("train-head", "encoder", "--data", "a.csv", "--out", "made"),
}
GIVEN = "--format", "esnlive", "--pictures", "folder"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: FrozenModel) -> None:
    """The small BERT answers to every name; `folder` is one, and holds no picture."""
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: bert)
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def said(result: Result) -> str:
    """The one line that a person is told."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize("command", [each for each in TAKING_SETS if each != "a head"])
@pytest.mark.parametrize("half", [GIVEN[:2], GIVEN[2:]], ids=["format alone", "pictures alone"])
def test_format_and_pictures_go_together(command: str, half: tuple[str, ...]) -> None:
    assert said(ran(*TAKING_SETS[command], *half)) == (
        "--format and --pictures go together: give both, or neither."
    )  # fmt: skip


@pytest.mark.parametrize("command", TAKING_SETS)
def test_an_unknown_set_and_a_missing_folder_are_sentences(command: str) -> None:
    arguments = TAKING_SETS[command]
    assert said(ran(*arguments, "--format", "snli", "--pictures", "folder")) == (
        "There is no set of pictures 'snli'. Choose one of: esnlive, hateful_memes, vqa_x."
    )
    assert said(ran(*arguments, "--format", "esnlive", "--pictures", "none")) == "There is no folder none."


@pytest.mark.parametrize("command", ["a learned method", "all of them", "a narrator", "narratives"])
def test_without_annotations_it_says_what_is_missing(command: str) -> None:
    assert said(ran(*TAKING_SETS[command], *GIVEN)) == "Give the annotation file of esnlive with --data."


def test_too_few_examples_to_learn_from_are_a_sentence(esnlive: Written) -> None:
    data, files = esnlive(9)
    given = "--data", str(data), "--format", files.format, "--pictures", str(files.folder)
    assert said(ran(*TAKING_SETS["a learned method"], *given)) == (
        "A method learns from 20 examples or more; these are 18."
    )  # fmt: skip
    assert said(ran("fit", "cause", "--model", "small", *given)).startswith("The classes of e-SNLI-VE are entailment, ")
    assert not Path("runs").exists()


def test_a_head_needs_annotations_examples_and_an_encoder(esnlive: Written) -> None:
    assert said(ran(*TAKING_SETS["a head"], *GIVEN)) == "There is no file a.csv."
    data, files = esnlive(9)
    given = "--data", str(data), "--format", files.format, "--pictures", str(files.folder), "--out", "made"
    assert said(ran("train-head", "encoder", *given)) == (
        "A head needs at least 2 classes and 20 examples; there are 3 and 18."
    )  # fmt: skip
    assert not Path("made").exists()


def test_scenes_are_trained_with_statements_that_people_wrote() -> None:
    assert said(ran("train-model", "scenes")) == (
        "Give --data, the folder of NLVR: train.tar.gz, dev.tar.gz and test.tar.gz."
    )  # fmt: skip
    assert not Path("runs").exists()


def test_superpixels_are_for_models_that_read_pictures() -> None:
    found = CliRunner().invoke(app, ["explain", "--text", "good film", "--superpixels", "9"])
    assert found.exit_code == 2
    assert "small reads no picture that could be cut into superpixels" in " ".join(found.stderr.split())
