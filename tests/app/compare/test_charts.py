import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.compare.charts import agreement, curves
from app.compare.runs import Run
from explainers.methods.registry import method_spec
from explainers.metrics.agreement import AGREEMENTS
from explainers.results.comparison import Comparison

Ran = Callable[..., Run]
METHODS = ("integrated_gradients", "lime", "occlusion")


@pytest.fixture
def comparison(ran: Ran) -> Comparison:
    return ran(methods=METHODS).comparison()


def lines(figure: Any, side: str) -> list[Any]:
    """The solid lines of one of the two plots: x is removed, x2 kept."""
    return [each for each in figure.data if each.xaxis == side and each.fill is None and each.line.width == 2]


def test_one_line_per_method_in_both_plots(comparison: Comparison) -> None:
    figure = curves(comparison, percent=20, reverse=False)
    for side in ("x", "x2"):
        assert [line.name for line in lines(figure, side)] == ["Integrated gradients", "LIME", "Occlusion"]
        assert [line.line.color for line in lines(figure, side)] == [method_spec(method).colour for method in METHODS]
    assert [line.showlegend for line in figure.data if line.legendgroup == "lime"] == [True, False]


def test_the_lines_are_the_erasure_curves(comparison: Comparison) -> None:
    figure = curves(comparison, percent=20, reverse=True)
    for result, removed, kept in zip(comparison.results, lines(figure, "x"), lines(figure, "x2"), strict=True):
        label = result.curves.label
        assert list(removed.x) == pytest.approx([0, 20, 40, 60, 80, 100])
        assert list(removed.y) == pytest.approx(list(result.curves.removed[:, label]))
        assert list(kept.y) == pytest.approx(list(result.curves.kept[:, label]))
        assert removed.y[0] == pytest.approx(kept.y[-1])  # nothing removed is everything kept


def test_reverse_lines_can_be_left_out(comparison: Comparison) -> None:
    with_them = [each for each in curves(comparison, percent=20, reverse=True).data if "reverse" in each.name]
    assert [each.name for each in with_them] == [
        f"{name}, reverse order" for name in ("Integrated gradients", "LIME", "Occlusion")
    ]
    for line, result in zip(with_them, comparison.results, strict=True):
        assert line.line.dash == "dot"
        assert sorted(line.x) == pytest.approx([0, 20, 40, 60, 80, 100])
        assert dict(zip(line.x, line.y, strict=True))[0] == pytest.approx(result.curves.full)
    assert not [each for each in curves(comparison, percent=20, reverse=False).data if "reverse" in each.name]


def test_the_band_encloses_95_percent_of_the_random_orders(comparison: Comparison) -> None:
    assert comparison.random_control is not None
    (removed, _kept) = [each for each in curves(comparison, percent=20, reverse=False).data if each.fill == "toself"]
    assert removed.name == "10 random orders, 95 %"
    orders = np.stack([path.removed[:, path.label] for path in comparison.random_control.curves])
    low, high = np.quantile(orders, (0.025, 0.975), axis=0)
    assert list(removed.y[:6]) == pytest.approx(list(high))
    assert list(removed.y[6:]) == pytest.approx(list(low[::-1]))


def test_without_the_random_control_there_is_no_band(comparison: Comparison) -> None:
    figure = curves(replace(comparison, random_control=None), percent=20, reverse=False)
    assert not [each for each in figure.data if each.fill == "toself"]


@pytest.mark.parametrize("percent", [5, 20, 100])
def test_the_slider_draws_a_line_through_both_plots(comparison: Comparison, percent: int) -> None:
    shapes = curves(comparison, percent=percent, reverse=False).layout.shapes
    assert {(shape.xref, shape.x0, shape.x1) for shape in shapes} == {("x", percent, percent), ("x2", percent, percent)}


def test_at_zero_there_is_no_line(comparison: Comparison) -> None:
    assert not curves(comparison, percent=0, reverse=False).layout.shapes


def test_the_axes_name_the_operator_that_erases(ran: Ran, comparison: Comparison) -> None:
    layout = curves(comparison, percent=20, reverse=False).layout
    assert layout.xaxis.title.text == "% of the units removed (mask)"
    assert layout.xaxis2.title.text == "% of the units kept (others: mask)"
    assert layout.yaxis.title.text == "probability of the class"


def test_nothing_that_was_typed_is_in_a_plot(ran: Ran) -> None:
    drawn = curves(ran("<b>zzyzx</b> good", methods=METHODS).comparison(), percent=20, reverse=True).to_json()
    assert "zzyzx" not in drawn


@pytest.mark.parametrize("done", [(), ("occlusion",)])
def test_a_run_on_its_way_can_be_drawn(ran: Ran, done: tuple[str, ...]) -> None:
    comparison = replace(ran(methods=done).comparison(), random_control=None)
    assert len(lines(curves(comparison, percent=20, reverse=True), "x")) == len(done)


def test_one_random_order_is_not_drawn_beside_the_band_of_many(ran: Ran) -> None:
    figure = curves(ran(methods=("occlusion", "random")).comparison(), percent=20, reverse=False)
    assert [line.name for line in lines(figure, "x")] == ["Occlusion"]


@pytest.mark.parametrize("measure", AGREEMENTS, ids=[measure.id for measure in AGREEMENTS])
def test_every_method_agrees_with_itself_and_the_matrix_is_symmetric(comparison: Comparison, measure: Any) -> None:
    (drawn,) = agreement(comparison, measure).data
    values = np.asarray(drawn.z, dtype=float)
    assert np.diag(values) == pytest.approx(1)
    assert values == pytest.approx(values.T)
    assert list(drawn.x) == list(drawn.y) == ["Integrated gradients", "LIME", "Occlusion"]
    assert all(re.fullmatch(r"-?\d\.\d\d", text) for row in drawn.text for text in row)


def test_agreement_that_is_not_defined_is_not_a_number_on_the_page(ran: Ran) -> None:
    (drawn,) = agreement(ran("good", methods=METHODS).comparison(), AGREEMENTS[0]).data
    assert {text for row in drawn.text for text in row} == {"–"}


def test_signs_are_compared_between_signed_methods_only(bert: Any, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.catalog.load", lambda name, **_rest: bert)
    comparison = ran("the film was good", methods=("occlusion", "attention_mean")).comparison()
    (measure,) = (each for each in AGREEMENTS if each.signed_only)
    assert list(agreement(comparison, measure).data[0].x) == ["Occlusion"]


def test_signs_of_unsigned_methods_alone_make_an_empty_matrix(
    bert: Any, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.models.catalog.load", lambda name, **_rest: bert)
    comparison = ran("the film was good", methods=("attention_mean", "attention_last")).comparison()
    (measure,) = (each for each in AGREEMENTS if each.signed_only)
    assert len(agreement(comparison, measure).data[0].x) == 0
