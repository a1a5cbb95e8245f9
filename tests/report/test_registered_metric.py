"""A fifth metric, registered at run time, in every table, export and sentence."""

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from explainers.api import explain
from explainers.evaluation.frames import summary_frame
from explainers.metrics.faithfulness import METRICS, aopc_comprehensiveness
from explainers.metrics.spec import MetricSpec
from explainers.models.frozen_model import FrozenModel
from explainers.report.document import document
from explainers.report.evaluation_tables import evaluation_cells
from explainers.report.exports import csv_metrics, metrics_frame
from explainers.report.metric_rows import metric_rows
from explainers.report.terminal import comparison_lines
from explainers.results.comparison import Comparison
from explainers.results.erasure_curves import ErasureCurves

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
def test_where_it_is_not_defined_for_a_random_order_no_method_leads(compared: Compared) -> None:
    comparison = compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG})
    lime, occlusion, random = metric_rows(comparison)
    assert math.isnan(random.metrics["fall"])  # most random orders do not begin with "wonderful"
    assert "fall" not in lime.best | occlusion.best | lime.beats_random | occlusion.beats_random
    assert "aopc_c" in lime.best  # the others lead as before


def test_a_metric_that_was_registered_after_the_comparison_is_empty_and_has_no_leader(compared: Compared) -> None:
    comparison = compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG})
    METRICS.register(MetricSpec("late", "Late", fall, True, meaning="x"))
    try:
        lime, *_ = metric_rows(comparison)
        assert math.isnan(lime.metrics["late"])
        assert "late" not in lime.best | lime.beats_random
        assert metrics_frame(comparison)["late"].isna().all()
        assert row_of(document(comparison), "LIME").count(">–</td>") == 1
        assert "–" in "".join(comparison_lines(comparison))
    finally:
        METRICS.unregister("late")


def test_its_noise_is_computed_so_that_sampling_alone_makes_no_leader(bert: FrozenModel) -> None:
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
        assert len(comparison.random_control.scores["first"]) == 10
    finally:
        METRICS.unregister("first")


@pytest.mark.parametrize("noise", [math.nan, 1.0])
def test_a_difference_within_its_noise_has_no_leader(compared: Compared, noise: float) -> None:
    spec = MetricSpec("share", "Share", aopc_comprehensiveness, True, meaning="x")
    METRICS.register(spec)
    try:
        comparison = compared(TEN, methods={"lime": RIGHT, "occlusion": WRONG})
        quiet, *_ = metric_rows(comparison)
        assert "share" in quiet.best
        results = tuple(replace(each, noise={**each.noise, "share": noise}) for each in comparison.results)
        noisy, *_ = metric_rows(replace(comparison, results=results))
        assert "share" not in noisy.best
    finally:
        METRICS.unregister("share")


@pytest.mark.usefixtures("fifth")
def test_the_tables_of_an_evaluation_have_its_column() -> None:
    interval = {"mean": 0.5, "low": 0.4, "high": 0.6, "texts": 3}
    row = {"method": "lime", "erasure": "mask", "texts": 3, **{metric.id: interval for metric in METRICS}}
    assert evaluation_cells([row], "mask")[0]["Fall ↑"] == "0.5 ± 0.1"
    assert summary_frame([row])["fall_low"].tolist() == [0.4]
    earlier = {name: value for name, value in row.items() if name != "fall"}
    undefined = {**row, "fall": dict.fromkeys(interval, math.nan)}
    assert [evaluation_cells([each], "mask")[0]["Fall ↑"] for each in (earlier, undefined)] == ["–", "–"]
