from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from explainers import explain
from explainers.__main__ import app
from explainers.commands import explain_rows
from explainers.errors import ExplanationError
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel

TEXTS = "review,id\nthe good film,A\n,B\na dull plot,C\n=1+1 good,D\n"
METHODS = ("--methods", "occlusion, gradient_x_input")


@pytest.fixture
def table(bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of four rows, one of them empty; the small BERT answers to every name."""
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: bert)
    path = tmp_path / "reviews.csv"
    path.write_text(TEXTS)
    return path


def ran(table: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ("explain", "--data", str(table), "--column", "review", *arguments))


def scores(table: Path, name: str, *arguments: str) -> pd.DataFrame:
    result = ran(table, "--id-column", "id", "--table", str(table.with_name(name)), *METHODS, *arguments)
    assert result.exit_code == 0, result.output
    return pd.read_parquet(table.with_name(name)) if name.endswith("parquet") else pd.read_csv(table.with_name(name))


def test_every_row_has_the_scores_that_it_has_alone(table: Path, bert: FrozenModel) -> None:
    frame = scores(table, "scores.parquet")
    assert frame.groupby("id", sort=False)["line"].first().to_dict() == {"A": 2, "C": 4, "D": 5}
    assert list(frame["method"].unique()) == ["consensus", "occlusion", "gradient_x_input"]
    alone = explain(bert, "a dull plot", methods=("occlusion", "gradient_x_input")).to_frame("scores")
    of_row = frame[frame["id"] == "C"]
    for column in ("method", "label", "unit", "start", "end", "rank"):
        assert list(of_row[column]) == list(alone[column])
    assert list(of_row["score"]) == pytest.approx(list(alone["score"]), abs=1e-6)
    assert not table.with_name("scores.parquet.part").exists()


def test_a_spreadsheet_runs_no_formula_of_it(table: Path) -> None:
    table.write_text("review,id\nthe good film,=1+1\n")
    assert set(scores(table, "scores.csv")["id"]) == {"'=1+1"}


def test_the_summary_names_rows_that_cannot_be_read(table: Path) -> None:
    result = ran(table, "--table", str(table.with_name("scores.csv")), *METHODS)
    assert result.stdout.splitlines() == [
        f"3 rows explained: {table.with_name('scores.csv')}",
        "1 row cannot be read:",
        "Line 3 has no text. The row is left out.",
    ]


def test_an_interrupted_run_goes_on(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scores(table, "whole.parquet")
    asked, real = [], explain_rows._explained

    def interrupted(*given: object) -> object:
        asked.append(given[2].id)  # type: ignore[attr-defined]
        if asked == ["A", "C"]:
            raise KeyboardInterrupt
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(explain_rows, "_explained", interrupted)
    place = ("--id-column", "id", "--table", str(table.with_name("scores.parquet")))
    first = ran(table, *place, *METHODS)
    assert (first.exit_code, first.stderr.splitlines()[-1]) == (
        130,
        "Interrupted after 1 of 3 rows. The same command goes on from there.",
    )
    other = ran(table, *place, "--methods", "occlusion")
    assert other.exit_code == 2
    assert "scores.parquet.part belongs to another run, with another value of: methods." in other.stderr
    pd.testing.assert_frame_equal(scores(table, "scores.parquet"), whole)
    assert asked == ["A", "C", "C", "D"]


def test_a_row_that_fails_keeps_no_other_away(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = explain_rows.decide

    def fails(model: FrozenModel, example: object, **rest: object) -> object:
        if "dull" in example.text:  # type: ignore[attr-defined]
            raise ExplanationError("It is dull.")
        return real(model, example, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(explain_rows, "decide", fails)
    result = ran(table, "--id-column", "id", "--table", str(table.with_name("scores.csv")), *METHODS)
    assert "1 row could not be explained. C: It is dull." in result.stdout
    assert set(pd.read_csv(table.with_name("scores.csv"))["id"]) == {"A", "D"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Say with --table where the scores are written, as in --table scores.parquet."),
        (("--table", "no/scores.csv"), "no is no folder. Make it, or choose another place for scores.csv."),
        (("--table", "scores.txt"), "A table cannot be written as 'scores.txt'."),
        (("--table", "scores.csv", "--html", "page.html"), "--html is about one input. Omit it, or --data."),
        (("--table", "scores.csv", "--methods", "cause_phi"), "narrators write sentences. Omit them from --methods."),
        (("--table", "scores.csv", "--column", "text"), "Choose with --column."),
        (("--table", "scores.csv", "--id-column", "number"), "Choose with --id-column."),
        (("--table", "reviews.csv"), "would replace the data. Choose another file for the scores."),
        (("--table", "scores.csv", "--class", "great"), "No row could be explained."),
        (("--table", "scores.csv", "--methods", "hypothesis_only"), "hypothesis_only needs a pair of texts."),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    table: Path, arguments: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    result = ran(table, *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


ROWS = ("explain", "--table", "scores.csv", "--data")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*ROWS, "mine.csv", "--column", "body"), "mine.csv has no column 'body'. Its columns are: "),
        ((*ROWS, "mine.txt", "--column", "body"), "mine.txt has a text per line and no columns. Omit --column."),
        ((*ROWS, "none.csv"), "none.csv cannot be read: No such file or directory."),
        (("explain", "--text", "A text", "--image", "none.png"), "none.png does not exist."),
        (("explain", "--text", "A text", "--image", "mine.csv"), "mine.csv cannot be read as an image."),
        (("evaluate", "--data", "mine.csv", "--label-column", "no"), "Choose with --label-column."),
    ],
)
def test_what_is_wrong_with_a_file_is_said_before_a_model_is_loaded(
    table: Path, arguments: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object, **__: object) -> None:
        raise AssertionError("the model is loaded")

    monkeypatch.setattr("explainers.models.catalog.load", load)
    monkeypatch.chdir(table.parent)
    table.with_name("mine.txt").write_text("A text\n")
    table.rename("mine.csv")
    column = ("--column", "review") if arguments[0] == "evaluate" else ()
    result = CliRunner().invoke(app, (*arguments, *column))
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_ctrl_c_is_one_line(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("explainers.models.catalog.load", interrupted)
    result = CliRunner().invoke(app, ("explain", "--text", "A text"))
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")
    result = CliRunner().invoke(
        app, ("evaluate", "--data", str(table), "--column", "review", "--out", str(tmp_path / "out"))
    )
    told = "Interrupted. The same command goes on after the last input that is done.\n"
    assert (result.exit_code, result.stderr) == (130, told)


def test_without_a_text_and_a_table_it_says_what_to_give() -> None:
    result = CliRunner().invoke(app, ("explain",))
    assert (result.exit_code, result.stderr.strip()) == (
        2,
        "There is no text. Give one with --text, or a table of them with --data.",
    )


def test_where_no_file_can_be_written_nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "load", lambda *_, **__: pytest.fail("a model was loaded"))
    for option in ("--table", "--html"):
        result = CliRunner().invoke(app, ("explain", "--text", "good", option, "no/scores.csv"))
        assert (result.exit_code, result.stderr.partition(".")[0]) == (2, "no is no folder")
