import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from explainers.api import ask, explain
from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.manifest import pixels_of
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Erasure
from explainers.models.meter import Meter
from explainers.models.notices import IDENTICAL
from explainers.one_text import one_text_alone
from explainers.report.rows import metric_rows
from explainers.settings import Settings
from explainers.summary import summary

Build = Callable[..., FrozenModel]
QUICK = ("occlusion", "gradient_x_input", "random")


@pytest.fixture
def model(bag: Build) -> FrozenModel:
    return bag({"great": 0.3, "dull": -0.2, "the": 0.0}, additive=True)


def test_the_predicted_class_is_explained(model: FrozenModel) -> None:
    found = explain(model, "the dull", methods=QUICK)
    assert found.label == "negative"
    assert found.as_probabilities() == pytest.approx({"negative": 0.7, "positive": 0.3})
    occlusion = found.results[0].attribution
    assert occlusion.scores == pytest.approx((0.0, 0.2))


def test_a_named_class_is_explained_instead(model: FrozenModel) -> None:
    found = explain(model, "the dull", methods=["occlusion"], label="positive")
    assert found.results[0].attribution.scores == pytest.approx((0.0, -0.2))


def test_results_stand_in_the_order_of_display(model: FrozenModel) -> None:
    found = explain(model, "the dull great", methods=QUICK[::-1])
    assert [result.attribution.method for result in found.results] == list(QUICK)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"label": "neutral"}, r"no class 'neutral'\. Choose one of: negative, positive"),
        ({"methods": ["shap"]}, r"no method 'shap'\. Choose from: .*kernel_shap"),
        ({"erasure": "blur"}, r"no erasure 'blur'\. Choose one of: mask, delete, zero"),
        ({"unit": "letter"}, r"no unit 'letter'\. Choose one of: word, token"),
        ({"samples": 9}, "at least 10 samples"),
        ({"steps": 0}, "at least 10 samples and 1 step"),
        ({"seed": -1}, "must not be negative"),
        ({"text": ""}, "The text is empty"),
        ({"text": " \n"}, "The text is empty"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(model: FrozenModel, wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        explain(model, **{"text": "the dull", **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_removed_word_no_longer_speaks(model: FrozenModel, erasure: str) -> None:
    question, probabilities = ask(model, "great dull", removed=[0], settings=Settings(erasure=erasure))
    assert [unit.text for unit in question.encoding.units] == ["dull"]
    assert probabilities == pytest.approx((0.7, 0.3))


def test_nothing_is_left_when_every_word_is_removed(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="nothing left to explain"):
        ask(model, "great dull", removed=[0, 1])


def test_the_json_reads_back_and_names_what_is_needed_to_repeat_it(model: FrozenModel) -> None:
    found = json.loads(explain(model, "the dull", methods=QUICK, seed=7).as_json())
    assert found["manifest"]["model"]["sha256"] == fingerprint(model)
    assert found["manifest"]["settings"] == {
        "unit": "word",
        "erasure": "mask",
        "samples": 500,
        "steps": 50,
        "seed": 7,
    }
    (occlusion, *_) = found["explanations"]
    assert [unit["text"] for unit in occlusion["units"]] == ["the", "dull"]
    assert occlusion["curve"]["removed"] == pytest.approx([0.7, 0.5, 0.5])


def test_the_same_question_has_the_same_json_but_for_the_time(bert: FrozenModel) -> None:
    def answer() -> dict[str, object]:
        found = explain(bert, "the film was good", samples=40, steps=5).as_dict()
        for each in found["explanations"]:
            each["seconds"] = 0
        return found

    assert answer() == answer()


PAIR = Example("the film was good", "a dull plot")


@pytest.mark.parametrize(
    ("text", "text_pair", "sentence"),
    [
        ("the film", None, r"small asks for a premise and a hypothesis; the hypothesis is missing\."),
        ("the film", " ", r"small asks for a premise and a hypothesis; the hypothesis is missing\."),
        ("\u200b", "a plot", r"small asks for a premise and a hypothesis; the premise is missing\."),
        ("", "", r"small asks for a premise and a hypothesis; both are missing\."),
        (PAIR, "a plot", "given twice"),
    ],
)
def test_half_a_pair_is_a_sentence(
    pairs: FrozenModel, text: str | Example, text_pair: str | None, sentence: str
) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        explain(pairs, text, text_pair, methods=["random"])


def test_a_second_text_is_refused_by_a_model_of_one(bert: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="small reads a single text, and a second one was given"):
        explain(replace(bert, asks=("text",)), "the film", "a plot", methods=["random"])


def test_the_json_of_a_pair_says_which_text_a_unit_is_of(pairs: FrozenModel) -> None:
    found = json.loads(explain(pairs, PAIR, methods=["occlusion"]).as_json())
    assert [unit["segment"] for unit in found["explanations"][0]["units"]] == [0, 0, 0, 0, 1, 1, 1]
    assert found["manifest"]["texts"] == ["the film was good", "a dull plot"]


def test_equal_texts_are_noticed_and_explained(pairs: FrozenModel) -> None:
    found = explain(pairs, "the film", text_pair="the film", methods=["random"])
    assert found.as_dict()["notice"] == IDENTICAL


def test_both_texts_alone_and_swapped_are_what_the_model_says_to_them(pairs: FrozenModel) -> None:
    def answer(example: Example, keep: tuple[bool, ...] = ()) -> list[float]:
        encoding = pairs.encode(example)
        return [float(p) for p in pairs.probabilities(encoding, keep or [True] * len(encoding.units))[0]]

    found = explain(pairs, PAIR, methods=["random"]).as_dict()["one_text_alone"]
    assert list(found) == ["premise", "hypothesis", "swapped"]
    first, second, both = (list(each.values()) for each in found.values())
    assert first == pytest.approx(answer(PAIR, (True,) * 4 + (False,) * 3))
    assert second == pytest.approx(answer(PAIR, (False,) * 4 + (True,) * 3))
    assert both == pytest.approx(answer(Example("a dull plot", "the film was good")))


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_removed_words_are_removed_from_the_swapped_texts_too(pairs: FrozenModel, erasure: Erasure) -> None:
    question, _ = ask(pairs, PAIR, removed=[1, 5], settings=Settings(erasure=erasure))  # "film" and "dull"
    found = one_text_alone(question, Meter())
    turned = pairs.without(pairs.encode(Example("a dull plot", "the film was good")), [1, 4], erasure)
    (expected,) = pairs.probabilities(turned, [True] * 5, erasure)
    assert found is not None
    assert found.answers[2] == pytest.approx(tuple(expected))


def test_a_single_text_has_nothing_of_a_pair(bert: FrozenModel) -> None:
    found = explain(bert, "the film", methods=["premise_only", "hypothesis_only", "random"])
    assert found.methods == ("random",)
    assert found.failures == ()
    assert found.as_dict()["one_text_alone"] is None


def test_one_text_alone_is_a_control_that_is_never_favoured(pairs: FrozenModel) -> None:
    found = explain(pairs, PAIR, methods=["premise_only", "hypothesis_only", "occlusion", "random"])
    first, second, *_ = (result.attribution.scores for result in found.results[1:])
    assert (first, second) == ((1.0,) * 4 + (0.0,) * 3, (0.0,) * 4 + (1.0,) * 3)
    rows = {row.method: row for row in metric_rows(found)}
    assert rows["premise_only"].best == rows["hypothesis_only"].best == frozenset()
    assert "Premise only" not in summary(found)
    assert "Hypothesis only" not in summary(found)


def test_a_manifest_knows_a_picture_by_its_pixels() -> None:
    white = np.full((2, 3, 3), 255, np.uint8)
    found = pixels_of(Picture.of(white))
    assert found == {"size": [3, 2], "pixels_sha256": hashlib.sha256(b"\xff" * 18).hexdigest()}
    assert pixels_of(None) is None
