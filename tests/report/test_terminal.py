"""A comparison as lines for a terminal."""

from pathlib import Path

import pytest

from explainers import explain
from explainers.errors import DataUnavailable
from explainers.evaluation.data_set import split_inputs
from explainers.models.frozen_model import FrozenModel
from explainers.report.terminal import comparison_lines

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


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"The file or folder .*mine\.csv does not exist\."):
        split_inputs("sst2", tmp_path / "mine.csv", "test", 5, (), 0)
