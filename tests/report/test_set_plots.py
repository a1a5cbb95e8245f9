"""The plots of an explained set on the page that stands alone."""

import pandas as pd
import pytest

from explainers.evaluation.names import CURVE_SHARES, RANDOM
from explainers.evaluation.set_frames import EVIDENCE, metric_column
from explainers.evaluation.set_summary import MeanCurves, MethodSummary
from explainers.metrics.bootstrap import Interval
from explainers.report.plots import cascade_plot, cost_plot, curve_plot, evidence_plot, method_plots, trust_plot

COLUMN = metric_column(EVIDENCE, "mask")
TABLE = [
    MethodSummary("lime", 9, {COLUMN: Interval(0.5, 0.4, 0.6, 9)}, passes=500.0),
    MethodSummary("occlusion", 9, {COLUMN: Interval(0.3, 0.1, 0.4, 9)}, passes=20.0),
    MethodSummary(RANDOM, 9, {COLUMN: Interval(-0.2, -0.3, -0.1, 9)}),
]
CURVE = MeanCurves("lime", *((Interval(0.5, 0.4, 0.6, 9),) * len(CURVE_SHARES),) * 2)


def test_a_method_is_a_dot_with_its_interval_and_chance_a_line() -> None:
    (axis,) = evidence_plot(TABLE, "mask").axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Random orders", "Occlusion", "LIME"]
    assert [list(line.get_xdata()) for line in axis.lines[-3:]] == [[0.4, 0.6], [0.5], [-0.2, -0.2]]


def test_only_methods_that_cost_passes_stand_against_cost() -> None:
    (axis,) = cost_plot(TABLE, "mask").axes
    assert [list(line.get_xdata()) for line in axis.lines[1:4:2]] == [[500.0], [20.0]]
    assert axis.get_xscale() == "log"


def test_curves_are_in_percent() -> None:
    (axis,) = curve_plot([CURVE], kept=False).axes
    assert list(axis.lines[0].get_xdata()) == [100 * share for share in CURVE_SHARES]


def test_a_set_without_costs_or_curves_has_the_dots_alone() -> None:
    drawn = method_plots(TABLE[2:], [], "mask")
    assert drawn.count("<svg") == 1
    assert "Random orders" in drawn


def test_many_inputs_are_drawn_as_cells_and_none_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = pd.DataFrame({"agreement": [0.2, 0.2, 0.8], "evidence": [0.1, 0.1, 0.5], "right": [True, None, False]})
    assert "no label" in trust_plot(points)
    monkeypatch.setattr("explainers.report.plots.MOST_POINTS", 2)
    assert "<svg" in trust_plot(points)
    assert (trust_plot(points[:0]), cascade_plot({})) == ("", "")
