from collections.abc import Callable

import numpy as np
import pytest

from explainers.attribution.controls import RandomOrder
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel

Build = Callable[..., FrozenModel]


def test_the_scores_do_not_depend_on_model_or_class(bag: Build) -> None:
    one, other = bag({"great": 5.0, "dull": -5.0}), bag({"great": -1.0, "dull": 1.0})
    attribution = {
        RandomOrder().attribute(model, model.encode("great dull"), label).scores
        for model in (one, other)
        for label in (0, 1)
    }
    assert len(attribution) == 1


def test_it_costs_no_pass(bag: Build) -> None:
    model, meter = bag({"great": 1.0}), Meter()
    RandomOrder().attribute(model.metered(meter), model.encode("great"), 1)
    assert meter.calls == 0


def test_over_many_seeds_every_unit_is_first_equally_often(bag: Build) -> None:
    model = bag({"great": 9.0, "the": 0.0})
    encoding = model.encode("the the great the")
    firsts = [int(np.argmax(RandomOrder(seed).attribute(model, encoding, 1).scores)) for seed in range(2000)]
    assert np.bincount(firsts) / 2000 == pytest.approx([0.25] * 4, abs=0.04)
