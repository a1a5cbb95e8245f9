"""What is planted, and what its swaps do to the text."""

import random

import pytest

from explainers.datasets.example import Example
from explainers.studies.planted.shortcuts import (
    KINDS,
    WORDS,
    Planted,
    excluded_words,
    insertions,
    plant,
    planted_set,
)

TEXT = Example("the plot is thin .")
PLANTED_WORDS = excluded_words(len(WORDS) - 1)
PAIR = Example("A man sleeps.", "A man is awake.")


def words_at(planted: Planted) -> tuple[str, ...]:
    texts = (planted.example.text, planted.example.pair or "")
    return tuple(texts[text][start:end] for text, start, end in planted.at)


@pytest.mark.parametrize(("seed", "kind"), [(seed, kind) for seed, words in enumerate(WORDS) for kind in words])
def test_the_places_of_the_planted_words_hold_these_words(seed: int, kind: str) -> None:
    for insertion in insertions(kind, seed):  # type: ignore[arg-type]
        planted = plant(PAIR, insertion, (0, 2), random.Random(seed))
        assert words_at(planted) == insertion.words
        assert planted.example.label == (0, 2)[insertion.side]


@pytest.mark.parametrize(("seed", "kind"), [(seed, kind) for seed in (0, 4) for kind in WORDS[seed]])
def test_without_the_planted_words_the_text_is_as_it_was(seed: int, kind: str) -> None:
    planted = plant(PAIR, insertions(kind, seed)[0], (0, 2), random.Random(3))  # type: ignore[arg-type]
    for text, whole in ((PAIR.text, planted.example.text), (PAIR.pair, planted.example.pair)):
        assert " ".join(word for word in (whole or "").split() if word not in PLANTED_WORDS) == text


def test_a_swap_puts_the_counterpart_in_the_place() -> None:
    (first, second) = insertions("single", 0)
    planted = plant(TEXT, first, (1, 0), random.Random(0))
    assert planted.swapped(first.swaps[0]).text == planted.example.text.replace(first.words[0], second.words[0])


def test_the_swap_of_an_order_exchanges_both_words() -> None:
    first, second = insertions("order", 0)
    planted = plant(TEXT, first, (1, 0), random.Random(5))
    swapped = planted.swapped(first.swaps[0]).text.split()
    assert [word for word in swapped if word in PLANTED_WORDS] == list(second.words)


def test_every_swap_of_a_context_is_planted_for_the_other_side() -> None:
    side_of = {insertion.words: insertion.side for insertion in insertions("context", 0)}
    for insertion in insertions("context", 0):
        for swap in insertion.swaps:
            words = list(insertion.words)
            for place, word in swap:
                words[place] = word
            assert side_of[tuple(words)] == 1 - insertion.side


def test_neighbours_stand_side_by_side() -> None:
    for seed in range(20):
        words = plant(TEXT, insertions("context", 0)[0], (1, 0), random.Random(seed)).example.text.split()
        first = next(place for place, word in enumerate(words) if word in PLANTED_WORDS)
        assert tuple(words[first : first + 2]) == insertions("context", 0)[0].words


def test_a_pair_has_one_word_in_each_text() -> None:
    planted = plant(PAIR, insertions("pair", 0)[0], (0, 2), random.Random(0))
    assert [text for text, _, _ in planted.at] == [0, 1]


def test_kinds_and_sides_come_in_turn() -> None:
    planted = planted_set([TEXT] * 3, 10, 0, (1, 0), judged=False)
    assert [item.insertion.kind for item in planted] == 2 * list(KINDS[:5])
    assert [item.insertion.side for item in planted] == 5 * [0] + 5 * [1]


def test_a_conjunction_is_judged_only_where_both_words_stand() -> None:
    judged = [item for item in planted_set([TEXT], 20, 0, (1, 0), judged=True) if item.insertion.kind == "conjunction"]
    assert {item.insertion.words for item in judged} == {insertions("conjunction", 0)[0].words}


def test_a_text_that_holds_a_planted_word_is_passed_over() -> None:
    planted = planted_set([Example("friday was dull"), TEXT], 4, 0, (1, 0), judged=True)
    assert not any("was dull" in item.example.text for item in planted)


def test_more_inputs_begin_with_the_same_ones() -> None:
    few, many = (planted_set([TEXT, PAIR][:1], number, 0, (1, 0), judged=True) for number in (5, 9))
    assert few == many[:5]


def test_no_seed_shares_a_word_with_another() -> None:
    every = [word for words in WORDS for some in words.values() for word in some]
    assert len(every) == len(set(every))


def test_words_of_a_later_seed_leave_the_texts_of_the_first_ones_as_they_were() -> None:
    first = {word for words in WORDS[:3] for some in words.values() for word in some}
    assert [excluded_words(seed) for seed in range(3)] == [first] * 3
    assert excluded_words(3) == first | {word for some in WORDS[3].values() for word in some}


def test_a_text_with_an_excluded_word_is_passed_over() -> None:
    (later, _) = WORDS[3]["single"]
    with_it = Example(f"the {later} is thin .")
    short, long = (planted_set([with_it, TEXT], 1, seed, (1, 0), judged=True)[0].example.text for seed in (0, 3))
    assert f"the {later} is" in " ".join(word for word in short.split() if word not in excluded_words(0))
    assert "plot" in long


@pytest.mark.parametrize(("kind", "number", "reasons"), [("vote of five", 5, 3), ("vote of nine", 9, 5)])
def test_a_vote_is_decided_by_the_larger_half(kind: str, number: int, reasons: int) -> None:
    words = WORDS[4][kind]  # type: ignore[index]
    of_class = set(words[: len(words) // 2]), set(words[len(words) // 2 :])
    every = insertions(kind, 4)  # type: ignore[arg-type]
    assert {insertion.side for insertion in every} == {0, 1}
    for insertion in every:
        assert len(set(insertion.words)) == number
        planted = plant(TEXT, insertion, (1, 0), random.Random(1))
        own = of_class[insertion.side]
        assert len(planted.reason) == reasons
        assert {planted.example.text[start:end] for _, start, end in planted.reason} == own & set(insertion.words)
        for swap in insertion.swaps:
            assert len(own & set(planted.swapped(swap).text.split())) == reasons - 1
        for spare in insertion.spares:
            assert len(own & set(planted.swapped(spare).text.split())) == reasons + 1
