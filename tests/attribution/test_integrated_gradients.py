import math
from collections.abc import Callable

import pytest

from explainers.attribution.gradient import IntegratedGradients
from explainers.errors import ExplanationError
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure

Build = Callable[..., FrozenModel]
WEIGHTS = {"great": 2.0, "dull": -1.0, "the": 0.0, "un": 0.5, "##able": 0.25}


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.mark.parametrize("erasure", ["mask", "zero", "delete"])
@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_the_rise_of_the_probability_is_shared_in_proportion_to_the_weights(
    bag: Build, erasure: Erasure, label: int, sign: int
) -> None:
    model = bag(WEIGHTS)
    attribution = IntegratedGradients(erasure=erasure).attribute(model, model.encode("great dull the"), label)
    # ∫ w σ'(αz) dα = w/z (σ(z) - σ(0)), here z = 1
    rise = sigmoid(1) - 0.5
    assert attribution.scores == pytest.approx((sign * 2 * rise, sign * -rise, 0.0), abs=1e-6)


def test_where_the_model_is_linear_in_probability_one_step_is_exact(bag: Build) -> None:
    model = bag({"great": 0.3, "dull": -0.2, "un": 0.1, "##able": 0.05}, additive=True)
    attribution = IntegratedGradients(steps=1).attribute(model, model.encode("great dull unable"), 1)
    assert attribution.scores == pytest.approx((0.3, -0.2, 0.15), abs=1e-6)
    assert attribution.gap == pytest.approx(0, abs=1e-6)


def test_the_gap_is_what_the_scores_miss(bag: Build) -> None:
    model = bag({"great": 8.0})
    attribution = IntegratedGradients(steps=1).attribute(model, model.encode("great"), 1)
    # one Gauss-Legendre step takes the slope in the middle, at z = 4
    slope = 8 * sigmoid(4) * (1 - sigmoid(4))
    assert attribution.scores == pytest.approx((slope,), abs=1e-6)
    assert attribution.gap == pytest.approx(abs(slope - (sigmoid(8) - 0.5)), abs=1e-6)


def test_the_scores_add_up_to_the_rise_from_a_text_of_masks(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable")
    attribution = IntegratedGradients(steps=200).attribute(bert, encoding, 1)
    nothing, everything = bert.probabilities(encoding, [[0] * 5, [1] * 5])[:, 1]
    assert sum(attribution.scores) == pytest.approx(everything - nothing, abs=0.005)
    assert attribution.gap == pytest.approx(abs(sum(attribution.scores) - (everything - nothing)), abs=1e-5)


def test_more_steps_close_the_gap(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable")
    few, many = (IntegratedGradients(steps=steps).attribute(bert, encoding, 1).gap for steps in (3, 100))
    assert few is not None
    assert many is not None
    assert many < few / 5


def test_it_costs_its_steps_and_two_passes_for_the_gap(bag: Build) -> None:
    model, meter = bag(WEIGHTS), Meter()
    IntegratedGradients(steps=20).attribute(model.metered(meter), model.encode("great dull"), 1)
    assert meter.calls == 22


def test_short_of_memory_the_steps_go_in_smaller_batches(bag: Build) -> None:
    model = bag(WEIGHTS)
    encoding = model.encode("great dull the")
    expected = IntegratedGradients(steps=20).attribute(model, encoding, 1).scores
    model.module.memory = 3
    assert IntegratedGradients(steps=20).attribute(model, encoding, 1).scores == pytest.approx(expected, abs=1e-6)
    model.module.memory = 0
    with pytest.raises(ExplanationError, match="not enough memory"):
        IntegratedGradients(steps=20).attribute(model, encoding, 1)
