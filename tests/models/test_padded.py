import pytest
import torch

from explainers.datasets.example import Example
from explainers.models.classifier import FrozenModel
from explainers.models.padded import Padded, padded

CPU = torch.device("cpu")
PAD = 0


@pytest.fixture
def two(bert: FrozenModel) -> Padded:
    """[CLS] un ##watch ##able film [SEP] above [CLS] good [SEP] and three of padding; 2 units above 1."""
    return padded([bert.encode("unwatchable film"), bert.encode("good")], PAD, CPU)


def test_the_shorter_text_is_filled_up_on_the_right(two: Padded) -> None:
    assert two.ids.tolist() == [[2, 15, 16, 17, 7, 3], [2, 5, 3, PAD, PAD, PAD]]
    assert two.attention.long().tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]
    assert two.lengths.tolist() == [6, 3]
    assert two.segments.tolist() == [[0] * 6, [0] * 6]
    assert two.rows == 2


def test_the_padding_is_the_models_own_id(bert: FrozenModel) -> None:
    assert padded([bert.encode("good film"), bert.encode("")], 4, CPU).ids[1].tolist() == [2, 3, 4, 4]


def test_special_tokens_and_padding_belong_to_no_unit(two: Padded) -> None:
    assert two.owners.tolist() == [[2, 0, 0, 0, 1, 2], [2, 0, 2, 2, 2, 2]]  # 2 is the number of units, so none
    assert two.owned.long().tolist() == [[0, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0]]
    assert two.units.tolist() == [[True, True], [True, False]]


def test_the_second_text_of_a_pair_is_another_segment_and_its_units_follow(bert: FrozenModel) -> None:
    found = padded([bert.encode(Example("good film", "dull")), bert.encode("bad")], PAD, CPU)
    # [CLS] good film [SEP] dull [SEP]
    assert found.segments.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]]
    assert found.owners.tolist() == [[3, 0, 1, 3, 2, 3], [3, 0, 3, 3, 3, 3]]


def test_a_text_without_words_is_a_row_without_units(bert: FrozenModel) -> None:
    found = padded([bert.encode(""), bert.encode("good")], PAD, CPU)
    assert found.units.tolist() == [[False], [True]]
    assert found.pooled(torch.ones(2, 3), "max").tolist() == [[0], [1]]
    assert found.mean(torch.tensor([[5.0], [7.0]])).tolist() == [0, 7]


@pytest.mark.parametrize("fixed", [1.0, 0.0, -3.0])
def test_a_units_value_goes_to_all_its_tokens_and_the_fixed_value_to_the_rest(two: Padded, fixed: float) -> None:
    found = two.spread(torch.tensor([[0.5, 0.25], [0.75, 9.0]]), fixed)
    assert found.tolist() == [[fixed, 0.5, 0.5, 0.5, 0.25, fixed], [fixed, 0.75, fixed, fixed, fixed, fixed]]


def test_tokens_of_no_unit_are_kept_unless_another_value_is_named(two: Padded) -> None:
    assert two.spread(torch.zeros(2, 2)).tolist() == [[1, 0, 0, 0, 0, 1], [1, 0, 1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("how", "expected"),
    [("max", [[3, -5], [-7, 0]]), ("sum", [[2, -5], [-7, 0]])],  # of -2, 3 and 1; of -5 alone; of -7 alone
)
def test_a_unit_gets_the_maximum_or_the_sum_of_its_tokens(two: Padded, how: str, expected: list[list[int]]) -> None:
    tokens = torch.tensor([[90.0, -2, 3, 1, -5, 91], [92, -7, 93, 94, 95, 96]])
    assert two.pooled(tokens, how).tolist() == expected  # type: ignore[arg-type]


def test_the_gradient_of_a_maximum_goes_to_the_highest_token_alone(two: Padded) -> None:
    tokens = torch.tensor([[90.0, -2, 3, 1, -5, 91], [92, -7, 93, 94, 95, 96]], requires_grad=True)
    (gradient,) = torch.autograd.grad(two.pooled(tokens, "max").sum(), tokens)
    assert gradient.tolist() == [[0, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0]]


def test_the_mean_runs_over_real_units(two: Padded) -> None:
    assert two.mean(torch.tensor([[1.0, 2.0], [5.0, 100.0]])).tolist() == [1.5, 5.0]


def test_twice_repeats_every_row_below(two: Padded) -> None:
    found = two.twice()
    for name in ("ids", "attention", "segments", "owners", "units", "present"):
        part, whole = getattr(two, name), getattr(found, name)
        assert whole.tolist() == [*part.tolist(), *part.tolist()], name


def test_words_that_were_zeroed_are_not_present_in_their_row(bert: FrozenModel) -> None:
    whole = bert.encode("unwatchable film")
    zeroed = whole.without([0], "zero", bert.filler)
    found = padded([whole, zeroed], PAD, CPU)
    assert found.present.long().tolist() == [[1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 1, 1]]
    assert found.owners.tolist()[1] == [2, 2, 2, 2, 0, 2]  # what is left is unit number 0
