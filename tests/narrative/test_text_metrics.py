import math
from collections.abc import Sequence

import numpy as np
import pytest

from explainers.datasets import entailment
from explainers.narrative.text_metrics import (
    NONE,
    bleu,
    composite,
    confusion,
    content,
    copied,
    distinct,
    macro_f1,
    mentioned,
    simulatability,
    stem,
    voted,
    word_for_word,
    words,
)

LABELS = entailment.LABELS


@pytest.mark.parametrize(
    ("classes", "expected"),
    [([2, 1, 1], 1), ([NONE, NONE, 2], 2), ([1, 2], 1), ([NONE, 2, 1], 2), ([NONE, NONE], NONE), ([], NONE)],
)
def test_the_class_that_most_sentences_state_wins(classes: list[int], expected: int) -> None:
    assert voted(classes) == expected


def f1(truth: list[int], stated: list[int], classes: int = 3) -> float:
    return float(macro_f1(confusion(truth, stated, classes).sum(0)))


@pytest.mark.parametrize(
    ("truth", "stated", "expected"),
    [
        ([0, 1, 2], [0, 1, 2], 1.0),
        ([0, 0, 1, 1], [0, 1, 1, 1], (2 / 3 + 4 / 5) / 2),  # 2·1/(2+1) and 2·2/(2+3); class 2 is not there
        ([0, 1], [0, 2], 1 / 3),  # a class that is only stated counts, with 0
        ([0, 1], [0, NONE], 1.0),  # only those that state a class
        ([0, 1], [NONE, NONE], 0.0),
        ([0, 1], [1, 0], 0.0),
    ],
)
def test_macro_f1_is_the_mean_over_the_classes_that_are_there(
    truth: list[int], stated: list[int], expected: float
) -> None:
    assert f1(truth, stated) == pytest.approx(expected)


def test_macro_f1_agrees_with_scikit_learn() -> None:
    from sklearn.metrics import f1_score

    truth, stated = np.random.default_rng(0).integers(3, size=(2, 60)).tolist()
    assert f1(truth, stated) == pytest.approx(f1_score(truth, stated, average="macro"))


def test_items_can_be_weighted_and_many_weightings_measured_at_once() -> None:
    counts = confusion([0, 0, 1], [0, 1, 1], 2)
    both = macro_f1(np.array([[1.0, 1, 1], [1, 0, 1]]) @ counts)
    assert both == pytest.approx([2 / 3, 1.0])  # without the second item nothing is wrong


@pytest.mark.parametrize(
    ("f1", "share", "expected"), [(1.0, 1.0, 1.0), (0.8, 0.1, 0.16 / 0.9), (0.5, 0.0, 0.0), (0.0, 0.0, 0.0)]
)
def test_the_composite_is_the_harmonic_mean(f1: float, share: float, expected: float) -> None:
    assert composite(np.array([f1]), np.array([share])) == pytest.approx([expected])


def test_a_perfect_copy_has_bleu_1() -> None:
    sentences = ["The answer is neutral because nobody knows.", "The answer is entailment because a dog is an animal."]
    assert bleu(sentences, [["Something else.", one] for one in sentences]) == pytest.approx(
        {f"bleu_{order}": 1.0 for order in range(1, 5)}
    )


def test_bleu_counts_common_n_grams_and_punishes_brevity() -> None:
    # "a b c" against "a b d e": 2 of 3 words, 1 of 2 pairs; brevity exp(1 - 4/3)
    result = bleu(["a b c"], [["a b d e"]])
    assert result["bleu_1"] == pytest.approx(2 / 3 * math.exp(-1 / 3))
    assert result["bleu_2"] == pytest.approx(math.sqrt(2 / 3 * 1 / 2) * math.exp(-1 / 3))


def test_bleu_takes_capitals_and_a_missing_reference_lightly() -> None:
    result = bleu(["A B C D E", "f g h i j"], [["a b c d e"], ["x", "f g h i j"]])
    assert result["bleu_4"] == pytest.approx(1.0)


def test_without_references_there_is_no_bleu() -> None:
    assert all(math.isnan(value) for value in bleu([], []).values())


@pytest.mark.parametrize(
    ("sentences", "order", "expected"),
    [
        (["a b a", "b c"], 1, 3 / 5),
        (["a b a b", "a b"], 2, 2 / 4),  # ab ba ab | ab
        (["A a."], 1, 1 / 2),
        (["a"], 2, 0.0),
        ([], 1, 0.0),
    ],
)
def test_distinct_n_grams_are_counted_over_all_sentences(sentences: Sequence[str], order: int, expected: float) -> None:
    assert distinct(sentences, order) == pytest.approx(expected)


def test_a_copy_is_word_for_word() -> None:
    sentence = ["The dog runs.", "the dog, runs", "The dogs run.", "The dog"]
    assert copied(sentence, ["THE dog runs!", "A cat."]) == 0.5
    assert copied(sentence, []) == copied([], sentence) == 0.0


def test_words_are_in_lower_case_and_keep_what_joins_them() -> None:
    assert words("Don't well-known, 2 DOGS -- ok'") == ["don't", "well-known", "2", "dogs", "ok"]


@pytest.mark.parametrize(
    "forms",
    [("dances", "danced", "dancing", "dance"), ("dog", "dogs"), ("parties", "party"), ("watch", "watches")],
)
def test_forms_of_a_word_are_one(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(("one", "other"), [("sing", "s"), ("red", "r"), ("bus", "bu"), ("dog", "cat"), ("is", "i")])
def test_short_words_keep_their_endings(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_content_is_neither_function_words_nor_the_opening_of_every_sentence() -> None:
    assert content("The answer is because a dog was on the sofa.") == ["dog", "sofa"]


def test_mentioned_is_the_share_of_content_words_of_the_text() -> None:
    assert mentioned("Dogs dance on a sofa because they sleep.", "the dog is dancing") == 2 / 4
    assert mentioned("It is.", "the dog") == 0.0


def labelled(n: int, word: dict[int, str]) -> tuple[list[str], list[int]]:
    """n sentences of random words, each with the word of its class."""
    draws = np.random.default_rng(0)
    classes = [number % 3 for number in range(n)]
    noise = [" ".join(f"w{number}" for number in draws.integers(12, size=6)) for _ in range(n)]
    return [
        f"The answer is {LABELS[one]} because {word[one]} {rest}" for one, rest in zip(classes, noise, strict=True)
    ], classes


def test_a_planted_word_tells_the_class() -> None:
    sentences, classes = labelled(150, {0: "alpha", 1: "beta", 2: "gamma"})
    assert simulatability(sentences, classes, LABELS) == 1.0


def test_class_names_and_random_words_tell_nothing() -> None:
    sentences, classes = labelled(300, {0: "same", 1: "same", 2: "same"})
    assert simulatability(sentences, classes, LABELS) == pytest.approx(1 / 3, abs=0.1)


@pytest.mark.parametrize("classes", [[0, 0, 0, 0], [0, 0, 0, 1]])
def test_of_too_few_items_no_reader_can_learn(classes: list[int]) -> None:
    assert math.isnan(simulatability(["a b", "a b", "a c", "a c"], classes, LABELS))


def test_simulatability_has_a_seed() -> None:
    sentences, classes = labelled(60, {0: "one", 1: "one", 2: "two"})
    assert simulatability(sentences, classes, LABELS) == simulatability(sentences, classes, LABELS)


def test_a_reason_word_for_word_counts_where_there_is_one() -> None:
    sentence, given = ("Two cats.", "One dog", "Nothing"), (("one dog", "two cats"), ("a dog",), ())
    assert word_for_word(sentence, given) == 0.5
    assert math.isnan(word_for_word(("x",), ((),)))
