import math
from collections.abc import Callable

import pytest
import torch

from explainers.attribution.occlusion import Occlusion
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure

Build = Callable[..., FrozenModel]
WEIGHTS = {"great": 2.0, "dull": -1.0, "the": 0.0, "un": 0.5, "##able": 0.25}


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_the_score_is_the_fall_in_probability(bag: Build, erasure: Erasure, label: int, sign: int) -> None:
    model = bag(WEIGHTS)
    attribution = Occlusion(erasure).attribute(model, model.encode("great dull the"), label)
    # z is 1, without "great" -1, without "dull" 2, without "the" still 1; p(negative) falls where p(positive) rises
    expected = (sigmoid(1) - sigmoid(-1), sigmoid(1) - sigmoid(2), 0.0)
    assert attribution.scores == pytest.approx([sign * score for score in expected], abs=1e-7)


def test_the_tokens_of_a_word_go_together(bag: Build) -> None:
    model = bag(WEIGHTS)
    attribution = Occlusion().attribute(model, model.encode("unable great"), 1)
    assert attribution.scores == pytest.approx((sigmoid(2.75) - sigmoid(2), sigmoid(2.75) - sigmoid(0.75)), abs=1e-7)


def test_at_token_level_each_goes_alone(bag: Build) -> None:
    model = bag(WEIGHTS)
    attribution = Occlusion().attribute(model, model.encode("unable", "token"), 1)
    assert attribution.scores == pytest.approx((sigmoid(0.75) - sigmoid(0.25), sigmoid(0.75) - sigmoid(0.5)), abs=1e-7)


def test_two_words_that_say_the_same_hide_each_other(bag: Build) -> None:
    model = bag({"great": 9.0})
    attribution = Occlusion().attribute(model, model.encode("great great"), 1)
    assert max(attribution.scores) < 0.001


def test_it_costs_one_pass_per_unit_and_one_more(bag: Build) -> None:
    model, meter = bag(WEIGHTS), Meter()
    Occlusion().attribute(model.metered(meter), model.encode("great dull the"), 1)
    assert meter.calls == 4


def test_sequential_integrated_gradients_of_a_word_are_its_occlusion(bert: FrozenModel) -> None:
    """Enguehard's SIG moves one word's embedding from [MASK] to its own, and its scores add up to what that changes."""
    encoding, steps = bert.encode("the film was not unwatchable"), 200
    units = len(encoding.units)
    along = (torch.arange(steps) + 0.5) / steps
    sig = []
    for unit in range(units):
        path = torch.ones(steps, units)
        path[:, unit] = along
        path.requires_grad_(True)
        (gradient,) = torch.autograd.grad(bert.soft_probabilities(encoding, path, "mask")[:, 0].sum(), path)
        sig.append(float(gradient[:, unit].mean()))
    assert sig == pytest.approx(Occlusion().attribute(bert, encoding, 0).scores, abs=1e-4)
