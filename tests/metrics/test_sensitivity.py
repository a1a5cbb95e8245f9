import numpy as np
import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.metrics.sensitivity import replace_units, sensitivity
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import FIXED, Encoding

TEXT, OTHER = "the film was not a very good plot ! ,", "dull unwatchable bad"
CLS, SEP = 2, 3


def by_position(encoding: Encoding) -> tuple[float, ...]:
    return tuple(float(-place) for place in range(len(encoding.units)))


def by_word(encoding: Encoding) -> tuple[float, ...]:
    """A word's score is the number of its first token, wherever it stands."""
    firsts = [encoding.owners.index(unit) for unit in range(len(encoding.units))]
    return tuple(float(encoding.ids[first]) for first in firsts)


def test_an_explanation_by_position_does_not_move(bert: FrozenModel) -> None:
    assert sensitivity(by_position, bert.encode(TEXT), bert.encode(OTHER), seed=0) == 0


def test_an_explanation_by_chance_keeps_what_chance_keeps(bert: FrozenModel) -> None:
    chance = np.random.default_rng(0)

    def explain(encoding: Encoding) -> tuple[float, ...]:
        return tuple(chance.random(len(encoding.units)).tolist())

    found = sensitivity(explain, bert.encode(TEXT), bert.encode(OTHER), seed=0, draws=400)
    assert found == pytest.approx(0.7, abs=0.05)  # 3 of 10 words, of which 3 in 10 come back


def test_an_explanation_that_turns_round_loses_everything(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)

    def explain(given: Encoding) -> tuple[float, ...]:
        sign = 1 if given.ids == encoding.ids else -1
        return tuple(sign * score for score in by_position(given))

    assert sensitivity(explain, encoding, bert.encode(OTHER), seed=0) == 1


def test_it_is_the_mean_share_of_the_top_words_that_are_no_longer_there(bert: FrozenModel) -> None:
    gone: list[int] = []

    def explain(encoding: Encoding) -> tuple[float, ...]:
        """Words with a meaning first, "the" after them, and what was put in comes last."""
        words = by_word(encoding)
        gone.append(sum(word == 7 for word in words[:3]))
        return tuple({8.0: 0.0, 7.0: -1.0}.get(word, 1.0) for word in words)

    found = sensitivity(explain, bert.encode("good bad dull" + " the" * 6), bert.encode("film"), seed=0)
    _, *lost = gone  # of the top 3 of 9 words; the place of each is taken by a "the" that was not among them
    assert found == pytest.approx(sum(lost) / 3 / 10)
    assert 0 < found < 1


@pytest.mark.parametrize("texts", [("good film", OTHER), ("good", OTHER), (TEXT, "")])
def test_where_nothing_can_be_replaced_there_is_no_figure(bert: FrozenModel, texts: tuple[str, str]) -> None:
    calls: list[Encoding] = []

    def explain(encoding: Encoding) -> tuple[float, ...]:
        calls.append(encoding)
        return by_position(encoding)

    with pytest.raises(ExplanationError, match="too short"):
        sensitivity(explain, *map(bert.encode, texts), seed=0)
    assert calls == []


@pytest.mark.parametrize(("words", "replaced"), [(3, 1), (8, 2), (9, 3), (15, 5), (30, 5)])
def test_at_most_five_words_and_a_third_of_the_text_are_replaced(bert: FrozenModel, words: int, replaced: int) -> None:
    changed: list[int] = []

    def explain(encoding: Encoding) -> tuple[float, ...]:
        changed.append(sum(word != 5 for word in by_word(encoding)))
        return by_position(encoding)

    sensitivity(explain, bert.encode(" ".join(["good"] * words)), bert.encode("dull"), seed=0, draws=4)
    assert changed == [0, *[replaced] * 4]


def test_the_seed_decides_which_words(bert: FrozenModel) -> None:
    def asked(seed: int) -> list[tuple[int, ...]]:
        given: list[tuple[int, ...]] = []

        def explain(encoding: Encoding) -> tuple[float, ...]:
            given.append(encoding.ids)
            return by_position(encoding)

        sensitivity(explain, bert.encode(TEXT), bert.encode(OTHER), seed=seed)
        return given

    assert asked(0) == asked(0) != asked(1)
    assert len(set(asked(0))) > 5  # ten draws and the text itself


def test_a_word_of_one_piece_gives_way_to_one_of_three(bert: FrozenModel) -> None:
    encoding, other = bert.encode("the good film"), bert.encode("dull unwatchable")
    found = replace_units(encoding, other, {1: 1})
    assert found.ids == (CLS, 8, 15, 16, 17, 7, SEP)
    assert found.owners == (FIXED, 0, 1, 1, 1, 2, FIXED)
    assert len(found.segments) == 7
    assert found.units == encoding.units


def test_a_word_of_three_pieces_gives_way_to_one_of_one(bert: FrozenModel) -> None:
    found = replace_units(bert.encode("the unwatchable film"), bert.encode("dull"), {1: 0, 2: 0})
    assert found.ids == (CLS, 8, 12, 12, SEP)
    assert found.owners == (FIXED, 0, 1, 2, FIXED)


def test_the_second_text_stays_the_second(bert: FrozenModel) -> None:
    encoding = bert.encode(Example("good film", "dull plot"))
    found = replace_units(encoding, bert.encode("unwatchable"), {0: 0, 3: 0})
    assert found.ids == (CLS, 15, 16, 17, 7, SEP, 12, 15, 16, 17, SEP)
    assert found.segments == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    assert found.owners == (FIXED, 0, 0, 0, 1, FIXED, 2, 3, 3, 3, FIXED)


def test_without_a_loan_nothing_changes(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    assert replace_units(encoding, bert.encode(OTHER), {}) == encoding


def test_the_changed_text_can_be_asked(bert: FrozenModel) -> None:
    encoding = bert.encode("the unwatchable film")
    found = replace_units(encoding, bert.encode("good dull plot"), {0: 1, 1: 0, 2: 2})
    everything = [[1, 1, 1]]
    expected = bert.probabilities(bert.encode("dull good plot"), everything)
    assert bert.probabilities(found, everything) == pytest.approx(expected)
    assert bert.probabilities(found, [[1, 0, 1]]) == pytest.approx(
        bert.probabilities(bert.encode("dull good plot"), [[1, 0, 1]])
    )


def test_a_changed_text_is_not_longer_than_the_model_reads(bert: FrozenModel) -> None:
    bert.tokenizer.enable_truncation(62)  # as hub models are cut
    asked: list[int] = []

    def explain(encoding: Encoding) -> tuple[float, ...]:
        bert.probabilities(encoding, [[1] * len(encoding.units)])
        asked.append(len(encoding.ids))
        return by_position(encoding)

    sensitivity(explain, bert.encode("good " * 100), bert.encode("unwatchable " * 20), seed=0)
    assert max(asked) <= 64


def test_a_premise_borrows_from_a_premise_and_a_hypothesis_from_a_hypothesis(bert: FrozenModel) -> None:
    mine, other = Example("the the the", "film film film"), Example("good bad", "dull plot ,")
    seen: set[tuple[int, str]] = set()

    def explain(encoding: Encoding) -> tuple[float, ...]:
        words = {8: "the", 7: "film", 5: "good", 6: "bad", 12: "dull", 13: "plot", 19: ","}
        seen.update(
            (encoding.units[o].segment, words[i]) for i, o in zip(encoding.ids, encoding.owners, strict=True) if o >= 0
        )
        return by_position(encoding)

    sensitivity(explain, bert.encode(mine), bert.encode(other), seed=0, draws=50)
    assert seen == {(0, "the"), (0, "good"), (0, "bad"), (1, "film"), (1, "dull"), (1, "plot"), (1, ",")}
