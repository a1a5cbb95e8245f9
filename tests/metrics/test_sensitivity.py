import numpy as np
import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.metrics.sensitivity import replace_units, sensitivity
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import NO_UNIT, Encoding

TEXT, OTHER = "the film was not a very good plot ! ,", "dull unwatchable bad"
CLS, SEP = 2, 3


def by_position(encoding: Encoding) -> tuple[float, ...]:
    return tuple(float(-position) for position in range(len(encoding.units)))


def by_word(encoding: Encoding) -> tuple[float, ...]:
    """A word's score is the number of its first token, wherever it is."""
    firsts = [encoding.owners.index(unit) for unit in range(len(encoding.units))]
    return tuple(float(encoding.ids[first]) for first in firsts)


def test_an_explanation_by_position_does_not_move(bert: FrozenModel) -> None:
    assert sensitivity(by_position, bert.encode(TEXT), bert.encode(OTHER), seed=0) == 0


def test_an_explanation_by_random_scores_keeps_what_a_random_order_keeps(bert: FrozenModel) -> None:
    rng = np.random.default_rng(0)

    def explain(encoding: Encoding) -> tuple[float, ...]:
        return tuple(rng.random(len(encoding.units)).tolist())

    value = sensitivity(explain, bert.encode(TEXT), bert.encode(OTHER), seed=0, draws=400)
    assert value == pytest.approx(0.7, abs=0.05)  # 3 of 10 words, of which 3 in 10 come back


def test_an_explanation_that_turns_round_loses_everything(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)

    def explain(changed: Encoding) -> tuple[float, ...]:
        sign = 1 if changed.ids == encoding.ids else -1
        return tuple(sign * score for score in by_position(changed))

    assert sensitivity(explain, encoding, bert.encode(OTHER), seed=0) == 1


def test_it_is_the_mean_share_of_the_top_words_that_are_no_longer_there(bert: FrozenModel) -> None:
    missing: list[int] = []

    def explain(encoding: Encoding) -> tuple[float, ...]:
        """Words with a meaning first, "the" after them, and what was put in comes last."""
        words = by_word(encoding)
        missing.append(sum(word == 7 for word in words[:3]))
        return tuple({8.0: 0.0, 7.0: -1.0}.get(word, 1.0) for word in words)

    value = sensitivity(explain, bert.encode("good bad dull" + " the" * 6), bert.encode("film"), seed=0)
    _, *lost = missing  # of the top 3 of 9 words; each is replaced by a "the" that was not among them
    assert value == pytest.approx(sum(lost) / 3 / 10)
    assert 0 < value < 1


@pytest.mark.parametrize("texts", [("good film", OTHER), ("good", OTHER), (TEXT, "")])
def test_where_nothing_can_be_replaced_there_is_no_value(bert: FrozenModel, texts: tuple[str, str]) -> None:
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
    def explained(seed: int) -> list[tuple[int, ...]]:
        inputs: list[tuple[int, ...]] = []

        def explain(encoding: Encoding) -> tuple[float, ...]:
            inputs.append(encoding.ids)
            return by_position(encoding)

        sensitivity(explain, bert.encode(TEXT), bert.encode(OTHER), seed=seed)
        return inputs

    assert explained(0) == explained(0) != explained(1)
    assert len(set(explained(0))) > 5  # ten draws and the text itself


def test_a_word_of_one_piece_gives_way_to_one_of_three(bert: FrozenModel) -> None:
    encoding, other = bert.encode("the good film"), bert.encode("dull unwatchable")
    changed = replace_units(encoding, other, {1: 1})
    assert changed.ids == (CLS, 8, 15, 16, 17, 7, SEP)
    assert changed.owners == (NO_UNIT, 0, 1, 1, 1, 2, NO_UNIT)
    assert len(changed.segments) == 7
    assert changed.units == encoding.units


def test_a_word_of_three_pieces_gives_way_to_one_of_one(bert: FrozenModel) -> None:
    changed = replace_units(bert.encode("the unwatchable film"), bert.encode("dull"), {1: 0, 2: 0})
    assert changed.ids == (CLS, 8, 12, 12, SEP)
    assert changed.owners == (NO_UNIT, 0, 1, 2, NO_UNIT)


def test_the_second_text_stays_the_second(bert: FrozenModel) -> None:
    encoding = bert.encode(Example("good film", "dull plot"))
    changed = replace_units(encoding, bert.encode("unwatchable"), {0: 0, 3: 0})
    assert changed.ids == (CLS, 15, 16, 17, 7, SEP, 12, 15, 16, 17, SEP)
    assert changed.segments == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    assert changed.owners == (NO_UNIT, 0, 0, 0, 1, NO_UNIT, 2, 3, 3, 3, NO_UNIT)


def test_without_a_replacement_nothing_changes(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    assert replace_units(encoding, bert.encode(OTHER), {}) == encoding


def test_the_changed_text_can_be_encoded_by_the_model(bert: FrozenModel) -> None:
    encoding = bert.encode("the unwatchable film")
    changed = replace_units(encoding, bert.encode("good dull plot"), {0: 1, 1: 0, 2: 2})
    everything = [[1, 1, 1]]
    expected = bert.probabilities(bert.encode("dull good plot"), everything)
    assert bert.probabilities(changed, everything) == pytest.approx(expected, abs=1e-5)
    assert bert.probabilities(changed, [[1, 0, 1]]) == pytest.approx(
        bert.probabilities(bert.encode("dull good plot"), [[1, 0, 1]]), abs=1e-5
    )


def test_a_changed_text_is_not_longer_than_the_model_reads(bert: FrozenModel) -> None:
    bert.tokenizer.enable_truncation(62)  # as hub models are cut
    lengths: list[int] = []

    def explain(encoding: Encoding) -> tuple[float, ...]:
        bert.probabilities(encoding, [[1] * len(encoding.units)])
        lengths.append(len(encoding.ids))
        return by_position(encoding)

    sensitivity(explain, bert.encode("good " * 100), bert.encode("unwatchable " * 20), seed=0)
    assert max(lengths) <= 64


def test_words_of_a_premise_come_from_a_premise_and_those_of_a_hypothesis_from_a_hypothesis(bert: FrozenModel) -> None:
    mine, other = Example("the the the", "film film film"), Example("good bad", "dull plot ,")
    words_by_text: set[tuple[int, str]] = set()

    def explain(encoding: Encoding) -> tuple[float, ...]:
        words = {8: "the", 7: "film", 5: "good", 6: "bad", 12: "dull", 13: "plot", 19: ","}
        words_by_text.update(
            (encoding.units[o].segment, words[i]) for i, o in zip(encoding.ids, encoding.owners, strict=True) if o >= 0
        )
        return by_position(encoding)

    sensitivity(explain, bert.encode(mine), bert.encode(other), seed=0, draws=50)
    assert words_by_text == {(0, "the"), (0, "good"), (0, "bad"), (1, "film"), (1, "dull"), (1, "plot"), (1, ",")}
