import pytest
import torch

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch, pad_batch

CPU = torch.device("cpu")
PAD = 0


@pytest.fixture
def two(bert: FrozenModel) -> PaddedBatch:
    """[CLS] un ##watch ##able film [SEP] above [CLS] good [SEP] and three of padding; 2 units above 1."""
    return pad_batch([bert.encode("unwatchable film"), bert.encode("good")], PAD, CPU)


def test_the_shorter_text_is_filled_up_on_the_right(two: PaddedBatch) -> None:
    assert two.ids.tolist() == [[2, 15, 16, 17, 7, 3], [2, 5, 3, PAD, PAD, PAD]]
    assert two.attention.long().tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]
    assert two.lengths.tolist() == [6, 3]
    assert two.segments.tolist() == [[0] * 6, [0] * 6]
    assert two.rows == 2


def test_the_padding_is_the_models_pad_token(bert: FrozenModel) -> None:
    assert pad_batch([bert.encode("good film"), bert.encode("")], 4, CPU).ids[1].tolist() == [2, 3, 4, 4]


def test_special_tokens_and_padding_belong_to_no_unit(two: PaddedBatch) -> None:
    assert two.owners.tolist() == [[2, 0, 0, 0, 1, 2], [2, 0, 2, 2, 2, 2]]  # 2 is the number of units, so none
    assert two.owned.long().tolist() == [[0, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0]]
    assert two.units.tolist() == [[True, True], [True, False]]


def test_the_second_text_of_a_pair_is_another_segment_and_its_units_follow(bert: FrozenModel) -> None:
    batch = pad_batch([bert.encode(Example("good film", "dull")), bert.encode("bad")], PAD, CPU)
    # [CLS] good film [SEP] dull [SEP]
    assert batch.segments.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]]
    assert batch.owners.tolist() == [[3, 0, 1, 3, 2, 3], [3, 0, 3, 3, 3, 3]]


def test_a_text_without_words_is_a_row_without_units(bert: FrozenModel) -> None:
    batch = pad_batch([bert.encode(""), bert.encode("good")], PAD, CPU)
    assert batch.units.tolist() == [[False], [True]]
    assert batch.reduce_to_units(torch.ones(2, 3), "max").tolist() == [[0], [1]]
    assert batch.mean(torch.tensor([[5.0], [7.0]])).tolist() == [0, 7]


@pytest.mark.parametrize("fixed", [1.0, 0.0, -3.0])
def test_a_units_value_goes_to_all_its_tokens_and_the_fixed_value_to_the_rest(two: PaddedBatch, fixed: float) -> None:
    values = two.spread(torch.tensor([[0.5, 0.25], [0.75, 9.0]]), fixed)
    assert values.tolist() == [[fixed, 0.5, 0.5, 0.5, 0.25, fixed], [fixed, 0.75, fixed, fixed, fixed, fixed]]


def test_tokens_of_no_unit_are_kept_unless_another_value_is_named(two: PaddedBatch) -> None:
    assert two.spread(torch.zeros(2, 2)).tolist() == [[1, 0, 0, 0, 0, 1], [1, 0, 1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("how", "expected"),
    [("max", [[3, -5], [-7, 0]]), ("sum", [[2, -5], [-7, 0]])],  # of -2, 3 and 1; of -5 alone; of -7 alone
)
def test_a_unit_gets_the_maximum_or_the_sum_of_its_tokens(
    two: PaddedBatch, how: str, expected: list[list[int]]
) -> None:
    tokens = torch.tensor([[90.0, -2, 3, 1, -5, 91], [92, -7, 93, 94, 95, 96]])
    assert two.reduce_to_units(tokens, how).tolist() == expected  # type: ignore[arg-type]


def test_the_gradient_of_a_maximum_goes_to_the_highest_token_alone(two: PaddedBatch) -> None:
    tokens = torch.tensor([[90.0, -2, 3, 1, -5, 91], [92, -7, 93, 94, 95, 96]], requires_grad=True)
    (gradient,) = torch.autograd.grad(two.reduce_to_units(tokens, "max").sum(), tokens)
    assert gradient.tolist() == [[0, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0]]


def test_the_mean_runs_over_real_units(two: PaddedBatch) -> None:
    assert two.mean(torch.tensor([[1.0, 2.0], [5.0, 100.0]])).tolist() == [1.5, 5.0]


def test_doubled_repeats_every_row_below(two: PaddedBatch) -> None:
    batch = two.doubled()
    for name in ("ids", "attention", "segments", "owners", "units", "nonzero"):
        before, after = getattr(two, name), getattr(batch, name)
        assert after.tolist() == [*before.tolist(), *before.tolist()], name


def test_zeroed_words_are_marked_in_their_row(bert: FrozenModel) -> None:
    whole = bert.encode("unwatchable film")
    zeroed = whole.without([0], "zero", bert.mask_token)
    batch = pad_batch([whole, zeroed], PAD, CPU)
    assert batch.nonzero.long().tolist() == [[1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 1, 1]]
    assert batch.owners.tolist()[1] == [2, 2, 2, 2, 0, 2]  # the remaining unit has number 0
