"""Metrics of what sentences say about their own input, on sentences that can be counted by hand."""

import math

import numpy as np
import pytest

from explainers.narrative.text_metrics import content_stems, distinct_per_sample, other_inputs, picked, shares

LABELS = ("entailment", "neutral", "contradiction")


def test_class_names_and_the_opening_are_no_content() -> None:
    text = "The answer is entailment because a dog that is running entails dogs."
    assert content_stems(text, LABELS) == {"dog", "runn"}


def test_other_inputs_are_of_the_same_class_and_have_another_text() -> None:
    texts, classes = ["a", "b", "a", "c", "d"], [0, 0, 0, 0, 1]
    others = other_inputs(texts, classes, 9)
    assert [sorted(row) for row in others] == [[1, 3], [0, 2, 3], [1, 3], [0, 1, 2], []]
    assert others == other_inputs(texts, classes, 9) != other_inputs(texts, classes, 9, seed=1)
    assert [len(row) for row in other_inputs(texts, classes, 1)] == [1, 1, 1, 1, 0]


def test_own_words_are_counted_against_other_inputs_of_the_class() -> None:
    texts = ["a dog runs", "a cat sleeps", "a bird sings"]
    sentences = ["The answer is neutral because dogs sleep.", "The answer is neutral.", "A bird."]
    own, elsewhere = shares(sentences, texts, [(1, 2), (0, 2), ()], LABELS)
    # "dog" stands in the own input, "sleep" in the first of two others: 1/2 against (1/2 + 0) / 2
    np.testing.assert_allclose(own, [0.5, 0, np.nan])
    np.testing.assert_allclose(elsewhere, [0.25, 0, np.nan])


def test_the_own_input_is_picked_of_ten_and_ties_share_the_hit() -> None:
    texts = [f"animal number{at}" for at in range(10)]
    others = [tuple(at for at in range(10) if at != number) for number in range(10)]
    sentences = ["number0", "number5", "animal", "nothing", *["number9"] * 6]
    hits = picked(sentences, texts, others, LABELS)
    assert hits[:4].tolist() == pytest.approx([1, 0, 0.1, 0.1])
    assert hits[9] == 1
    assert np.isnan(picked(sentences[:1], texts, [tuple(range(1, 9))], LABELS)[0])  # eight others are not enough


def test_different_sentences_do_not_depend_on_how_many_there_are() -> None:
    assert distinct_per_sample(["a", "a", "b"], 2) == pytest.approx(2 * 2 / 3 + 1 / 3)  # of three pairs two differ
    assert distinct_per_sample(["a"] * 300) == 1
    assert distinct_per_sample([str(number) for number in range(300)]) == pytest.approx(100)
    assert math.isnan(distinct_per_sample(["a"] * 99))
