import torch
from torch import nn

from explainers.evaluation.narrators import TEMPERATURES
from explainers.methods import narrator_specs
from explainers.narrative.counterfactual import (
    DRAWS,
    OPENING_DRAWS,
    STEPS,
    WEIGHT,
    ChangingExchange,
    changing_draws,
    first_change,
)
from explainers.narrative.interchange_check import random_neurons

DECISIVE = 3  # the only one of five neurons that the class depends on


def head() -> nn.Sequential:
    """Layer 1 copies the state (5,); class 1 if neuron 3 is above 0.5, otherwise class 0."""
    module = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2)).requires_grad_(False)
    module[0].weight.copy_(torch.eye(5))
    module[0].bias.zero_()
    module[2].weight.zero_()
    module[2].weight[1, DECISIVE] = 1.0
    module[2].bias.copy_(torch.tensor([0.5, 0.0]))
    return module


def state(decisive: float) -> torch.Tensor:
    return torch.tensor([9.0, 9.0, 9.0, decisive, 9.0])


# 20 % of five neurons is one: a draw changes the class exactly if it is the decisive neuron
CHANGING = tuple(draw for draw in range(DRAWS) if random_neurons(5, draw) == (DECISIVE,))


def test_the_draws_that_exchange_the_decisive_neuron_change_the_class() -> None:
    both = torch.stack([state(0.0), state(1.0)])
    assert 0 < len(CHANGING) < DRAWS
    assert changing_draws(head(), both, 0) == changing_draws(head(), both, 1) == CHANGING


def test_no_draw_changes_a_base_whose_source_has_the_same_class() -> None:
    assert changing_draws(head(), torch.stack([state(1.0), state(2.0)]), 1) == ()


def test_the_first_change_is_the_first_draw_then_the_first_base_and_its_first_source() -> None:
    states = torch.stack([state(0.0), state(0.1), state(1.0), state(2.0)])
    assert CHANGING[0] < OPENING_DRAWS
    assert first_change(head(), states, 1) == ChangingExchange(base=0, source=2, draw=CHANGING[0])


def test_a_set_of_one_class_has_no_change_to_begin_with() -> None:
    assert first_change(head(), torch.stack([state(0.0), state(0.1)]), 1) is None


def test_what_is_said_of_ccmr_has_the_numbers_of_the_program() -> None:
    of_nu, of_votes = narrator_specs.DEVIATIONS[0], narrator_specs.DEVIATIONS[4]
    assert f"{STEPS} steps" in of_nu
    assert f"{WEIGHT:,.0f} KL" in of_nu
    assert "Five sentences" in of_votes
    assert len(TEMPERATURES) == 5
    assert f"from {min(TEMPERATURES)} to {max(TEMPERATURES)}" in of_votes
