import json
from collections.abc import Callable

import pytest

from explainers.api import ask, explain
from explainers.errors import ExplanationError
from explainers.models.catalog import fingerprint
from explainers.models.classifier import TextClassifier
from explainers.settings import Settings

Build = Callable[..., TextClassifier]
QUICK = ("occlusion", "gradient_x_input", "random")


@pytest.fixture
def model(bag: Build) -> TextClassifier:
    return bag({"great": 0.3, "dull": -0.2, "the": 0.0}, additive=True)


def test_the_predicted_class_is_explained(model: TextClassifier) -> None:
    found = explain(model, "the dull", methods=QUICK)
    assert found.label == "negative"
    assert found.as_probabilities() == pytest.approx({"negative": 0.7, "positive": 0.3})
    occlusion = found.results[0].attribution
    assert occlusion.scores == pytest.approx((0.0, 0.2))


def test_a_named_class_is_explained_instead(model: TextClassifier) -> None:
    found = explain(model, "the dull", methods=["occlusion"], label="positive")
    assert found.results[0].attribution.scores == pytest.approx((0.0, -0.2))


def test_results_stand_in_the_order_of_display(model: TextClassifier) -> None:
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
def test_what_is_wrong_is_said_in_a_sentence(model: TextClassifier, wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        explain(model, **{"text": "the dull", **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_removed_word_no_longer_speaks(model: TextClassifier, erasure: str) -> None:
    question, probabilities = ask(model, "great dull", removed=[0], settings=Settings(erasure=erasure))
    assert [unit.text for unit in question.encoding.units] == ["dull"]
    assert probabilities == pytest.approx((0.7, 0.3))


def test_nothing_is_left_when_every_word_is_removed(model: TextClassifier) -> None:
    with pytest.raises(ExplanationError, match="nothing left to explain"):
        ask(model, "great dull", removed=[0, 1])


def test_the_json_reads_back_and_names_what_is_needed_to_repeat_it(model: TextClassifier) -> None:
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


def test_the_same_question_has_the_same_json_but_for_the_time(bert: TextClassifier) -> None:
    def answer() -> dict[str, object]:
        found = explain(bert, "the film was good", samples=40, steps=5).as_dict()
        for each in found["explanations"]:
            each["seconds"] = 0
        return found

    assert answer() == answer()
