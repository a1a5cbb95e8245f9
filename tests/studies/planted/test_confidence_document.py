import pytest

from explainers.studies.planted.confidence_document import confidence_text, reliability_figure
from explainers.studies.planted.confidence_fit import Bin, fitted
from tests.studies.planted.test_confidence_fit import row


def test_every_bin_is_a_point_with_its_interval_and_its_number_of_inputs() -> None:
    bins = (Bin(0.5, 0.7, 4, 0.6, 0.75), Bin(0.9, 1.0, 40, 0.95, 0.9))
    (axis,) = reliability_figure(bins).axes
    points = [line.get_xydata()[0].tolist() for line in axis.lines if line.get_marker() == "o"]
    assert points == [[0.6, 0.75], [0.95, 0.9]]
    first, second = (interval.get_segments()[0][:, 1] for interval in axis.collections)
    assert first[0] < 0.75 < first[1]
    assert second[1] - second[0] < first[1] - first[0]
    assert [text.get_text() for text in axis.texts] == ["4", "40"]
    assert second == pytest.approx((0.7695, 0.9604), abs=1e-3)  # of 36 in 40, by Wilson's formula


def test_every_cell_has_its_share_and_its_number_of_inputs() -> None:
    rows = [row(seed, agreeing=seed % 5 > 0) for seed in range(60)]
    content, checked = fitted(rows, "command")
    share, low, high, number = content["cells"]["text, unfitted"][0]["right"]
    text = confidence_text(content, checked)
    assert f"| 1 to 15 | {share:.3f} [{low:.3f}, {high:.3f}] | {number} |" in text
    assert "with learned methods |" not in text  # of which there is none
    assert "better than the base rate" in text
