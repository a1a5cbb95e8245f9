import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from explainers.api import Comparison
from explainers.report.tables import as_json, csv_curves, csv_metrics, csv_scores, metric_rows

Compared = Callable[..., Comparison]
TEN = "wonderful b c d e f g h i j"


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_scores_come_with_their_unit_and_rank(compared: Compared) -> None:
    found = read(csv_scores(compared("good  film", methods={"lime": (0.25, 0.5)})))
    assert found[0] == {
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
    }
    assert [found[1][key] for key in ("unit", "start", "end", "score", "rank")] == ["film", "6", "10", "0.5", "1"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_text_is_run_as_a_formula(compared: Compared, start: str) -> None:
    label = f'{start}HYPERLINK("http://x","y")'
    (row,) = read(csv_scores(compared("good", labels=("no", label))))
    assert row["label"] == f"'{label}"


@pytest.mark.parametrize("unit", ["=", "+", "-", "@"])
def test_a_mark_typed_in_the_text_is_no_formula(compared: Compared, unit: str) -> None:
    assert read(csv_scores(compared(f"good {unit}")))[1]["unit"] == f"'{unit}"


def test_negative_numbers_stay_numbers(compared: Compared) -> None:
    assert read(csv_scores(compared("good", methods={"lime": (-0.5,)})))[0]["score"] == "-0.5"


def test_quotes_line_breaks_and_control_characters_survive(compared: Compared) -> None:
    label = 'a "b", \n<script>\x00 👩‍👩‍👧 فيلم'
    (row,) = read(csv_scores(compared("good", labels=("no", label))))
    assert row["label"] == label.replace("\x00", "␀")


def test_the_random_control_is_the_last_row_and_no_method_besides(compared: Compared) -> None:
    scores = tuple(float(place == 0) for place in range(10))
    rows = metric_rows(compared(TEN, methods={"lime": scores, "random": scores}))
    assert [row.method for row in rows] == ["lime", "random"]
    assert rows[-1].name == "Random, mean of 10 orders"
    assert rows[-1].control


def test_figures_of_the_method_that_finds_the_word(compared: Compared) -> None:
    lime = metric_rows(compared(TEN))[0]
    # p is 0.9 with "wonderful" and 0.1 without it, so COMP is 0.8 and SUFF is 0 at every share
    assert lime.metrics["aopc_c"] == pytest.approx(0.8)
    assert lime.metrics["aopc_s"] == pytest.approx(0.0)
    assert lime.metrics["dffot"] == pytest.approx(0.1)  # one of ten words


def test_best_is_marked_only_for_who_leads(compared: Compared) -> None:
    right, wrong = (1.0, *(0.0,) * 9), (*(0.0,) * 9, 1.0)
    lime, occlusion, random = metric_rows(compared(TEN, methods={"lime": right, "occlusion": wrong}))
    assert {"aopc_c", "aopc_s"} <= lime.best & lime.beyond_chance
    assert not occlusion.best
    assert not random.best


def test_nobody_is_best_when_all_are_the_same(compared: Compared) -> None:
    right = (1.0, *(0.0,) * 9)
    rows = metric_rows(compared(TEN, methods={"lime": right, "occlusion": right}))
    assert not any(row.best for row in rows)
    assert "aopc_c" in rows[0].beyond_chance


def test_nobody_is_best_while_chance_is_not_known(compared: Compared) -> None:
    (row,) = metric_rows(replace(compared(TEN), chance=None))
    assert not row.best
    assert not row.beyond_chance


def test_equal_scores_at_a_cut_are_reported(compared: Compared) -> None:
    ties = metric_rows(compared(TEN))[0]
    # 1, 5 and 10 % are the one word with a score of its own; the cuts at 2 and 5 words fall between zeros
    assert ties.ties == (20, 50)
    assert ties.ties_note == "Equal scores at the top 20, 50 %: there the position in the text decided."


def test_the_table_as_csv_names_operator_best_and_control(compared: Compared) -> None:
    wrong = (*(0.0,) * 9, 1.0)
    lime, _, random = read(csv_metrics(compared(TEN, methods={"lime": (1.0, *(0.0,) * 9), "occlusion": wrong})))
    assert lime["erasure"] == "mask"
    assert float(lime["aopc_c"]) == pytest.approx(0.8)
    assert (lime["seconds"], lime["model_calls"]) == ("0.5", "7")
    assert "aopc_c" in lime["best"].split()
    assert (random["method"], random["seconds"], random["best"]) == ("random", "", "")


def test_curves_have_a_row_per_point_and_order(compared: Compared) -> None:
    rows = read(csv_curves(compared("good film")))
    assert len(rows) == 3 * (1 + 10)  # 0, 1 and 2 words; LIME and ten random orders
    assert [float(row["share"]) for row in rows[:3]] == [0, 0.5, 1]
    assert [float(row["removed"]) for row in rows[:3]] == pytest.approx([0.9, 0.1, 0.1])
    assert [float(row["kept"]) for row in rows[:3]] == pytest.approx([0.1, 0.9, 0.9])
    assert rows[-1]["method"] == "random order 10"


def test_the_json_is_the_comparison(compared: Compared) -> None:
    found = json.loads(as_json(compared("good film")))
    assert found["label"] == "positive"
    assert found["explanations"][0]["scores"] == [1.0, 0.0]
