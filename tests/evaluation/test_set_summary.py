"""Small frames of which every value can be checked by hand; the interval of equal values is the value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explainers.datasets.labelled_rows import InputRow
from explainers.evaluation import set_summary
from explainers.evaluation.explain_batch import SetPlan, explain_batch
from explainers.evaluation.set_frames import method_frame, row_frame
from explainers.evaluation.set_summary import (
    binned,
    inputs_with,
    mean_curves,
    mean_over_inputs,
    method_table,
    recommendation,
    status_shares,
    trust_points,
    words_over_set,
    worth_a_look,
)
from explainers.metrics.bootstrap import Interval
from explainers.models.frozen_model import FrozenModel
from explainers.report.set_tables import OPTIMISED_NOTE, WORDS, distance_cell, latex_caption, table_note
from explainers.results.decision import Settings

LABELS = ("negative", "positive")
AOPC = ("aopc_c", "aopc_s")


def content(evidence: float, passes: int = 10, scores: list[float] | None = None) -> dict[str, Any]:
    """Return what a record holds of a method with AOPC-C = `evidence` and AOPC-S = 0."""
    metrics = {"mask": {"aopc_c": evidence, "aopc_s": 0.0}}
    return {"scores": scores, "signed": True, "metrics": metrics, "seconds": 1.0, "passes": passes, "group": ""}


def record(number: int, text: str = "good film", **values: Any) -> dict[str, Any]:
    """Return the record of a right and supported input."""
    return {
        "id": str(number), "line": number, "text": text, "pair": None, "label": 1, "predicted": 1, "probability": 0.9,
        "seed": 0, "units": text.split(), "segments": [], "seconds": 1.0, "passes": 9, "failures": {}, "methods": {},
        "answer": {"status": "supported", "agreement": 0.5, "refusal": None, "p": 0.05, "robust": True},
        **values,
    }  # fmt: skip


def frames(records: list[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return row_frame(records, LABELS), method_frame(records, AOPC, ("mask",))


def set_of(inputs: int = 12, **evidences: tuple[float, float, int]) -> pd.DataFrame:
    """Return the methods' frame: each has one evidence on even inputs, one on odd ones, and passes."""
    methods = [{id: content(values[n % 2], values[2]) for id, values in evidences.items()} for n in range(inputs)]
    return frames([record(number, methods=method) for number, method in enumerate(methods)])[1]


RANDOM = {"random": (0.0, 0.0, 0)}


def test_a_table_has_means_costs_and_the_paired_difference_to_the_best() -> None:
    methods = set_of(occlusion=(0.2, 0.2, 5), lime=(0.4, 0.4, 50), faml=(0.9, 0.9, 90), **RANDOM)
    faml, best, second, random = method_table(methods, ("evidence_mask", "aopc_s_mask"), "mask")
    assert (best.method, second.method, random.method, faml.method) == ("lime", "occlusion", "random", "faml")
    interval = best.metrics["evidence_mask"]
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.4, 0.4, 0.4))
    assert best.metrics["aopc_s_mask"].mean == 0
    assert (best.behind, best.passes, best.seconds, best.inputs, best.failed) == (None, 50, 1, 12, 0)
    assert second.behind is not None
    assert (second.behind.mean, second.behind.low) == (pytest.approx(0.2), pytest.approx(0.2))
    assert faml.behind is not None
    assert faml.behind.mean == pytest.approx(-0.5)  # optimised on the metric: it may be ahead, and is not the best


def test_curves_are_means_over_the_inputs_that_have_them() -> None:
    def drawn(removed: float, kept: float) -> dict[str, Any]:
        return {**content(0.1), "removed": [0.9, removed], "kept": [0.1, kept]}

    records = [
        record(1, methods={"lime": drawn(0.2, 0.8), "aml": content(0.1)}),  # of an earlier version, without curves
        record(2, methods={"lime": drawn(0.4, 0.6)}),
        record(3, methods={}, failures={"lime": "too long"}),
    ]
    (lime,) = mean_curves(frames(records)[1])
    assert lime.method == "lime"
    assert [interval.mean for interval in lime.removed] == pytest.approx([0.9, 0.3])
    assert [interval.mean for interval in lime.kept] == pytest.approx([0.1, 0.7])
    assert lime.removed[0].low == pytest.approx(0.9)
    assert 0.2 <= lime.removed[1].low < 0.3 < lime.removed[1].high <= 0.4


def test_a_failed_method_is_counted_and_has_no_numbers() -> None:
    records = [
        record(0, methods={"lime": content(0.5)}, failures={"aml": "no weights"}),
        record(1, methods={"lime": content(0.3)}),
    ]
    rows = {row.method: row for row in method_table(frames(records)[1], ("evidence_mask",), "mask")}
    assert rows["lime"].metrics["evidence_mask"].mean == pytest.approx(0.4)
    assert (rows["aml"].failed, rows["aml"].inputs, dict(rows["aml"].metrics)) == (1, 0, {})


@pytest.mark.parametrize(
    ("evidences", "sentence", "level"),
    [
        (
            {"lime": (0.4, 0.2, 50), "occlusion": (0.2, 0.4, 5), "gradient_x_input": (0.0, 0.1, 1)},
            "LIME has the most evidence; Occlusion is level with it at 10 % of its passes.",
            ("occlusion",),
        ),
        (
            {"lime": (0.4, 0.2, 5), "occlusion": (0.2, 0.4, 50), "gradient_x_input": (0.0, 0.1, 1)},
            "LIME has the most evidence; Occlusion is level with it and takes no fewer passes.",
            ("occlusion",),
        ),
        (
            {"lime": (0.4, 0.4, 50), "occlusion": (0.2, 0.2, 5)},
            "LIME: ahead of every other method over these 12 inputs.",
            (),
        ),
        (
            {"lime": (0.4, 0.2, 50), "occlusion": (0.2, 0.4, 5)},
            "Undecided: no method is ahead of all others over these 12 inputs; Occlusion takes the fewest passes.",
            ("occlusion",),
        ),
    ],
)
def test_the_recommendation_is_a_sentence(
    evidences: dict[str, tuple[float, float, int]], sentence: str, level: tuple[str, ...]
) -> None:
    # 0.4 and 0.2 in turn against 0.2 and 0.4: no difference in the mean
    advice = recommendation(set_of(**evidences, **RANDOM, attention_mean=(0.9, 0.9, 1)), "mask")
    assert (advice.sentence, advice.best, advice.level) == (sentence, "lime", level)


def test_what_the_set_does_not_decide_stays_open() -> None:
    few = set_of(9, lime=(0.4, 0.4, 1), **RANDOM)
    assert (
        recommendation(few, "mask").sentence == "Undecided: 9 inputs are too few to compare methods. Take at least 10."
    )
    luck = set_of(12, lime=(0.1, -0.1, 1), **RANDOM)
    assert (
        recommendation(luck, "mask").sentence
        == "Undecided: no method is better than random orders over these 12 inputs."
    )
    controls = set_of(12, attention_mean=(0.4, 0.4, 1), **RANDOM)
    assert recommendation(controls, "mask").sentence.startswith(
        "Undecided: no method that can be compared was measured."
    )
    assert all(not recommendation(frame, "mask").best for frame in (few, luck, controls))


def test_answers_are_counted_by_group() -> None:
    open_ = {"status": "open", "agreement": 0.1, "refusal": "why", "p": 0.6, "robust": False}
    records = [
        record(0),
        record(1, answer=open_, label=0),
        record(2, label=None, predicted=0, text=" ".join("abcdefghijklm")),
        {"id": "3", "line": 3, "text": "x", "pair": None, "label": 1, "failed": "why"},
    ]
    rows, _ = frames(records)
    (all_,) = status_shares(rows, "all")
    assert (all_.inputs, all_.failed) == (3, 1)
    assert all_.supported.mean == pytest.approx(2 / 3)
    assert all_.agreement is not None
    assert all_.agreement.mean == pytest.approx((0.5 + 0.1 + 0.5) / 3)
    assert [(share.group, share.inputs, share.supported.mean) for share in status_shares(rows, "class")] == [
        ("negative", 1, 1.0),
        ("positive", 2, 0.5),
    ]
    assert [(share.group, share.inputs) for share in status_shares(rows, "length")] == [
        ("1 to 10 units", 2),
        ("11 to 20 units", 1),
    ]
    assert [(share.group, share.supported.mean) for share in status_shares(rows, "right")] == [
        ("right", 1.0),
        ("wrong", 0.0),
        ("no label", 1.0),
    ]


def test_words_have_mean_spread_inputs_and_share_among_the_first() -> None:
    records = [
        record(0, "Good film , good", methods={"lime": content(0.1, scores=[0.6, 0.1, 0.0, 0.2])}),
        record(1, "good film", methods={"lime": content(0.1, scores=[0.1, 0.3])}),
    ]
    words = words_over_set(*frames(records), "lime").set_index("word")
    assert list(words.index) == ["good", "film"]  # the comma is no word
    # good: (0.6 + 0.2) / 2 = 0.4 in the first input and 0.1 in the second; first in one of two
    assert words.loc["good", ["score", "spread", "inputs", "top"]].tolist() == pytest.approx([0.25, 0.15, 2, 0.5])
    assert words.loc["film", ["score", "spread", "inputs", "top"]].tolist() == pytest.approx([0.2, 0.1, 2, 0.5])
    # pooled within the words: two squares of 0.15 and two of 0.1, with one degree of freedom for each word
    pooled = np.sqrt((2 * 0.15**2 + 2 * 0.1**2) / 2)
    assert words.loc["good", "least"] == pytest.approx(0.25 - 1.96 * pooled / np.sqrt(2))
    assert inputs_with(frames(records)[0], "film", "positive")["id"].tolist() == ["0", "1"]
    assert inputs_with(frames(records)[0], "film", "negative").empty


def test_a_word_of_one_input_has_no_spread_and_does_not_come_before_one_that_is_seen_again() -> None:
    records = [record(n, "good film", methods={"lime": content(0.1, scores=[0.5, 0.0])}) for n in range(9)]
    records.append(record(9, "odd film", methods={"lime": content(0.1, scores=[0.6, 0.0])}))
    words = words_over_set(*frames(records), "lime")
    assert list(words["word"])[:1] == ["good"]
    few = words_over_set(*frames(records[1:]), "lime")  # nine inputs are too few for the uncertainty
    assert list(few["word"]) == ["odd", "good", "film"]
    spreads = dict(zip(words["word"], words["spread"], strict=True))
    assert np.isnan(spreads["odd"])
    assert spreads["good"] == 0
    assert [cells["spread"] for cells in WORDS.cells(words.to_dict("records")) if cells["word"] == "odd"] == ["–"]


def test_a_planted_shortcut_is_the_first_word_of_its_class(bag: Callable[..., FrozenModel]) -> None:
    """ "zorp" decides the class in a tenth of the texts, whatever else they say."""
    neutral = {"film": 0.1, "the": 0.0, "was": 0.0, "plot": -0.1, "a": 0.0, "and": 0.0}
    model = bag({"zorp": 3.0, "good": 1.5, "bad": -1.5, **neutral})
    rng = np.random.default_rng(0)
    rows = []
    for number in range(60):
        words = [
            *rng.choice(list(neutral), 6),
            "good" if number % 2 else "bad",
            *(["zorp"] if number % 10 == 0 else []),
        ]
        rows.append(InputRow(str(number), " ".join(rng.permutation(words)), label=number % 2))
    plan = SetPlan(("occlusion", "gradient_x_input", "lime"), Settings(samples=50))
    records = list(explain_batch(model, plan, rows))
    rows_, methods = row_frame(records, LABELS), method_frame(records, AOPC, ("mask",))
    for method in plan.methods:
        words = words_over_set(rows_, methods, method)
        first = words[words["class"] == "positive"].iloc[0]
        assert (method, first["word"], first["inputs"]) == (method, "zorp", 6)


def test_a_point_of_the_trust_map_is_agreement_and_the_evidence_of_the_best_method() -> None:
    records = [
        record(
            0, methods={"lime": content(0.3), "occlusion": content(0.5), "faml": content(0.9), "random": content(0.7)}
        ),
        record(1, answer={"status": "open", "agreement": None}, methods={"lime": content(0.3)}),
    ]
    points = trust_points(*frames(records), "mask")
    assert points[["id", "agreement", "evidence"]].to_numpy().tolist() == [["0", 0.5, 0.5]]
    assert points["right"].tolist() == [True]


def test_many_points_are_counted_in_cells() -> None:
    points = pd.DataFrame({"agreement": [0.0, 0.01, 1.0], "evidence": [0.0, 0.01, 1.0], "right": [True, False, None]})
    cells = binned(points)
    assert cells["inputs"].tolist() == [2, 1]
    assert cells["right"].tolist()[:1] == [0.5]
    assert cells["agreement"].tolist() == pytest.approx([1 / 80, 79 / 80])


def test_the_mean_of_many_inputs_is_exact_and_drawn_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_summary, "MOST_ITEMS", 50)
    values = np.arange(1001.0) % 7
    mean = mean_over_inputs(values)
    assert mean is not None
    assert (mean.mean, mean.texts) == (pytest.approx(values.mean()), 1001)
    # the standard error of 1,001 draws with standard deviation 2 is 0.063
    assert (mean.high - mean.low) / 2 == pytest.approx(1.96 * values.std() / np.sqrt(1001), rel=0.25)
    assert mean_over_inputs(np.array([np.nan])) is None


def test_lists_worth_a_look_begin_with_the_most_agreement() -> None:
    def answer(status: str, agreement: float, supported: list[str], refusal: str | None = None) -> dict[str, Any]:
        return {"status": status, "agreement": agreement, "supported": supported, "refusal": refusal, "p": 0.5}

    records = [
        record(0, label=0, answer=answer("supported", 0.2, ["lime"])),
        record(1, label=0, answer=answer("supported", 0.9, ["lime", "aml"])),
        record(2, label=None, answer=answer("open", 0.4, [])),
        record(3, answer=answer("open", 0.6, [], "too short")),
        record(4, failed="no words", answer={}),
    ]
    wrong, no_order, one = worth_a_look(frames(records)[0]).values()
    assert list(wrong["id"]) == ["1", "0"]
    assert list(no_order["id"]) == ["2"]
    assert list(one["id"]) == ["0"]


@pytest.mark.parametrize("inputs", [2, 12])
def test_a_share_of_few_inputs_is_never_certain(inputs: int) -> None:
    rows = pd.DataFrame({"status": ["supported"] * inputs, "agreement": [0.5] * inputs})
    (share,) = status_shares(rows, "all")
    assert share.supported.mean == share.supported.high == 1.0
    assert share.supported.low == pytest.approx(inputs / (inputs + 1.959964**2), abs=1e-6)  # Wilson's, at 1


def test_a_distance_shows_whether_its_interval_holds_nought() -> None:
    assert distance_cell(Interval(0.017, 0.0004, 0.035, 12)) == "0.0170 [0.0004, 0.0350]"
    assert distance_cell(Interval(0.017, -0.002, 0.035, 12)) == "0.017 [-0.002, 0.035]"
    assert distance_cell(Interval(0.0, 0.0, 0.0, 12)) == "0.000 [0.000, 0.000]"


def test_the_caption_of_the_latex_table_says_what_it_shows_and_names_no_file() -> None:
    manifest = {"model": {"name": "sst2"}, "data": {"name": "inner/table.csv"}, "inputs": 1200, "operators": ["mask"]}
    assert latex_caption(manifest) == (
        "Explanation methods for the model sst2, compared over 1,200 inputs: means with 95 % bootstrap intervals. "
        "Evidence is AOPC-C − AOPC-S under mask."
    )


def test_the_note_explains_the_dagger_only_where_a_method_has_it() -> None:
    assert OPTIMISED_NOTE in table_note(pd.DataFrame({"method": ["lime", "faml", "random"]}))
    assert "†" not in table_note(pd.DataFrame({"method": ["lime", "random", "consensus"]}))
