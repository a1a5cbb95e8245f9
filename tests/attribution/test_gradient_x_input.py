import math
from collections.abc import Callable

import pytest

from explainers.attribution.gradient import GradientTimesInput
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel

Build = Callable[..., FrozenModel]
P = 1 / (1 + math.exp(-1))  # z = 2 - 1 + 0 = 1


@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_the_score_is_the_weight_times_the_slope_of_the_sigmoid(bag: Build, label: int, sign: int) -> None:
    model = bag({"great": 2.0, "dull": -1.0, "the": 0.0})
    attribution = GradientTimesInput().attribute(model, model.encode("great dull the"), label)
    slope = P * (1 - P)
    assert attribution.scores == pytest.approx((sign * 2 * slope, sign * -slope, 0.0), abs=1e-7)


def test_where_the_model_is_linear_in_probability_it_is_exact(bag: Build) -> None:
    model = bag({"great": 0.3, "dull": -0.2, "un": 0.1, "##able": 0.05}, additive=True)
    attribution = GradientTimesInput().attribute(model, model.encode("great dull unable"), 1)
    assert attribution.scores == pytest.approx((0.3, -0.2, 0.15), abs=1e-7)


def test_a_removed_word_has_no_part_in_the_gradient(bag: Build) -> None:
    model = bag({"great": 2.0, "dull": -1.0})
    left = model.without(model.encode("great dull"), [0], "zero")
    p = 1 / (1 + math.exp(1))
    assert GradientTimesInput().attribute(model, left, 1).scores == pytest.approx((-p * (1 - p),), abs=1e-7)


def test_too_little_memory_is_a_sentence(bag: Build) -> None:
    model = bag({"great": 2.0})
    model.module.memory = 0
    with pytest.raises(ExplanationError, match="not enough memory"):
        GradientTimesInput().attribute(model, model.encode("great"), 1)
