"""`evaluate` on the data of an embedded model and on a file with a text per line; the small BERT has random weights."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets import labelled_rows, user_texts
from explainers.datasets.example import Example, Splits
from explainers.errors import DataUnavailable
from explainers.evaluation import set_job
from explainers.evaluation.own_rows import own_rows
from explainers.evaluation.set_job import read_set
from explainers.evaluation.set_spec import SetSpec
from explainers.models import tasks
from explainers.models.frozen_model import FrozenModel

LABELS = ("negative", "neutral", "positive")
SHARED = ("--methods", "occlusion", "--device", "cpu", "--sanity", "0")
TEST = (
    Example("the good film was very good", label=2),
    Example("a bad plot , not good", label=0),
    Example("the film was very dull"),
)


class Task:
    @staticmethod
    def read(folder: Path | None) -> Splits:
        if folder is None:
            raise DataUnavailable("Give the folder with --data.")
        return Splits((), (Example("a validation text", label=1),), TEST)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tasks.TASKS, "small", Task)  # type: ignore[arg-type]


def test_a_part_of_the_own_data_gives_rows_with_labels(tmp_path: Path) -> None:
    read = own_rows("small", tmp_path, "test", LABELS, ("text",), 0, 0)
    assert [(row.text, row.label) for row in read.rows] == [(example.text, example.label) for example in TEST]
    assert (read.split, read.usable, read.left_out) == ("test", 3, 0)
    assert len(own_rows("small", tmp_path, "test", LABELS, ("text",), 2, 0).rows) == 2
    (other,) = own_rows("small", tmp_path, "validation", LABELS, ("text",), 0, 0).rows
    assert (other.text, other.label) == ("a validation text", 1)


@pytest.mark.parametrize(
    ("model", "split", "sentence"),
    [
        ("small", "train", "Unknown split 'train'. Choose one of: test, validation."),
        (
            "owner/model",
            "test",
            "owner/model is no embedded model, so it has no data of its own. Give a table, or a file with a text .*",
        ),
        ("small", "test", "Give the folder with --data."),
    ],
)
def test_other_models_parts_and_missing_data_are_a_sentence(model: str, split: str, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=f"^{sentence}$"):
        own_rows(model, None, split, LABELS, ("text",), 0, 0)


def test_the_own_data_are_evaluated_from_the_command_line(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_job.catalog, "load", lambda *_names, **_rest: bert)
    asked = ("evaluate", "--model", "small", "--data", str(tmp_path), "--out", str(tmp_path / "out"), *SHARED)
    result = CliRunner().invoke(app, [*asked, "--format", "own"])
    assert result.exit_code == 0, result.stderr
    assert "Part test of " in result.stderr
    manifest, rows, _ = read_set(tmp_path / "out")
    assert rows["text"].tolist() == [example.text for example in TEST]
    assert manifest["data"] | {"sha256": ""} == {
        "name": tmp_path.name,
        "sha256": "",
        "format": "own",
        "split": "test",
        "left_out": 0,
        "problems": [],
    }
    assert "--format own --split test --preset full" in manifest["command"]
    (tmp_path / "spec.json").write_text(
        SetSpec("small", str(tmp_path), format="own", methods=("occlusion",), out=str(tmp_path / "spec")).as_json()
    )
    by_spec = CliRunner().invoke(app, ["evaluate", "--spec", str(tmp_path / "spec.json")])
    assert by_spec.exit_code == 0, by_spec.stderr
    assert read_set(tmp_path / "spec")[1]["text"].tolist() == rows["text"].tolist()
    refused = CliRunner().invoke(app, [*asked, "--format", "own", "--column", "review"])
    assert (refused.exit_code, refused.stderr) == (2, "--column does not go with --format own. Omit it.\n")


def test_pairs_keep_their_second_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Example("a premise", "a hypothesis", 0)
    monkeypatch.setattr(Task, "read", staticmethod(lambda _folder: Splits((), (), (pair,))))
    (row,) = own_rows("small", tmp_path, "test", LABELS, ("premise", "hypothesis"), 0, 0).rows
    assert (row.text, row.pair, row.label) == ("a premise", "a hypothesis", 0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--format", "own", "--split", "train"), "Unknown split 'train'. Choose one of: test, validation."),
        (
            ("--format", "own", "--model", "smollm2:completion"),
            "smollm2:completion is no embedded model, so it has no data of its own. Give a table, or a file with a "
            "text per line.",
        ),
        (("--format", "own", "--label-class", "pos=positive"), "--label-class does not go with --format own. Omit it."),
        (("--format", "none", "--split", "test"), "Unknown format 'none'. Choose one of: table, own, eraser."),
        ((), "Name the file of the rows with --data FILE, or add --format own."),
    ],
)
def test_what_cannot_be_is_said_before_a_model_is_loaded(
    options: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_job.catalog, "load", lambda *_names, **_rest: pytest.fail("a model was loaded"))
    result = CliRunner().invoke(app, ["evaluate", *options])
    assert (result.exit_code, result.stderr) == (2, f"{sentence}\n")


def test_without_data_the_command_names_none() -> None:
    spec = SetSpec("small", "", format="own", split="test")
    assert spec.title == "small"
    assert "--data" not in spec.shell_command()
    assert "--data explainers" in SetSpec("small", "explainers/.", format="own").shell_command()


def test_a_folder_is_no_table(hub_folder: Path, tmp_path: Path) -> None:
    asked = ("evaluate", "--model", str(hub_folder), "--data", str(tmp_path), "--out", str(tmp_path / "out"), *SHARED)
    result = CliRunner().invoke(app, asked)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        2,
        f"{tmp_path} is a folder. Give a table, or say with --format what is in it: own, the data of an embedded "
        "model, or eraser, an ERASER data set.",
    )


def test_every_line_of_a_text_file_is_a_row(hub_folder: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text('the "good, film" was good\n\na bad plot\u2028a dull one\n', encoding="utf-8")
    read = labelled_rows.read_file(texts, labelled_rows.Columns(), ())
    assert [(row.line, row.text) for row in read.rows] == [
        (1, 'the "good, film" was good'),
        (3, "a bad plot"),
        (3, "a dull one"),
    ]
    assert [example.text for example in user_texts.parse_texts(texts.read_bytes(), texts.name) if example.text] == [
        row.text for row in read.rows
    ]
    assert labelled_rows.column_names(texts.read_bytes(), texts.name) == ("text",)
    with pytest.raises(DataUnavailable, match=r"reads pairs, premise and hypothesis\. Give a table\."):
        labelled_rows.read_file(texts, labelled_rows.Columns(), (), ("premise", "hypothesis"))
    other = tmp_path / "other.txt"
    other.write_bytes(b"\xef\xbb\xbfa good film\r\na \xff film\r\n")
    windows = labelled_rows.read_file(other, labelled_rows.Columns(), ())
    assert [row.text for row in windows.rows] == ["a good film"]
    assert windows.problems == ("Line 2 is not UTF-8. Save the file as UTF-8. The row is left out.",)
    with pytest.raises(DataUnavailable, match="has no column 'label'"):
        labelled_rows.read_file(texts, labelled_rows.Columns(label="label"), LABELS)
    line = ("evaluate", "--model", str(hub_folder), "--data", str(texts), "--out", str(tmp_path / "out"), *SHARED)
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.stderr
    assert read_set(tmp_path / "out")[1]["text"].tolist() == [row.text for row in read.rows]


def test_a_copy_of_a_file_is_called_as_the_file(tmp_path: Path) -> None:
    """The page shows the command before it has written the copy."""
    spec = SetSpec("small", "", name="mine.csv")
    assert "--data mine.csv" in spec.shell_command()
    assert SetSpec("small", "", out=str(tmp_path)).check()
