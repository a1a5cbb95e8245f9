"""The plots of an evaluation."""

import numpy as np
import pytest

from app.evaluate.charts import LABEL, apart, cost_chart
from explainers.evaluation.set_summary import MethodSummary, name_of
from explainers.metrics.bootstrap import Interval


def summary(method: str, mean: float, passes: float | None) -> MethodSummary:
    return MethodSummary(method, 10, {"evidence_mask": Interval(mean, mean - 0.02, mean + 0.02, 10)}, passes=passes)


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([], []),
        ([3.0], [3.0]),
        ([0.0, 40.0], [0.0, 40.0]),  # far enough apart
        ([10.0, 10.0], [5.0, 15.0]),  # both give way alike
        ([10.0, 12.0, 50.0], [6.0, 16.0, 50.0]),
    ],
)
def test_neighbours_move_apart_as_little_as_possible(places: list[float], moved: list[float]) -> None:
    assert apart(np.array(places), 10.0) == pytest.approx(moved)


def test_places_stay_between_the_bounds() -> None:
    assert apart(np.array([1.0, 1.0]), 10.0, 0.0, 30.0) == pytest.approx([0.0, 10.0])
    assert apart(np.array([29.0, 30.0]), 10.0, 0.0, 30.0) == pytest.approx([20.0, 30.0])
    assert apart(np.array([5.0, 5.0, 5.0]), 10.0, 0.0, 5.0) == pytest.approx([0.0, 10.0, 20.0])  # no room for all


def test_no_two_names_beside_the_costs_overlap() -> None:
    table = [
        summary("cimi", 0.30, 1),
        summary("ciem", 0.30, 1),
        summary("ivra", 0.301, 1),
        summary("occlusion", 0.42, 26),
        summary("integrated_gradients", 0.41, 50),
        summary("lime", 0.45, 500),
        summary("kernel_shap", 0.451, 500),
        summary("random", 0.1, None),
    ]
    figure = cost_chart(table, "mask")
    names = {note.text: note for note in figure.layout.annotations}
    assert set(names) == {name_of(row.method) for row in table if row.passes}
    bottom, top = figure.layout.yaxis.range
    assert bottom < 0.1  # the line of the random orders
    assert top > 0.471
    pixels = (figure.layout.height - 60) / (top - bottom)
    heights = sorted((note.y - bottom) * pixels - note.ay for note in names.values())
    assert np.diff(heights).min() >= LABEL - 1e-6
    assert heights[0] >= 0
    assert heights[-1] <= figure.layout.height - 60
    assert {note.xanchor for note in names.values()} == {"left", "right"}
    assert names["CIEM"].x == 0  # on the logarithmic axis
    assert cost_chart([summary("random", 0.1, None)], "mask").layout.annotations == ()
