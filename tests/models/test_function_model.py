"""Functions from texts to probabilities, as models."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from explainers import explain, wrap
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.calls import PredictionCache
from explainers.models.function_model import AT_ONCE, FunctionModel

TEXT = "A good film, but the plot isn't dull!"
INSIDE = ("integrated_gradients", "gradient_x_input", "attention_mean")


def half(texts: list[str]) -> Any:
    return np.full((len(texts), 2), 0.5)


def recording(seen: list[str]) -> Callable[[list[str]], Any]:
    def function(texts: list[str]) -> Any:
        seen.extend(texts)
        good = np.array(["good" in text for text in texts])
        return np.stack([0.9 - 0.7 * good, 0.1 + 0.7 * good], axis=1)

    return function


def test_a_pipeline_of_scikit_learn_is_explained() -> None:
    texts = ["good film", "great plot", "dull film", "awful plot", "a good story", "a dull story"]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 1, 0, 0, 1, 0])
    comparison = explain(wrap(pipeline.predict_proba, labels=["bad", "fine"]), "A good film and a plot like no other")
    done = {result.attribution.method for result in comparison.results}
    assert {"lime", "kernel_shap", "occlusion", "consensus"} <= done
    occlusion = comparison.result("occlusion")
    assert occlusion is not None
    units = [unit.text for unit in comparison.decision.encoding.units]
    assert units[int(np.argmax(occlusion.attribution.scores))] == "good"
    assert comparison.probability == pytest.approx(
        pipeline.predict_proba(["A good film and a plot like no other"])[0, 1]
    )
    assert comparison.answer is not None


def test_a_text_comes_to_the_function_as_it_was_typed_and_with_words_deleted_or_masked() -> None:
    seen: list[str] = []
    model = wrap(recording(seen), labels=["no", "yes"], mask="___")
    encoding = model.encode(TEXT)
    words = [unit.text for unit in encoding.units]
    keep = np.array([word not in ("good", ",") for word in words])
    seen.clear()
    model.probabilities(encoding, np.ones((1, len(words)), dtype=bool), "delete")
    model.probabilities(encoding, keep[None], "delete")
    model.probabilities(encoding, keep[None], "mask")
    model.probabilities(encoding, np.zeros((1, len(words)), dtype=bool), "delete")
    assert seen == [TEXT, "A film but the plot isn't dull!", "A ___ film ___ but the plot isn't dull!", ""]


def test_words_removed_for_good_stay_removed() -> None:
    seen: list[str] = []
    model = wrap(recording(seen), labels=["no", "yes"])
    explain(model, TEXT, methods="occlusion")
    left = model.without(model.encode(TEXT), [1], "delete")
    seen.clear()
    model.probabilities(left, np.ones((1, len(left.units)), dtype=bool), "delete")
    assert seen == ["A film, but the plot isn't dull!"]


def test_it_is_asked_about_few_texts_at_a_time() -> None:
    sizes: list[int] = []

    def function(texts: list[str]) -> Any:
        sizes.append(len(texts))
        return half(texts)

    explain(wrap(function), TEXT, methods=("lime", "kernel_shap"))
    assert 1 < max(sizes) <= AT_ONCE


def test_methods_that_need_an_inside_say_that_there_is_none() -> None:
    comparison = explain(wrap(half, name="mine"), TEXT, methods=(*INSIDE, "aml", "occlusion"))
    reasons = {failure.method: failure.reason for failure in comparison.failures}
    assert set(reasons) == {*INSIDE, "aml"}
    assert all("The model is a function from texts to probabilities" in reasons[method] for method in INSIDE)
    assert "nothing can be fitted to mine" in reasons["aml"]


def test_tensors_and_lists_are_read_and_classes_have_numbers_without_names() -> None:
    assert wrap(lambda texts: torch.full((len(texts), 3), 1 / 3, requires_grad=True)).labels == (
        "class 0",
        "class 1",
        "class 2",
    )
    assert isinstance(wrap(lambda texts: [[0.2, 0.8] for _ in texts], labels=["a", "b"]), FunctionModel)


def test_two_functions_do_not_share_answers() -> None:
    first, second = (wrap(function, labels=["no", "yes"]) for function in (half, recording([])))
    assert first.version != second.version
    pool, keep = PredictionCache(), [[True] * 3]
    answers = [model.pooled(pool).probabilities(model.encode("a good film"), keep) for model in (first, second)]
    assert answers == [pytest.approx(np.array([[0.5, 0.5]])), pytest.approx(np.array([[0.2, 0.8]]))]


def test_an_array_that_is_a_view_or_is_used_again_is_read_rightly() -> None:
    buffer = np.zeros((AT_ONCE, 2))

    def function(texts: list[str]) -> Any:
        for row, text in enumerate(texts):
            buffer[row] = (0.9, 0.1) if "good" in text else (0.3, 0.7)
        return buffer[: len(texts), ::-1]

    model = wrap(function, labels=["no", "yes"])
    encoding = model.encode(" ".join(["good", *"abcdefghijklm"]))
    keeps = np.random.default_rng(0).random((3 * AT_ONCE, len(encoding.units))) > 0.5
    expected = np.where(keeps[:, :1], (0.1, 0.9), (0.7, 0.3))
    assert model.probabilities(encoding, keeps, "delete") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda texts: [1.0] * len(texts), r"gave an array \(1,\), not \(1, classes\)"),
        (lambda _texts: None, r"gave an array \(\), not"),
        (lambda texts: np.ones((len(texts), 1)), r"gave an array \(1, 1\), not"),
        (lambda texts: np.full((len(texts), 2), np.nan), "gave numbers that are no probabilities"),
        (lambda texts: np.ones((len(texts), 2)), "those of a text must sum to 1"),
        (lambda texts: [[-0.5, 1.5] for _ in texts], "must not be negative"),
        (lambda texts: 1 / 0, r"raised ZeroDivisionError on “A test\.”: division by zero"),
        (lambda texts: "abc", "raised ValueError"),
    ],
)
def test_what_a_function_must_not_answer_is_a_sentence(function: Any, sentence: str) -> None:
    with pytest.raises(ModelUnavailable, match=sentence):
        wrap(function)


def test_a_function_that_fails_later_is_a_sentence_too() -> None:
    model = wrap(lambda texts: half(texts) if len(texts) == 1 else half(texts[1:]), name="mine")
    comparison = explain(model, TEXT, methods="occlusion")
    assert "The function 'mine' gave an array" in comparison.failure("occlusion")


def failing_at(text: str) -> Callable[[list[str]], Any]:
    """A function that raises the first time that it is asked about the text, such as a service that is busy."""
    answer, left = recording([]), [1]

    def function(texts: list[str]) -> Any:
        if text in texts and left:
            left.clear()
            raise RuntimeError("too many requests")
        return answer(texts)

    return function


def test_a_function_that_fails_once_loses_one_method_and_says_at_which_texts() -> None:
    without_good = TEXT.replace(" good", "")
    model = wrap(failing_at(without_good), labels=["no", "yes"], name="mine")
    comparison = explain(model, TEXT, methods=("occlusion", "lime", "kernel_shap"))
    (failed,) = comparison.failures
    assert failed.method == "occlusion"
    texts = f"3 texts, the first “{without_good}”"
    assert failed.reason == f"The function 'mine' raised RuntimeError on {texts}: too many requests."
    assert {"lime", "kernel_shap", "consensus"} == {result.method for result in comparison.results}
    assert comparison.answer is not None
    assert comparison.answer.status == "supported"


def test_a_list_tells_how_much_of_it_failed() -> None:
    model = wrap(failing_at("A film"), labels=["no", "yes"])
    compared = explain(model, ["A dull plot", "A good film"], methods=("occlusion", "lime"))
    assert [len(one.failures) for one in compared] == [0, 1]
    assert repr(compared).endswith(" with a supported answer, 1 failed: see the `failures` of each>")


def test_by_default_a_function_is_explained_by_what_it_can_have() -> None:
    comparison = explain(wrap(recording([]), labels=["no", "yes"]), TEXT)
    assert comparison.order == ("lime", "kernel_shap", "occlusion", "random")
    assert not comparison.failures


@pytest.mark.parametrize("labels", ["ab", ["a"], ["a", "a"], ["a", ""]])
def test_labels_that_name_no_classes_are_refused(labels: Any) -> None:
    with pytest.raises(ModelUnavailable, match="two or more different names"):
        wrap(half, labels=labels)


@pytest.mark.parametrize("labels", [np.array(["bad", "good"]), np.array([0, 1]), [0, 1]])
def test_labels_are_those_of_a_classifier_of_scikit_learn(labels: Any) -> None:
    assert wrap(half, labels=labels).labels == tuple(map(str, labels))


def test_more_names_than_classes_are_refused() -> None:
    with pytest.raises(ModelUnavailable, match=r"gave an array \(1, 2\), not \(1, 3\)"):
        wrap(half, labels=["a", "b", "c"])


def test_a_classifier_itself_is_no_function() -> None:
    with pytest.raises(ModelUnavailable, match="Give its predict_proba"):
        wrap(make_pipeline(CountVectorizer(), LogisticRegression()))


def test_a_pair_is_refused() -> None:
    with pytest.raises(ExplanationError, match="reads a single text"):
        explain(wrap(half), "A text", "and another")


def test_a_network_without_its_tokenizer_is_refused(bert: Any) -> None:
    with pytest.raises(ModelUnavailable, match="needs its tokenizer"):
        wrap(bert.module)
