import pytest

from explainers.studies.planted.confidence_document import confidence_text, reliability_figure, text_by_test
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


def test_answers_are_counted_by_the_operators_under_which_they_hold() -> None:
    """Of two units, removed and kept one at a time: the planted one alone carries p."""
    carries, idle = [1000, 9000], [5000, 5000]
    methods = {"lime": idle, "kernel_shap": idle}
    curves = {erasure: {"consensus": carries, **methods} for erasure in ("mask", "delete", "zero")}
    random = {"mask": [idle] * 19, "delete": [idle] * 10, "zero": [idle] * 9 + [carries]}
    scores = {method: [2.0, 1.0] for method in ("lime", "kernel_shap")}
    holds = {"units": 2, "planted": [0], "scores": scores, "curves": curves, "random": random}
    wrong = {**holds, "planted": [1]}
    fails = {**holds, "random": {**random, "mask": [*[idle] * 18, carries]}}
    text = text_by_test([holds, wrong, fails])
    assert "beats 19 random orders under `mask`" in text
    assert "| passes | 1 of 2 | 0.500 [0.095, 0.905] | 2 |" in text
    assert "| does not pass | 1 of 2 | 1.000 [0.206, 1.000] | 1 |" in text
    assert text_by_test([{**holds, "curves": {"mask": {"lime": carries}}}]) == ""
