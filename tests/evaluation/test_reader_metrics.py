import copy

import pytest
import torch
from torch import nn

from explainers.evaluation.narrators import directions, reader_metrics


@pytest.fixture
def head() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_(False)


@pytest.fixture
def states() -> torch.Tensor:
    return 3 * torch.randn(20, 6, generator=torch.Generator().manual_seed(0))


def test_a_reader_that_is_the_model_follows_every_exchange(head: nn.Sequential, states: torch.Tensor) -> None:
    figures = reader_metrics(head, copy.deepcopy(head), states, states)
    assert figures.followed == 1.0
    assert figures.directions == 6


def test_a_reader_of_one_point_follows_none(head: nn.Sequential, states: torch.Tensor) -> None:
    constant = copy.deepcopy(head)
    constant[-1].weight.zero_()
    constant[-1].bias.copy_(torch.tensor([9.0, 0.0, 0.0]))
    figures = reader_metrics(head, constant, states, states[:1].expand_as(states))
    assert figures.directions == 0
    assert figures.followed == 0.0


def test_directions_that_carry_nothing_are_not_counted() -> None:
    draws = torch.Generator().manual_seed(0)
    plane = torch.randn(50, 2, generator=draws) @ torch.randn(2, 9, generator=draws)
    assert directions(plane) == 2
    assert directions(plane + 1e-4 * torch.randn(50, 9, generator=draws)) == 2
