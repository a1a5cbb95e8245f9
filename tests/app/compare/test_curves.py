import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.compare.runs import Run
from app.compare.sheet_rows import curve_payload
from explainers.methods.registry import method_spec
from explainers.results.comparison import Comparison

Ran = Callable[..., Run]
METHODS = ("integrated_gradients", "lime", "occlusion")


@pytest.fixture
def comparison(ran: Ran) -> Comparison:
    return ran(methods=METHODS).comparison()


def curves(comparison: Comparison, **options: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"featured": ("lime",), "percent": 20, "reverse": False, "units": "words"}
    return curve_payload(comparison, **{**defaults, **options})


def test_every_method_has_a_line_and_the_featured_ones_are_marked(comparison: Comparison) -> None:
    lines = curves(comparison)["lines"]
    assert [(line["name"], line["featured"]) for line in lines] == [
        ("Consensus", False),
        ("Integrated gradients", False),
        ("LIME", True),
        ("Occlusion", False),
    ]
    assert [line["colour"] for line in lines] == [method_spec(method).colour for method in ("consensus", *METHODS)]


def test_the_lines_are_the_erasure_curves(comparison: Comparison) -> None:
    for result, line in zip(comparison.results, curves(comparison)["lines"], strict=True):
        label = result.curves.label
        assert line["shares"] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
        assert line["removed"] == pytest.approx(list(result.curves.removed[:, label]), abs=1e-4)
        assert line["kept"] == pytest.approx(list(result.curves.kept[:, label]), abs=1e-4)
        assert line["removed"][0] == line["kept"][-1]  # nothing removed is everything kept
        reverse = dict(zip(line["reverse"]["shares"], line["reverse"]["values"], strict=True))
        assert reverse[0] == pytest.approx(result.curves.full, abs=1e-4)


def test_the_random_orders_are_their_mean_and_their_95_percent_band(comparison: Comparison) -> None:
    control = comparison.random_control
    assert control is not None
    orders = np.stack([path.removed[:, path.label] for path in control.curves])
    low, high = np.quantile(orders, (0.025, 0.975), axis=0)
    random = curves(comparison)["random"]["removed"]
    assert random["mean"] == pytest.approx(list(orders.mean(axis=0)), abs=1e-4)
    assert (random["low"], random["high"]) == (pytest.approx(list(low), abs=1e-4), pytest.approx(list(high), abs=1e-4))


def test_without_the_random_control_there_is_no_band(comparison: Comparison) -> None:
    assert curves(replace(comparison, random_control=None))["random"] is None


def test_one_random_order_is_not_drawn_beside_the_mean_of_many(ran: Ran) -> None:
    lines = curves(ran(methods=("occlusion", "random")).comparison())["lines"]
    assert [line["name"] for line in lines] == ["Occlusion"]


def test_the_axes_name_the_operator_and_the_titles_the_class(comparison: Comparison) -> None:
    data = curves(comparison)
    assert data["axes"] == ["% of the words removed (mask)", "% of the words kept (others: mask)"]
    assert data["titles"][0] == f"p({comparison.label}) without the most important"


def test_nothing_that_was_typed_is_in_a_plot(ran: Ran) -> None:
    assert "zzyzx" not in json.dumps(curves(ran("<b>zzyzx</b> good", methods=METHODS).comparison()))


@pytest.mark.parametrize("done", [(), ("occlusion",)])
def test_a_run_on_its_way_can_be_drawn(ran: Ran, done: tuple[str, ...]) -> None:
    comparison = replace(ran(methods=done).comparison(), random_control=None)
    assert len(curves(comparison)["lines"]) == len(done)
