import csv
import io
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from explainers.installation import VERSION
from explainers.methods.registry import METHODS
from explainers.report.metric_rows import metric_rows
from explainers.report.tables import (
    ABOUT,
    csv_curves,
    csv_metrics,
    csv_scores,
    metrics_frame,
    parquet,
)
from explainers.results.answer import Answer
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS
from explainers.results.events import Failure

Compared = Callable[..., Comparison]
TEN = "wonderful b c d e f g h i j"


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_scores_come_with_their_unit_and_rank(compared: Compared) -> None:
    first, second = read(csv_scores(compared("good  film", methods={"lime": (0.25, 0.5)})))
    assert first == {
        "method": "lime",
        "label": "positive",
        "unit": "good",
        "kind": "word",
        "start": "0",
        "end": "4",
        "segment": "0",
        "of": "",
        **dict.fromkeys(("left", "top", "right", "bottom"), ""),
        "score": "0.25",
        "rank": "2",
        "spread": "",
        "status": "done",
        "model": "stub",
        "text": "good  film",
        "version": VERSION,
    }
    assert [second[key] for key in ("unit", "start", "end", "score", "rank")] == ["film", "6", "10", "0.5", "1"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_text_is_run_as_a_formula(compared: Compared, start: str) -> None:
    label = f'{start}HYPERLINK("http://x","y")'
    (row,) = read(csv_scores(compared("good", labels=("no", label))))
    assert row["label"] == f"'{label}"


@pytest.mark.parametrize("unit", ["=", "+", "-", "@"])
def test_a_sign_typed_in_the_text_is_no_formula(compared: Compared, unit: str) -> None:
    assert read(csv_scores(compared(f"good {unit}")))[1]["unit"] == f"'{unit}"


def test_negative_numbers_stay_numbers(compared: Compared) -> None:
    assert read(csv_scores(compared("good", methods={"lime": (-0.5,)})))[0]["score"] == "-0.5"


def test_quotes_line_breaks_and_control_characters_survive(compared: Compared) -> None:
    label = 'a "b", \n<script>\x00 👩‍👩‍👧 فيلم'
    (row,) = read(csv_scores(compared("good", labels=("no", label))))
    assert row["label"] == label.replace("\x00", "␀")


def test_the_random_control_is_the_last_row_and_replaces_the_single_order(compared: Compared) -> None:
    scores = tuple(float(at == 0) for at in range(10))
    rows = metric_rows(compared(TEN, methods={"lime": scores, "random": scores}))
    assert [row.method for row in rows] == ["lime", "random"]
    assert rows[-1].name == f"Random, mean of {RANDOM_ORDERS} orders"


def test_metrics_of_the_method_that_ranks_the_word_first(compared: Compared) -> None:
    lime = metric_rows(compared(TEN))[0]
    # p is 0.9 with "wonderful" and 0.1 without it, so COMP is 0.8 and SUFF is 0 at every share
    assert lime.metrics["aopc_c"] == pytest.approx(0.8)
    assert lime.metrics["aopc_s"] == pytest.approx(0.0)
    assert lime.metrics["dffot"] == pytest.approx(0.1)  # one of ten words


ANSWER = Answer("supported", words=(0,), cut=2, supported=("occlusion",), differs=(("aml", (9,)),), random=("lime",))


def answered(compared: Compared) -> Comparison:
    """Of three methods, one in each group."""
    wrong = (*(0.0,) * 9, 1.0)
    comparison = compared(TEN, methods={"lime": wrong, "aml": wrong, "faml": wrong, "occlusion": (1.0, *(0.0,) * 9)})
    return replace(comparison, answer=ANSWER)


def test_rows_stand_by_the_groups_of_the_answer(compared: Compared) -> None:
    rows = metric_rows(answered(compared))
    assert [(row.method, row.group, row.title) for row in rows] == [
        ("occlusion", "supported", "supported"),
        ("aml", "differs", "differs from the consensus: “j”"),
        ("lime", "random", "not shown to be better than random"),
        ("faml", "", "optimised on these metrics, so not compared"),
        ("random", "", "controls"),
    ]


def test_without_a_control_no_row_has_a_group(compared: Compared) -> None:
    (row,) = metric_rows(replace(compared(TEN), random_control=None))
    assert (row.group, row.title) == ("", "")


def test_equal_scores_at_a_cut_are_reported(compared: Compared) -> None:
    ties = metric_rows(compared(TEN))[0]
    # 1, 5 and 10 % are the one word with a score of its own; the cuts at 2 and 5 words fall between zeros
    assert ties.ties == (20, 50)
    assert ties.ties_note == "Equal scores at the top 20, 50 %, where the position in the input decides."


def test_csv_rows_say_how_far_their_method_came(compared: Compared) -> None:
    comparison = answered(compared)
    lime, *others = comparison.results
    early = replace(lime, attribution=replace(lime.attribution, ended_early=True))
    ended = replace(
        comparison,
        results=(early, *others),
        order=(*comparison.methods, "cimi", "ivra", "ciem"),
        postponed=("cimi", "delete"),
        failures=(Failure("ivra", "Not fitted."),),
    )
    assert {(row["method"], row["status"]) for row in read(csv_scores(ended))} == {
        ("lime", "ended early"),
        *((method, "done") for method in ("aml", "faml", "occlusion")),
    }
    rows = read(csv_metrics(ended))
    assert [(row["method"], row["status"]) for row in rows] == [
        ("lime", "ended early"),
        *((method, "done") for method in ("aml", "faml", "occlusion", "random")),
        ("cimi", "postponed"),
        ("ivra", "failed"),
        ("ciem", "not computed"),
    ]
    assert (rows[-1]["aopc_c"], rows[-1]["label"], rows[0]["model_calls"]) == ("", rows[0]["label"], "7")
    assert {row["status"] for row in read(csv_metrics(comparison))} == {"done"}


def test_the_table_as_csv_names_operator_group_and_origin(compared: Compared) -> None:
    lime, aml, faml, occlusion, random = read(csv_metrics(answered(compared)))
    assert lime["erasure"] == "mask"
    assert float(occlusion["aopc_c"]) == pytest.approx(0.8)
    assert (occlusion["seconds"], occlusion["model_calls"]) == ("0.5", "7")
    assert [row["group"] for row in (lime, aml, faml, occlusion, random)] == ["random", "differs", "", "supported", ""]
    assert (random["method"], random["seconds"]) == ("random", "")


def test_every_csv_file_tells_model_text_and_version(compared: Compared) -> None:
    comparison = compared("good film", "=a pair")
    for make in (csv_scores, csv_metrics, csv_curves):
        for row in read(make(comparison)):
            assert [row[name] for name in ABOUT] == ["stub", "good film / =a pair", VERSION]


def test_curves_have_a_row_per_point_and_order(compared: Compared) -> None:
    rows = read(csv_curves(compared("good film")))
    assert len(rows) == 3 * (1 + RANDOM_ORDERS)  # 0, 1 and 2 words; LIME and the random orders
    assert [float(row["share"]) for row in rows[:3]] == [0, 0.5, 1]
    assert [float(row["removed"]) for row in rows[:3]] == pytest.approx([0.9, 0.1, 0.1])
    assert [float(row["kept"]) for row in rows[:3]] == pytest.approx([0.1, 0.9, 0.9])
    assert rows[-1]["method"] == f"random order {RANDOM_ORDERS}"


def test_the_frame_has_the_numbers_of_the_file(compared: Compared) -> None:
    comparison = compared(TEN, methods={"lime": (1.0, *(0.0,) * 9), "random": (0.0,) * 10})
    table, rows = metrics_frame(comparison), read(csv_metrics(comparison))
    assert [*table.columns, "status", *ABOUT] == list(rows[0])
    assert table["method"].tolist() == [row["method"] for row in rows] == ["lime", "random"]
    assert table["aopc_c"].tolist() == [float(row["aopc_c"]) for row in rows]
    whole = comparison.to_frame("metrics")
    assert table[whole.columns.tolist()].equals(whole)


def test_a_file_without_results_has_its_header(compared: Compared) -> None:
    waiting = replace(compared("good film"), results=(), random_control=None)
    assert csv_scores(waiting).startswith(
        "method,label,unit,kind,start,end,segment,of,left,top,right,bottom,score,rank,"
    )
    assert csv_metrics(waiting) == (
        "method,label,erasure,aopc_c,aopc_c_sd,aopc_s,aopc_s_sd,log_odds,log_odds_sd,dffot,dffot_sd,"
        "seconds,model_calls,completeness_gap,group,tied_at,status,model,text,version\n"
    )
    assert csv_curves(waiting) == "method,label,erasure,share,removed,kept,model,text,version\n"


def test_a_parquet_file_keeps_types_and_missing_values(compared: Compared) -> None:
    comparison = compared("good film \ud800", labels=("no", "=1+1"))
    table = pd.read_parquet(io.BytesIO(parquet(comparison.to_frame("scores"))))
    assert table["unit"].tolist() == ["good", "film", "\ufffd"]
    assert table["label"].tolist() == ["=1+1"] * 3  # no program runs a formula in this format
    assert table["score"].tolist() == [1.0, 0.0, 0.0]
    assert table["left"].isna().all()
    metrics = pd.read_parquet(io.BytesIO(parquet(metrics_frame(comparison))))
    assert metrics["model_calls"].isna().tolist() == [False, True]


def test_the_control_replaces_exactly_the_methods_that_are_a_single_random_order(compared: Compared) -> None:
    control = compared("good film").random_control
    assert control is not None
    assert [spec.id for spec in METHODS if spec.is_random] == [control.method]
