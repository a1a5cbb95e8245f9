import random
from itertools import chain

import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.learned.batches import LearningExample, batch, encode_for_learning, in_random_order
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.internals import forward_with_internals

TEXTS = ("the film was not unwatchable !", "good", "a very dull plot", "bad film")


def examples(*texts: str) -> list[Example]:
    return [Example(text, label=1) for text in texts]


def test_every_text_is_seen_in_its_place_with_the_models_answer(bert: FrozenModel) -> None:
    result = encode_for_learning(bert, examples(*TEXTS))
    assert [example.encoding.texts for example in result] == [(text,) for text in TEXTS]
    for example in result:
        expected = bert.probabilities(example.encoding, [[1] * len(example.encoding.units)])[0]
        assert example.probabilities.numpy() == pytest.approx(expected, abs=1e-5)
        assert not example.probabilities.requires_grad


def test_a_pair_is_one_text(bert: FrozenModel) -> None:
    first, _ = encode_for_learning(bert, [Example("good film", "dull plot"), Example("bad")])
    assert first.encoding.texts == ("good film", "dull plot")
    assert len(first.encoding.units) == 4


def test_the_units_are_the_ones_asked_for(bert: FrozenModel) -> None:
    result = encode_for_learning(bert, examples("unwatchable", "good film"), "token")
    assert [len(example.encoding.units) for example in result] == [3, 2]


def test_texts_without_words_are_left_out(bert: FrozenModel) -> None:
    assert [example.encoding.texts for example in encode_for_learning(bert, examples("good", "", "  ", "bad"))] == [
        ("good",),
        ("bad",),
    ]


@pytest.mark.parametrize("texts", [(), ("good",), ("good", "", " ")])
def test_fewer_than_two_texts_are_a_sentence(bert: FrozenModel, texts: tuple[str, ...]) -> None:
    with pytest.raises(DataUnavailable, match="two texts or more that have words"):
        encode_for_learning(bert, examples(*texts))


def test_each_text_is_asked_once_in_batches_of_32(bert: FrozenModel) -> None:
    meter = Meter()
    words = ("good", "bad", "dull", "very")
    texts = [" ".join(words[number // 4**place % 4] for place in range(3)) for number in range(40)]
    assert len(encode_for_learning(bert.metered(meter), examples(*texts))) == meter.calls == 40


def test_a_batch_holds_the_inputs_and_the_answers(bert: FrozenModel) -> None:
    items = encode_for_learning(bert, examples(*TEXTS))
    one_batch = batch(bert, items)
    assert one_batch.inputs.rows == 4
    assert one_batch.probabilities.shape == (4, 3)
    assert one_batch.predicted.tolist() == [int(item.probabilities.argmax()) for item in items]


def test_the_pass_over_the_whole_texts_is_not_made_twice(bert: FrozenModel) -> None:
    meter = Meter()
    model = bert.metered(meter)
    result = batch(model, encode_for_learning(bert, examples(*TEXTS)))
    internals = result.internals_of(model)
    assert meter.calls == 4
    assert type(result)(result.inputs, result.probabilities, internals).internals_of(model) is internals
    assert meter.calls == 4
    assert torch.equal(internals.logits, forward_with_internals(model, result.inputs).logits)


def of_lengths(*lengths: int) -> list[LearningExample]:
    """Items that differ in nothing but their number of tokens."""
    return [
        LearningExample(Encoding(("",), (), (0,) * length, (0,) * length, ()), torch.zeros(2)) for length in lengths
    ]


def sizes(batches: list[list[LearningExample]]) -> list[list[int]]:
    return [[len(item.encoding.ids) for item in items] for items in batches]


def test_every_item_comes_once() -> None:
    items = of_lengths(*range(1, 31))
    batches = in_random_order(items, 5, random.Random(0))
    assert sorted(chain(*sizes(batches))) == list(range(1, 31))
    assert [len(batch) for batch in batches] == [5] * 6


def test_a_batch_holds_neighbours_in_length() -> None:
    batches = sizes(in_random_order(of_lengths(*range(1, 31)), 5, random.Random(0)))
    assert {tuple(batch) for batch in batches} == {tuple(range(start, start + 5)) for start in range(1, 31, 5)}
    assert batches != sorted(batches)


def test_only_neighbours_within_a_pool_of_ten_batches_are_sorted() -> None:
    batches = sizes(in_random_order(of_lengths(*range(1, 61)), 2, random.Random(0)))
    assert sorted(chain(*batches)) == list(range(1, 61))
    assert any(second - first > 1 for first, second in batches)


def test_the_order_is_the_seeds() -> None:
    items = of_lengths(*range(1, 31))
    first, again, other = (sizes(in_random_order(items, 4, random.Random(seed))) for seed in (0, 0, 1))
    assert first == again != other
    assert [len(item.encoding.ids) for item in items] == list(range(1, 31))  # the list itself stays


@pytest.mark.parametrize(("items", "expected"), [(5, [2, 2]), (4, [2, 2]), (1, [1])])
def test_a_last_batch_of_one_is_left_out_unless_there_is_no_other(items: int, expected: list[int]) -> None:
    batches = in_random_order(of_lengths(*range(1, items + 1)), 2, random.Random(0))
    assert [len(batch) for batch in batches] == expected


def test_batches_of_one_can_be_asked_for() -> None:
    assert [len(drawn) for drawn in in_random_order(of_lengths(1, 2, 3), 1, random.Random(0))] == [1, 1, 1]
