import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explainers import api, wrap
from explainers.api import explain
from explainers.comparison.decision import ablated_inputs, decide
from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.inputs.requirements import IDENTICAL
from explainers.report import answer as answer_report
from explainers.report import comparisons as report_comparisons
from explainers.report.metric_rows import metric_rows
from explainers.report.summary import summary
from explainers.results.answer import CONSENSUS
from explainers.results.comparison import Comparisons
from explainers.results.decision import DEFAULT_SAMPLING, Settings
from explainers.results.events import Failure
from explainers.results.manifest import image_checksum

Build = Callable[..., FrozenModel]
QUICK = ("occlusion", "gradient_x_input", "random")


@pytest.fixture
def model(bag: Build) -> FrozenModel:
    return bag({"great": 0.3, "dull": -0.2, "the": 0.0}, additive=True)


def test_the_predicted_class_is_explained(model: FrozenModel) -> None:
    comparison = explain(model, "the dull", methods=QUICK)
    assert comparison.label == "negative"
    assert comparison.as_probabilities() == pytest.approx({"negative": 0.7, "positive": 0.3})
    occlusion = comparison.result("occlusion")
    assert occlusion is not None
    assert occlusion.attribution.scores == pytest.approx((0.0, 0.2))


def test_a_named_class_is_explained_instead(model: FrozenModel) -> None:
    comparison = explain(model, "the dull", methods=["occlusion"], label="positive")
    assert comparison.results[0].attribution.scores == pytest.approx((0.0, -0.2))


def test_one_method_and_the_number_of_a_class_are_accepted(model: FrozenModel) -> None:
    comparison = explain(model, "the dull", methods="occlusion", label=1, versus=0)
    assert comparison.explained == "positive rather than negative"
    assert comparison.methods == ("occlusion",)
    with pytest.raises(ExplanationError, match=r"no class number 2\. Choose a number from 0 to 1, or a name"):
        explain(model, "the dull", label=2)


def test_a_comparison_is_one_line_until_it_is_drawn(model: FrozenModel) -> None:
    assert repr(explain(model, "the dull", methods=QUICK)) == "<Comparison of bag, for negative (0.70): 3 methods>"


def test_an_unknown_table_is_a_sentence(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"Unknown table 'x'\. Choose one of: scores, metrics, curves"):
        explain(model, "the dull", methods="occlusion").to_frame("x")  # type: ignore[arg-type]


def test_results_stand_in_the_order_of_display(model: FrozenModel) -> None:
    comparison = explain(model, "the dull great", methods=QUICK[::-1])
    assert list(comparison.methods) == [CONSENSUS, *QUICK]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"label": "neutral"}, r"no class 'neutral'\. Choose one of: negative, positive"),
        ({"methods": ["shap"]}, r"Unknown method 'shap'\. Choose from: .*kernel_shap"),
        ({"erasure": "blur"}, r"erasure 'blur' is not available\. Choose one of: mask, delete, zero"),
        ({"unit": "letter"}, r"Unknown unit 'letter'\. Choose one of: word, token"),
        ({"samples": 9}, "Samples must be at least 10"),
        ({"steps": 0}, "steps at least 1"),
        ({"seed": -1}, "must not be negative"),
        ({"sampling": "lime"}, r"Unknown sampling 'lime'\. Choose one of: captum, shared"),
        ({"text": ""}, "The text is empty"),
        ({"text": " \n"}, "The text is empty"),
    ],
)
def test_user_errors_are_one_sentence(model: FrozenModel, wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        explain(model, **{"text": "the dull", **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_removed_word_has_no_effect(model: FrozenModel, erasure: str) -> None:
    decision, probabilities = decide(model, "great dull", removed=[0], settings=Settings(erasure=erasure))
    assert [unit.text for unit in decision.encoding.units] == ["dull"]
    assert probabilities == pytest.approx((0.7, 0.3))


def test_at_least_one_word_must_remain(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="All words are removed"):
        decide(model, "great dull", removed=[0, 1])


def test_the_json_reads_back_and_names_what_is_needed_to_repeat_it(model: FrozenModel) -> None:
    content = json.loads(explain(model, "the dull", methods=QUICK, seed=7).as_json())
    assert content["manifest"]["model"]["sha256"] == fingerprint(model)
    assert content["manifest"]["settings"] == {
        "unit": "word",
        "erasure": "mask",
        "samples": 0,
        "steps": 50,
        "seed": 7,
        "sampling": DEFAULT_SAMPLING,
    }
    (occlusion, *_) = content["explanations"]
    assert [unit["text"] for unit in occlusion["units"]] == ["the", "dull"]
    assert occlusion["curve"]["removed"] == pytest.approx([0.7, 0.5, 0.5])


def test_the_same_question_has_the_same_json_but_for_the_time(bert: FrozenModel) -> None:
    def content() -> dict[str, object]:
        values = explain(bert, "the film was good", samples=40, steps=5).as_dict()
        for value in values["explanations"]:
            value["seconds"] = 0
        return values

    assert content() == content()


def test_shared_sampling_asks_less(bert: FrozenModel) -> None:
    def new_calls(sampling: str) -> int:
        methods, text = ["lime", "kernel_shap"], "the film was not very good , a dull plot"
        values = explain(bert, text, methods=methods, samples=100, sampling=sampling).as_dict()
        return sum(value["new_calls"] or 0 for value in values["explanations"])

    assert new_calls("shared") < new_calls("captum")


PAIR = Example("the film was good", "a dull plot")


@pytest.mark.parametrize(
    ("text", "text_pair", "sentence"),
    [
        ("the film", None, r"small needs a premise and a hypothesis; the hypothesis is missing\."),
        ("the film", " ", r"small needs a premise and a hypothesis; the hypothesis is missing\."),
        ("\u200b", "a plot", r"small needs a premise and a hypothesis; the premise is missing\."),
        ("", "", r"small needs a premise and a hypothesis; both are missing\."),
        (PAIR, "a plot", "given twice"),
    ],
)
def test_half_a_pair_is_a_sentence(
    pairs: FrozenModel, text: str | Example, text_pair: str | None, sentence: str
) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        explain(pairs, text, text_pair, methods=["random"])


def test_a_second_text_is_refused_by_a_model_of_one(bert: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"small reads a single text\. Omit the second text"):
        explain(replace(bert, input_names=("text",)), "the film", "a plot", methods=["random"])


def test_a_tuple_is_a_pair(pairs: FrozenModel) -> None:
    comparison = explain(pairs, (PAIR.text, str(PAIR.pair)), methods=["occlusion"])
    assert (
        comparison.results[0].attribution.scores
        == explain(pairs, PAIR, methods=["occlusion"]).results[0].attribution.scores
    )
    with pytest.raises(ExplanationError, match="A pair has two texts, not 3"):
        explain(pairs, ("a", "b", "c"))  # type: ignore[arg-type]


def test_the_json_of_a_pair_says_which_text_a_unit_is_of(pairs: FrozenModel) -> None:
    content = json.loads(explain(pairs, PAIR, methods=["occlusion"]).as_json())
    assert [unit["segment"] for unit in content["explanations"][0]["units"]] == [0, 0, 0, 0, 1, 1, 1]
    assert content["manifest"]["texts"] == ["the film was good", "a dull plot"]


def test_equal_texts_have_a_warning_and_are_explained(pairs: FrozenModel) -> None:
    comparison = explain(pairs, "the film", text_pair="the film", methods=["random"])
    assert comparison.as_dict()["warning"] == IDENTICAL


def test_both_texts_alone_and_swapped_are_the_models_predictions(pairs: FrozenModel) -> None:
    def prediction(example: Example, keep: tuple[bool, ...] = ()) -> list[float]:
        encoding = pairs.encode(example)
        return [float(p) for p in pairs.probabilities(encoding, keep or [True] * len(encoding.units))[0]]

    predictions = explain(pairs, PAIR, methods=["random"]).as_dict()["one_text_alone"]
    assert list(predictions) == ["premise", "hypothesis", "swapped"]
    first, second, both = (list(prediction.values()) for prediction in predictions.values())
    assert first == pytest.approx(prediction(PAIR, (True,) * 4 + (False,) * 3), abs=1e-5)
    assert second == pytest.approx(prediction(PAIR, (False,) * 4 + (True,) * 3), abs=1e-5)
    assert both == pytest.approx(prediction(Example("a dull plot", "the film was good")), abs=1e-5)


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_removed_words_are_removed_from_the_swapped_texts_too(pairs: FrozenModel, erasure: Erasure) -> None:
    decision, _ = decide(pairs, PAIR, removed=[1, 5], settings=Settings(erasure=erasure))  # "film" and "dull"
    ablated = ablated_inputs(pairs, decision, Meter())
    swapped = pairs.without(pairs.encode(Example("a dull plot", "the film was good")), [1, 4], erasure)
    (expected,) = pairs.probabilities(swapped, [True] * 5, erasure)
    assert ablated is not None
    assert ablated.predictions[2] == pytest.approx(tuple(expected), abs=1e-5)


def test_a_single_text_has_no_controls_of_a_pair(bert: FrozenModel) -> None:
    comparison = explain(bert, "the film", methods=["premise_only", "hypothesis_only", "random"])
    assert comparison.methods == ("random",)
    assert comparison.failures == ()
    assert comparison.as_dict()["one_text_alone"] is None


def test_a_control_of_one_part_never_leads(pairs: FrozenModel) -> None:
    comparison = explain(pairs, PAIR, methods=["premise_only", "hypothesis_only", "occlusion", "random"])
    first, second, *_ = (result.attribution.scores for result in comparison.results[1:])
    assert (first, second) == ((1.0,) * 4 + (0.0,) * 3, (0.0,) * 4 + (1.0,) * 3)
    rows = {row.method: row for row in metric_rows(comparison)}
    assert rows["premise_only"].group == rows["hypothesis_only"].group == ""
    assert "Premise only" not in summary(comparison)
    assert "Hypothesis only" not in summary(comparison)


def test_the_manifest_identifies_an_image_by_its_pixels() -> None:
    white = np.full((2, 3, 3), 255, np.uint8)
    checksum = image_checksum(InputImage.of(white))
    assert checksum == {"size": [3, 2], "pixels_sha256": hashlib.sha256(b"\xff" * 18).hexdigest()}
    assert image_checksum(None) is None


def test_a_list_is_explained_as_its_inputs_one_by_one(model: FrozenModel) -> None:
    texts = ["the dull", "the great"]
    together = explain(model, [*texts, Example("great")], methods=QUICK)
    alone = [explain(model, text, methods=QUICK) for text in (*texts, "great")]
    assert [one.as_probabilities() for one in together] == [one.as_probabilities() for one in alone]
    assert [one.result("occlusion").attribution.scores for one in together] == [  # type: ignore[union-attr]
        one.result("occlusion").attribution.scores  # type: ignore[union-attr]
        for one in alone
    ]
    assert repr(together) == "<Comparisons of bag: 3 inputs, 0 with a supported answer>"
    frame = together.to_frame()
    assert frame.columns[0] == "input"
    assert frame.groupby("input").unit.unique().map(list).tolist() == [["the", "dull"], ["the", "great"], ["great"]]
    assert len(together.to_frame("metrics")) == sum(len(one.to_frame("metrics")) for one in alone)


def test_pairs_of_a_list_are_tuples(pairs: FrozenModel) -> None:
    (comparison,) = explain(pairs, [("the film", "the plot")], methods="occlusion")
    assert comparison.decision.encoding.texts == ("the film", "the plot")


def test_what_belongs_to_one_input_is_refused_beside_a_list(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="belong to one input"):
        explain(model, ["the dull"], guess=(0,))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("", r"Input 1 \(counted from 0\): The text is empty"),
        (("a", "b", "c"), r"Input 1 \(counted from 0\): A pair has two texts, not 3"),
    ],
)
def test_a_wrong_input_of_a_list_is_said_before_anything_is_explained(
    model: FrozenModel, wrong: Any, sentence: str
) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        explain(model, ["the dull", wrong], methods=QUICK)
    assert model.meter.calls == 0


def test_no_input_at_all_is_an_empty_list(model: FrozenModel) -> None:
    nothing = explain(model, [])
    assert nothing == []
    assert nothing.to_frame().empty
    assert repr(nothing) == "<Comparisons of no input>"
    assert "<td>" not in nothing._repr_html_()  # type: ignore[attr-defined]


def test_a_list_is_a_table_in_a_notebook(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons = explain(model, ["the dull", "the <b>great</b>", "great"], methods=QUICK)
    page = comparisons._repr_html_()  # type: ignore[attr-defined]
    assert page.count("<tr>") == 1 + 3
    assert f"<td>0</td><td>the dull</td><td>negative</td><td>{comparisons[0].probabilities[0]:.2f}</td>" in page
    assert "the &lt;b&gt;great&lt;/b&gt;" in page
    assert "<th>failed</th>" not in page
    assert "The input has 2 words; the test against random orders needs at least" in page
    monkeypatch.setattr(report_comparisons, "MOST", 1)
    page = comparisons._repr_html_()  # type: ignore[attr-defined]
    assert page.count("<tr>") == 1 + 1
    assert "2 more inputs, after the first 1; to_frame() has all of them." in page


def test_the_table_of_a_list_has_pairs_answers_and_what_failed(pairs: FrozenModel) -> None:
    (comparison,) = explain(pairs, [("the film", "the plot")], methods="occlusion")
    failed = comparison.with_event(Failure("lime", "It took too long."))
    page = Comparisons([failed])._repr_html_()  # type: ignore[attr-defined]
    assert "the film → the plot" in page
    assert "<td>LIME: It took too long.</td>" in page
    assert answer_report.heading(comparison.answer, comparison) in page  # type: ignore[arg-type]


@pytest.mark.parametrize("inputs", [pd.Series(["the good film", "bad"]), np.array(["the good film", "bad"])])
def test_a_series_and_an_array_are_lists(model: FrozenModel, inputs: Any) -> None:
    comparisons = explain(model, inputs, methods="occlusion")
    assert [comparison.decision.encoding.texts for comparison in comparisons] == [("the good film",), ("bad",)]


def test_the_tables_have_the_index_of_a_series(model: FrozenModel) -> None:
    chosen = pd.Series(["the good film", "bad", "dull"], index=["b7", "a2", "a2"])  # a label may come twice
    comparisons = explain(model, chosen, methods="occlusion")
    rows = comparisons.to_frame().groupby(["input", "index"], sort=False).size()
    assert rows.to_dict() == {(0, "b7"): 3, (1, "a2"): 1, (2, "a2"): 1}
    assert "<td>1</td><td>a2</td><td>bad</td>" in comparisons._repr_html_()  # type: ignore[attr-defined]
    comparisons.reverse()
    assert comparisons.to_frame()["index"].tolist()[:2] == ["a2", "a2"]
    comparisons.extend(explain(model, ["the plot"], methods="occlusion"))
    assert comparisons.to_frame()["index"].isna().sum() == 2
    assert "index" not in explain(model, ["the plot"], methods="occlusion").to_frame()


def test_an_error_names_the_index_of_the_input(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"^Input 1 \(counted from 0; index 'a2'\): An input is a text"):
        explain(model, pd.Series(["good", None], index=["b7", "a2"]), methods="occlusion")


def test_a_whole_table_is_refused_with_what_to_give(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"not DataFrame\. Give one of its columns\."):
        explain(model, pd.DataFrame({"text": ["the good film"]}), methods="occlusion")  # type: ignore[call-overload]


def test_a_printed_comparison_is_its_answer_in_sentences(model: FrozenModel) -> None:
    comparison = explain(model, "the good film", methods=QUICK)
    assert str(comparison) == summary(comparison)
    assert "the test against random orders needs at least" in str(comparison)
    function = wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"])
    failed = str(explain(function, "the good film", methods=["integrated_gradients"]))
    assert "Integrated gradients: The model is a function from texts" in failed


def test_a_model_is_shown_without_its_weights(model: FrozenModel) -> None:
    shown = repr(model)
    assert shown.startswith("FrozenModel(name='bag', labels=('negative', 'positive'), version='1'")
    assert len(shown) < 300


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, "An input is a text, a pair of texts (text, text) or an Example, not NoneType."),
        (
            ["good", 2],
            "Input 1 (counted from 0): An input is a text, a pair of texts (text, text) or an Example, not int.",
        ),
        (("good", None), "An input is a text, a pair of texts (text, text) or an Example, not str, NoneType."),
    ],
)
def test_what_is_no_text_is_a_sentence(model: FrozenModel, given: Any, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        explain(model, given, methods="occlusion")
    assert str(raised.value) == sentence


def test_a_name_in_place_of_a_model_is_a_sentence() -> None:
    with pytest.raises(ExplanationError, match=r"str is no model. Give what load\(…\) or wrap\(…\) returns."):
        explain("sst2", "good")  # type: ignore[arg-type]


def test_an_input_of_a_list_that_fails_is_named_and_those_before_it_are_kept(
    model: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = api.compare

    def fails(model: FrozenModel, text: Example, *given: Any, **rest: Any) -> Any:
        if text.text == "bad":
            raise ExplanationError("It is bad.")
        return real(model, text, *given, **rest)

    monkeypatch.setattr(api, "compare", fails)
    with pytest.raises(api.InputFailed, match=r"Input 1 \(counted from 0\): It is bad\.") as failed:
        explain(model, ["good", "bad"], methods="occlusion")
    assert [one.decision.encoding.texts for one in failed.value.finished] == [("good",)]
    assert set(failed.value.finished.to_frame("scores")["input"]) == {0}
