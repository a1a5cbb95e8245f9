import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from explainers.evaluation.names import EVALUATED_ORDERS, POSITION, RANDOM
from explainers.evaluation.record_file import Record
from explainers.evaluation.table import input_frame, paired_difference, summary_frame, summary_rows
from explainers.methods.registry import METHODS
from explainers.metrics.faithfulness import METRICS
from explainers.report.evaluation_tables import evaluation_markdown, row_name, rows_of_operator, write_tables


def record(text: int, method: str, **by: float) -> Record:
    values = {metric.id: by.get(metric.id, 0.0) for metric in METRICS}
    return {"text": text, "method": method, "weights": "", "metrics": {"mask": values}}


def row_of(records: Sequence[Record], method: str) -> Record:
    (row,) = (row for row in summary_rows(records) if row["method"] == method)
    return row


def test_the_table_has_means_and_gains_over_random_on_the_same_texts() -> None:
    records = [
        record(0, "occlusion", aopc_c=0.5, aopc_s=0.1),
        record(1, "occlusion", aopc_c=0.3, aopc_s=0.3),
        record(0, RANDOM, aopc_c=0.1, aopc_s=0.4),
        record(1, RANDOM, aopc_c=0.2, aopc_s=0.4),
        record(2, RANDOM, aopc_c=0.9, aopc_s=0.9),
    ]
    row = row_of(records, "occlusion")
    assert (row["texts"], row["erasure"]) == (2, "mask")
    assert row["aopc_c"]["mean"] == pytest.approx(0.4)
    assert row["aopc_c_gain"]["mean"] == pytest.approx((0.4 + 0.1) / 2)
    assert row["aopc_s_gain"]["mean"] == pytest.approx((0.3 + 0.1) / 2)  # lower is better
    assert row["aopc_s_gain"]["texts"] == 2
    assert row_of(records, RANDOM)["aopc_c"]["mean"] == pytest.approx(0.4)
    assert "aopc_c_gain" not in row_of(records, RANDOM)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.id)
def test_a_gain_is_positive_where_the_method_is_better_than_random(metric: Any) -> None:
    better, worse = (0.7, 0.2) if metric.higher_is_better else (0.2, 0.7)
    records = [record(0, "occlusion", **{metric.id: better}), record(0, RANDOM, **{metric.id: worse})]
    assert row_of(records, "occlusion")[f"{metric.id}_gain"]["mean"] == pytest.approx(0.5)
    better_by, worse_by = (
        paired_difference(records, *methods, metric, "mask")
        for methods in (("occlusion", RANDOM), (RANDOM, "occlusion"))
    )
    assert better_by is not None
    assert worse_by is not None
    assert (better_by.mean, worse_by.mean) == pytest.approx((0.5, -0.5))


def test_a_difference_is_paired_by_text() -> None:
    records = [
        *(record(text, "occlusion", aopc_c=text + 0.25) for text in (3, 1, 0, 2)),
        *(record(text, "lime", aopc_c=text) for text in range(5)),
        {"text": 4, "method": "occlusion", "weights": "", "failed": "Too long."},
    ]
    difference = paired_difference(records, "occlusion", "lime", METRICS[0], "mask")
    assert difference is not None
    assert (difference.mean, difference.low, difference.high, difference.texts) == (0.25, 0.25, 0.25, 4)
    assert paired_difference(records, "occlusion", "cimi", METRICS[0], "mask") is None


def test_gains_that_may_be_nothing_are_marked() -> None:
    sure = [record(text, "occlusion", aopc_c=0.5) for text in range(4)]
    unsure = [record(text, "attention_mean", aopc_c=0.1 * (-1) ** text) for text in range(4)]
    controls = [record(text, control) for text in range(4) for control in (RANDOM, POSITION)]
    rows = evaluation_markdown(summary_rows([*controls, *unsure, *sure]), "mask").split("\n")[2:]
    cells = {row.split("|")[1].strip(): row.split("|")[2].strip() for row in rows}
    assert cells == {
        "Occlusion": "0.500 ± 0.000",
        "Attention, mean": f"0.000 ± {cells['Attention, mean'][8:13]}°",
        "Position only (first words first)": "0.000 ± 0.000°",
        f"Random, mean of {EVALUATED_ORDERS} orders": "0.000 ± 0.000",
    }


def test_rows_stand_in_the_order_of_display_and_controls_last() -> None:
    names = (RANDOM, POSITION, "attention_mean", "lime", "aml:suff", "aml", "ivra")
    rows = summary_rows([record(0, name) for name in names])
    assert [row["method"] for row in rows_of_operator(rows, "mask")] == [
        *("aml", "aml:suff", "ivra", "lime", "attention_mean"),
        *(RANDOM, POSITION),
    ]
    assert rows_of_operator(rows, "zero") == []


def test_what_was_optimised_on_the_metrics_carries_a_mark() -> None:
    assert row_name("faml") == "fAML †"
    assert row_name("aml:comp") == "AML (comp)"
    assert {method.id for method in METHODS if row_name(method.id).endswith("†")} == {"faml", "solvex"}


def test_the_files_hold_the_same_values(tmp_path: Path) -> None:
    rows = summary_rows(
        [record(text, method, aopc_c=text / 3) for text in range(3) for method in ("occlusion", RANDOM)]
    )
    write_tables(rows, {"model": "small"}, tmp_path)
    content = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert content == {"model": "small", "rows": rows}
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["method"], line["erasure"]) for line in lines] == [(row["method"], row["erasure"]) for row in rows]
    for line, row in zip(lines, rows, strict=True):
        for metric in METRICS:
            read = [float(line[f"{metric.id}{end}"]) for end in ("", "_low", "_high")]
            assert read == [row[metric.id][name] for name in ("mean", "low", "high")]


def test_frames_have_a_row_per_method_and_operator_or_per_text() -> None:
    records = [record(text, method, aopc_c=text / 4) for text in range(3) for method in ("occlusion", RANDOM)]
    records.append({"text": 3, "method": "occlusion", "weights": "", "failed": "Too long."})
    summary = summary_frame(summary_rows(records))
    assert list(zip(summary["method"], summary["erasure"], strict=True)) == [("occlusion", "mask"), (RANDOM, "mask")]
    assert summary["aopc_c"].tolist() == [0.25, 0.25]
    assert (summary["aopc_c_low"] <= summary["aopc_c"]).all()
    texts = input_frame(records)
    assert list(zip(texts["text"], texts["method"], strict=True)) == [
        (text, method) for text in range(3) for method in ("occlusion", RANDOM)
    ]
    assert texts["aopc_c"].tolist() == [0, 0, 0.25, 0.25, 0.5, 0.5]


def test_a_metric_is_averaged_where_it_is_defined() -> None:
    records = [record(text, "occlusion", aopc_c=value) for text, value in enumerate((0.2, math.nan, 0.4))]
    row = row_of(records, "occlusion")
    assert (row["texts"], row["aopc_c"]["texts"]) == (3, 2)
    assert row["aopc_c"]["mean"] == pytest.approx(0.3)
    undefined = row_of([record(0, "occlusion", aopc_c=math.nan)], "occlusion")
    assert "aopc_c" not in undefined
    assert "| Occlusion | – |" in evaluation_markdown([undefined], "mask")
