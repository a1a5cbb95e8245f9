"""Options of the commands that learn from image sets."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.datasets.images.sets import ImageFiles
from explainers.models import catalog
from explainers.models.foreign.hub_transfer import DownloadSize, check_allowed
from explainers.models.frozen_model import FrozenModel
from explainers.models.multimodal import head_training

Written = Callable[..., tuple[Path, ImageFiles]]
COMMANDS_WITH_SETS = {
    "a learned method": ("fit", "aml", "--model", "small"),
    "all of them": ("fit", "all", "--model", "small"),
    "a narrator": ("fit", "cause", "--model", "small"),
    "narratives": ("study", "narratives", "--model", "small"),
    "a head": ("train-head", "encoder", "--data", "a.csv", "--out", "made"),
}
OPTIONS = "--format", "esnlive", "--pictures", "folder"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: FrozenModel) -> None:
    """The small BERT answers to every name; `folder` is one, and holds no image."""
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: bert)
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def error_line(result: Result) -> str:
    """The one line on standard error."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize("command", [name for name in COMMANDS_WITH_SETS if name != "a head"])
@pytest.mark.parametrize("half", [OPTIONS[:2], OPTIONS[2:]], ids=["format alone", "images alone"])
def test_format_and_pictures_go_together(command: str, half: tuple[str, ...]) -> None:
    assert error_line(ran(*COMMANDS_WITH_SETS[command], *half)) == (
        "--format and --pictures go together: give both, or neither."
    )  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS_WITH_SETS)
def test_an_unknown_set_and_a_missing_folder_are_sentences(command: str) -> None:
    arguments = COMMANDS_WITH_SETS[command]
    assert error_line(ran(*arguments, "--format", "snli", "--pictures", "folder")) == (
        "The image set 'snli' is not available. Choose one of: esnlive, hateful_memes, vqa_x, table."
    )
    assert error_line(ran(*arguments, "--format", "esnlive", "--pictures", "none")) == "The folder none does not exist."


@pytest.mark.parametrize("command", ["a learned method", "all of them", "a narrator", "narratives"])
def test_without_annotations_it_says_what_is_missing(command: str) -> None:
    assert error_line(ran(*COMMANDS_WITH_SETS[command], *OPTIONS)) == "Give the annotation file of esnlive with --data."


def test_too_few_examples_to_learn_from_are_a_sentence(esnlive: Written) -> None:
    data, files = esnlive(9)
    options = "--data", str(data), "--format", files.format, "--pictures", str(files.folder)
    assert error_line(ran(*COMMANDS_WITH_SETS["a learned method"], *options)) == (
        "A method learns from 20 examples or more; 18 given."
    )  # fmt: skip
    assert error_line(ran("fit", "cause", "--model", "small", *options)).startswith(
        "The classes of e-SNLI-VE are entailment, "
    )
    assert not Path("runs").exists()


def test_a_head_needs_annotations_examples_and_an_encoder(esnlive: Written) -> None:
    assert error_line(ran(*COMMANDS_WITH_SETS["a head"], *OPTIONS)) == "The file a.csv does not exist."
    data, files = esnlive(9)
    options = "--data", str(data), "--format", files.format, "--pictures", str(files.folder), "--out", "made"
    assert error_line(ran("train-head", "encoder", *options)) == (
        "A head needs at least 2 classes and 20 examples; there are 3 and 18."
    )  # fmt: skip
    assert not Path("made").exists()


def test_a_head_needs_a_yes_for_a_large_encoder(esnlive: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit_head(encoder: str, *_given: object, **_rest: object) -> dict[str, str]:
        check_allowed(encoder, DownloadSize(1_340_000_000, 6))
        return {"encoder": encoder}

    monkeypatch.setattr(head_training, "fit_head", fit_head)
    data, files = esnlive(9)
    options = "--data", str(data), "--format", files.format, "--pictures", str(files.folder), "--out", "made"
    assert error_line(ran("train-head", "owner/encoder", *options)) == (
        "'owner/encoder' is not on this machine; fetching it takes 1.3 GB in 6 files. Add --yes to fetch it."
    )
    assert ran("train-head", "owner/encoder", *options, "--yes").exit_code == 0


def test_scenes_are_trained_with_human_statements() -> None:
    assert error_line(ran("train-model", "scenes")) == (
        "Give --data, the folder of NLVR: train.tar.gz, dev.tar.gz and test.tar.gz."
    )  # fmt: skip
    assert not Path("runs").exists()


def test_superpixels_are_for_models_that_read_images() -> None:
    assert error_line(ran("explain", "--text", "good film", "--superpixels", "9")) == (
        "small reads no images that could be cut into superpixels. Omit --superpixels."
    )
