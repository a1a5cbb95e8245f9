"""A fifth metric, registered at run time, in every table, export and sentence."""

import csv
import io
import math
from collections.abc import Callable, Iterator

import pytest

from explainers.api import explain
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.models.frozen_model import FrozenModel
from explainers.report.document import document
from explainers.report.metric_rows import metric_rows
from explainers.report.tables import csv_metrics, metrics_frame
from explainers.report.terminal import comparison_lines
from explainers.results.attribution import ErasureCurves
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS

Compared = Callable[..., Comparison]
RIGHT, WRONG = (1.0, *(0.0,) * 9), (-1.0, *(0.0,) * 8, 1.0)
TEN = "wonderful b c d e f g h i j"


def fall(curves: ErasureCurves) -> float:
    """p(x) - p(x without the top 20 %), not defined where nothing falls."""
    difference = curves.full - curves.when_removed(20)
    return difference if difference > 0 else math.nan


@pytest.fixture
def fifth() -> Iterator[MetricSpec]:
    spec = MetricSpec("fall", "Fall", fall, True, meaning="The fall at 20 %.", places=1)
    METRICS.register(spec)
    yield spec
    METRICS.unregister(spec.id)


def row_of(page: str, method: str) -> str:
    return page.partition(f"<tr><td>{method}</td>")[2].partition("</tr>")[0]


@pytest.mark.usefixtures("fifth")
def test_the_document_has_its_column_with_its_places_and_a_dash_where_it_is_not_defined(compared: Compared) -> None:
    page = document(compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG}))
    assert '<th title="The fall at 20 %.">Fall ↑</th>' in page
    assert ">0.8</td>" in row_of(page, "LIME")
    assert ">–</td>" in row_of(page, "Occlusion")


@pytest.mark.usefixtures("fifth")
def test_the_terminal_has_its_column(compared: Compared) -> None:
    lines = list(comparison_lines(compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG})))
    (head,) = (line for line in lines if line.startswith("erased by mask"))
    assert head.split()[-3:] == ["Fall", "seconds", "calls"]
    lime, occlusion = ([line.split() for line in lines if line.startswith(name)][1] for name in ("lime", "occlusion"))
    assert (lime[5].lstrip("*"), occlusion[5]) == ("0.8", "–")


@pytest.mark.usefixtures("fifth")
def test_the_files_have_its_columns_and_an_empty_cell_where_it_is_not_defined(compared: Compared) -> None:
    comparison = compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG})
    lime, occlusion, _ = csv.DictReader(io.StringIO(csv_metrics(comparison), newline=""))
    assert float(lime["fall"]) == pytest.approx(0.8)
    assert occlusion["fall"] == ""
    assert list(lime).index("fall") == list(lime).index("dffot_sd") + 1
    assert comparison.to_frame("metrics")["fall"].isna().tolist()[:2] == [False, True]
    assert comparison.as_dict()["explanations"][1]["metrics"]["fall"] is None  # JSON has no NaN


@pytest.mark.usefixtures("fifth")
def test_where_it_is_not_defined_for_a_random_order_the_mean_is_empty(compared: Compared) -> None:
    _, _, random = metric_rows(compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG}))
    assert math.isnan(random.metrics["fall"])  # most random orders do not begin with "wonderful"


def test_a_metric_that_was_registered_after_the_comparison_is_empty(compared: Compared) -> None:
    comparison = compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG})
    METRICS.register(MetricSpec("late", "Late", fall, True, meaning="x"))
    try:
        lime, *_ = metric_rows(comparison)
        assert math.isnan(lime.metrics["late"])
        assert metrics_frame(comparison)["late"].isna().all()
        assert row_of(document(comparison), "LIME").count(">–</td>") == 1
        assert "–" in "".join(comparison_lines(comparison))
    finally:
        METRICS.unregister("late")


def test_its_noise_is_computed(bert: FrozenModel) -> None:
    def first_letter(curves: ErasureCurves) -> float:
        """Depends on nothing but the first unit in the order."""
        return float(curves.removed[1, curves.label])

    spec = MetricSpec("first", "First", first_letter, True, meaning="p without the top unit.")
    METRICS.register(spec)
    try:
        comparison = explain(bert, "the film was not a very good plot", methods=["lime", "occlusion"], samples=20)
        noise = {result.attribution.method: result.noise["first"] for result in comparison.results}
        assert noise["lime"] > 0
        assert noise["occlusion"] == 0
        assert comparison.random_control is not None
        assert len(comparison.random_control.scores["first"]) == RANDOM_ORDERS
    finally:
        METRICS.unregister("first")
