import pytest
import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.narrative.interchange import (
    activations,
    draw_neurons,
    layer_sizes,
    linear_layers,
    parse_neurons,
    realise_in_state,
    run_with_exchange,
    steps_to_cover,
)

# the head by hand: h = (c₀, 2 c₁), logits = (ReLU h₀, ReLU h₁)
BASE, SOURCE = torch.tensor([[1.0, -3.0]]), torch.tensor([[-4.0, 5.0]])


def test_layers_are_the_state_and_every_linear_output_but_the_classes(head: nn.Sequential) -> None:
    assert layer_sizes(head) == (2, 2)
    assert len(linear_layers(head)) == 2


def test_activations_are_taken_before_relu(head: nn.Sequential) -> None:
    state, hidden, logits = activations(head, BASE)
    assert (state.tolist(), hidden.tolist(), logits.tolist()) == ([[1, -3]], [[1, -6]], [[1, 0]])


@pytest.mark.parametrize(
    ("layer", "neurons", "expected"),
    [
        (0, [0], [0, 0]),  # c = (-4, -3)
        (0, [1], [1, 10]),  # c = (1, 5)
        (1, [0], [0, 0]),  # h = (-4, -6)
        (1, [1], [1, 10]),  # h = (1, 10)
    ],
)
def test_the_named_neurons_of_the_base_take_the_sources_values(
    head: nn.Sequential, layer: int, neurons: list[int], expected: list[float]
) -> None:
    assert run_with_exchange(head, BASE, SOURCE, layer, torch.tensor(neurons)).tolist() == [expected]


def test_the_layers_are_told_apart() -> None:
    """A first layer that adds its inputs: with c₀ exchanged both neurons move, with h₀ only one."""
    head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False)).requires_grad_(False)
    head[0].weight.copy_(torch.tensor([[1.0, 1.0], [1.0, 1.0]]))
    head[2].weight.copy_(torch.eye(2))
    base, source = torch.tensor([[1.0, 2.0]]), torch.tensor([[10.0, 20.0]])
    assert run_with_exchange(head, base, source, 0, torch.tensor([0])).tolist() == [[12, 12]]  # 10 + 2
    assert run_with_exchange(head, base, source, 1, torch.tensor([0])).tolist() == [[30, 3]]


@pytest.mark.parametrize("layer", [0, 1])
def test_all_neurons_give_the_sources_answer_and_none_the_bases(
    head: nn.Sequential, states: Tensor, layer: int
) -> None:
    source = states.flip(0)
    every, none = torch.arange(2), torch.tensor([], dtype=torch.long)
    assert torch.equal(run_with_exchange(head, states, source, layer, every), head(source))
    assert torch.equal(run_with_exchange(head, states, source, layer, none), head(states))


def test_nothing_given_is_changed(head: nn.Sequential) -> None:
    base, source = BASE.clone(), SOURCE.clone()
    for layer in (0, 1):
        run_with_exchange(head, base, source, layer, torch.tensor([0]))
    assert torch.equal(base, BASE)
    assert torch.equal(source, SOURCE)


@pytest.mark.parametrize(("size", "share", "expected"), [(256, 0.2, 51), (10, 0.2, 2), (3, 0.01, 1), (4, 1.0, 4)])
def test_neurons_are_drawn_without_replacement(size: int, share: float, expected: int) -> None:
    for seed in range(20):
        neurons = draw_neurons(size, share, torch.Generator().manual_seed(seed)).tolist()
        assert len(neurons) == len(set(neurons)) == expected
        assert set(neurons) <= set(range(size))


def test_every_neuron_is_drawn_some_day() -> None:
    generator = torch.Generator().manual_seed(0)
    assert {number for _ in range(60) for number in draw_neurons(10, 0.2, generator).tolist()} == set(range(10))


@pytest.mark.parametrize(
    ("neurons", "share", "missed", "steps"),
    [(557_440, 0.2, 1e-5, 111), (7, 0.5, 0.125, 6), (7, 1.0, 1e-5, 1)],  # the paper's own; 7 · ½⁶ < ⅛
)
def test_the_steps_until_every_neuron_took_part_are_the_papers(
    neurons: int, share: float, missed: float, steps: int
) -> None:
    assert steps_to_cover(neurons, share, missed) == steps
    assert share == 1 or neurons * (1 - share) ** steps <= missed < neurons * (1 - share) ** (steps - 1)


@pytest.mark.parametrize(
    ("text", "expected"), [("0-3, 7", (0, 1, 2, 3, 7)), ("5", (5,)), (" 7 , 7-7,, 0 - 1", (0, 1, 7)), ("2,1", (1, 2))]
)
def test_numbers_are_read_as_people_type_them(text: str, expected: tuple[int, ...]) -> None:
    assert parse_neurons(text, 8) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "numbers from 0 to 7"),
        (" , ", "numbers from 0 to 7"),
        ("8", "neuron '8' is not in this layer"),
        ("5-8, 1", "range '5-8' is not in this layer"),
        ("20-30, 1", "range '20-30' is not in this layer"),
        ("5-3, 1", "range '5-3' runs backwards"),
        ("0-999999999999", "is not in this layer"),
        ("-1", "'-1' is not a neuron"),
        ("1-", "'1-' is not a neuron"),
        ("1-2-3", "'1-2-3' is not a neuron"),
        ("one", "'one' is not a neuron. Give numbers and ranges such as 0-15, 40"),
        ("1.5", "is not a neuron"),
        ("9" * 5000, "is not a neuron"),
    ],
)
def test_what_is_no_neuron_gets_a_sentence(text: str, message: str) -> None:
    with pytest.raises(ExplanationError, match=message):
        parse_neurons(text, 8)


def test_a_realised_exchange_is_the_smallest_change_of_the_state_that_exchanges_these_neurons() -> None:
    """Two neurons that see the first two of three numbers, twice and as they are; the third number is nobody's."""
    head = nn.Sequential(nn.Linear(3, 2, bias=False), nn.ReLU(), nn.Linear(2, 2)).requires_grad_(False)
    head[0].weight.copy_(torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    base, source = torch.tensor([[1.0, 1.0, 7.0]]), torch.tensor([[3.0, 5.0, 9.0]])
    assert torch.allclose(realise_in_state(head, base, source, torch.tensor([0])), torch.tensor([[3.0, 1.0, 7.0]]))
    assert torch.allclose(realise_in_state(head, base, source, torch.tensor([0, 1])), torch.tensor([[3.0, 5.0, 7.0]]))


def test_the_head_answers_to_a_realised_exchange_as_to_the_exchange_inside_it() -> None:
    torch.manual_seed(0)
    head = nn.Sequential(nn.Linear(9, 4), nn.ReLU(), nn.Linear(4, 3)).requires_grad_(False)
    base, source, neurons = torch.randn(5, 9), torch.randn(5, 9), torch.tensor([1, 3])
    within_head = run_with_exchange(head, base, source, 1, neurons)
    assert torch.allclose(head(realise_in_state(head, base, source, neurons)), within_head, atol=1e-5)
