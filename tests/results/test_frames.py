from collections.abc import Callable
from dataclasses import replace

import pytest

from explainers.api import explain
from explainers.metrics.faithfulness import METRICS
from explainers.models.frozen_model import FrozenModel
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS


@pytest.fixture
def comparison(bag: Callable[..., FrozenModel]) -> Comparison:
    model = bag({"great": 0.3, "dull": -0.2, "the": 0.0}, additive=True)
    return explain(model, "the dull great", methods=["occlusion", "lime", "random"], label="positive", samples=20)


def test_scores_have_a_row_per_method_and_unit(comparison: Comparison) -> None:
    table = comparison.to_frame()
    assert table["method"].tolist() == ["consensus"] * 3 + ["lime"] * 3 + ["occlusion"] * 3 + ["random"] * 3
    occlusion = table[table["method"] == "occlusion"]
    assert occlusion["unit"].tolist() == ["the", "dull", "great"]
    assert occlusion["score"].tolist() == pytest.approx([0.0, -0.2, 0.3])
    assert occlusion["rank"].tolist() == [2, 3, 1]
    assert occlusion[["start", "end"]].to_numpy().tolist() == [[0, 3], [4, 8], [9, 14]]
    assert occlusion["left"].isna().all()
    assert occlusion["spread"].isna().all()
    assert (table[table["method"] == "lime"]["spread"] >= 0).all()


def test_metrics_have_a_row_per_method_and_one_for_the_control(comparison: Comparison) -> None:
    table = comparison.to_frame("metrics").set_index("method")
    assert table.index.tolist() == [
        "consensus",
        "lime",
        "occlusion",
        "random",
    ]  # the control, not one order
    for result in comparison.results[:3]:
        for metric in METRICS:
            row = table.loc[result.attribution.method]
            assert row[metric.id] == result.metrics[metric.id]
            assert row[f"{metric.id}_sd"] == result.noise[metric.id]
    control = comparison.random_control
    assert control is not None
    assert table.loc["random", "aopc_c"] == control.metrics["aopc_c"]
    assert table.loc["random", "aopc_c_sd"] == control.deviations["aopc_c"]
    assert table.loc["random", ["seconds", "model_calls", "completeness_gap"]].isna().all()
    assert table.loc["occlusion", "model_calls"] == 4


def test_without_the_control_the_single_random_order_is_a_method(comparison: Comparison) -> None:
    table = replace(comparison, random_control=None).to_frame("metrics").set_index("method")
    assert table.index.tolist() == ["consensus", "lime", "occlusion", "random"]
    assert table["model_calls"].notna().all()


def test_curves_have_a_row_per_point(comparison: Comparison) -> None:
    table = comparison.to_frame("curves")
    assert len(table) == 4 * (4 + RANDOM_ORDERS)
    occlusion = table[table["method"] == "occlusion"]  # great, the, dull
    assert occlusion["share"].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert occlusion["removed"].tolist() == pytest.approx([0.6, 0.3, 0.3, 0.5])
    assert occlusion["kept"].tolist() == pytest.approx([0.5, 0.8, 0.8, 0.6])
    assert table["method"].unique().tolist()[4:] == [f"random order {number}" for number in range(1, RANDOM_ORDERS + 1)]


def test_whole_numbers_stay_whole_where_some_are_missing(comparison: Comparison) -> None:
    kinds = comparison.to_frame("metrics").dtypes.astype(str)
    assert kinds["model_calls"] == "Int64"
    assert {kinds[metric.id] for metric in METRICS} == {"float64"}
    assert str(comparison.to_frame("scores").dtypes["left"]) == "Int64"


def test_a_unit_that_cannot_be_encoded_is_replaced(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 0.3}, additive=True)
    comparison = explain(model, "great", methods=["occlusion"])
    unit = replace(comparison.decision.encoding.units[0], text="gr\ud800at")
    attribution = comparison.results[0].attribution
    changed = replace(attribution, encoding=replace(attribution.encoding, units=(unit,)))
    result = replace(comparison.results[0], attribution=changed)
    assert replace(comparison, results=(result,)).to_frame()["unit"].tolist() == ["gr\ufffdat"]


@pytest.mark.parametrize("table", ["scores", "metrics", "curves"])
def test_a_comparison_without_results_has_empty_frames(comparison: Comparison, table: str) -> None:
    empty = replace(comparison, results=(), random_control=None).to_frame(table)  # type: ignore[arg-type]
    assert empty.empty
    assert "method" in empty.columns
