"""A comparison as lines for a terminal."""

from pathlib import Path

import pytest

from explainers import explain
from explainers.comparison.answer import answered
from explainers.errors import DataUnavailable
from explainers.evaluation.data_set import split_inputs
from explainers.models.frozen_model import FrozenModel
from explainers.report.terminal import comparison_lines
from tests.report.conftest import Compared

TEXT = "The film was good. The plot was dull and long and it went on and on! Not bad, not good"


def test_a_sentence_is_its_number_and_its_beginning(bert: FrozenModel) -> None:
    def strongest(opened: tuple[int, ...]) -> str:
        comparison = explain(bert, TEXT, methods="occlusion", unit="sentence", opened=opened)
        return next(line for line in comparison_lines(comparison) if line.startswith("occlusion "))

    for sentence in (
        "0: “The film was good.” ",
        "1: “The plot was dull and long and it went…” ",
        "2: “Not bad, not good” ",
    ):
        assert sentence in strongest(())
    assert "0: " not in strongest((0,))


def test_punctuation_stands_in_quotation_marks(compared: Compared) -> None:
    scores = (0.5, 0.0, 0.9, 0.1, 0.0, 0.0)
    lines = list(comparison_lines(compared("Good film , that is here", methods={"lime": scores, "occlusion": scores})))
    strongest = next(line for line in lines if line.startswith("lime "))
    assert strongest.split(maxsplit=1)[1].startswith("“,” +0.900, Good +0.500, that +0.100, ")


@pytest.mark.parametrize(("weights", "told"), [((0.9, 0.5, *(0.0,) * 8), True), ((0.0,) * 10, False)])
def test_a_star_is_explained_where_there_is_one(compared: Compared, weights: tuple[float, ...], *, told: bool) -> None:
    scores = (0.9, 0.5, *(0.0,) * 8)
    comparison = answered(
        compared(
            " ".join("abcdefghij"), methods=dict.fromkeys(("consensus", "lime", "occlusion"), scores), weights=weights
        ),
        finished=True,
    )
    lines = list(comparison_lines(comparison))
    assert any(line.startswith("*lime ") for line in lines) == told
    assert any(line.startswith("* supported: better than random orders") for line in lines) == told


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"The file or folder .*mine\.csv does not exist\."):
        split_inputs("sst2", tmp_path / "mine.csv", "test", 5, (), 0)
