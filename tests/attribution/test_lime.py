import math
from collections.abc import Callable, Iterator
from math import comb
from typing import Any

import numpy as np
import pytest

from explainers.attribution import surrogate
from explainers.attribution.lime import Lime
from explainers.attribution.mask_samples import shared_masks
from explainers.attribution.surrogate import fit
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure

Build = Callable[..., FrozenModel]
WEIGHTS = {"great": 0.3, "dull": -0.2, "the": 0.0, "un": 0.1, "##able": 0.05}


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_without_ridge_the_slopes_of_a_linear_model_are_found(
    bag: Build, erasure: Erasure, label: int, sign: int
) -> None:
    model = bag(WEIGHTS, additive=True)
    attribution = Lime(ridge=1e-9, erasure=erasure).attribute(model, model.encode("great dull the unable"), label)
    assert attribution.scores == pytest.approx([sign * slope for slope in (0.3, -0.2, 0.0, 0.15)], abs=1e-4)


def test_the_ridge_shrinks_the_slopes_but_keeps_order_and_sign(bag: Build) -> None:
    model = bag(WEIGHTS, additive=True)
    great, dull, the, unable = Lime().attribute(model, model.encode("great dull the unable"), 1).scores
    assert 0.25 < great < 0.3
    assert 0.1 < unable < 0.15
    assert -0.2 < dull < -0.15
    assert abs(the) < 0.01


def test_it_does_not_return_zeros_where_captums_default_would(bag: Build) -> None:
    model = bag({"great": 0.004, "dull": -0.004}, additive=True)
    attribution = Lime().attribute(model, model.encode("great dull"), 1).scores
    assert attribution[0] > 0.003
    assert attribution[1] < -0.003


def test_the_first_mask_is_the_text_and_every_other_lacks_something() -> None:
    masks = Lime(samples=300).masks(6)
    assert masks.shape == (300, 6)
    assert masks[0].all()
    assert not masks[1:].all(axis=1).any()


def test_how_many_units_go_is_uniform() -> None:
    left = Lime(samples=20_000).masks(4)[1:].sum(axis=1)
    assert np.bincount(left, minlength=5) / len(left) == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4, 0], abs=0.02)


def test_the_kernel_weighs_by_cosine_distance(bag: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def refine(*_args: object, **named: object) -> Iterator[object]:
        given.update(named)
        return iter(())

    monkeypatch.setattr(surrogate, "refine", refine)
    model = bag(WEIGHTS)
    list(Lime().refine(model, model.encode("great dull the unable"), 1))
    left = given["sample"].masks.sum(axis=1)
    # k of 4 words left: d = 1 - √(k/4) is 0 for all, 1/2 for one, 1 for none; π = √exp(-(d / 0.25)²)
    for kept, weight in ((4, 1.0), (1, math.exp(-2)), (0, math.exp(-8))):
        assert given["sample"].weights(500)[left == kept] == pytest.approx(weight)


def test_one_unit_gets_the_whole_fall(bag: Build) -> None:
    model = bag(WEIGHTS, additive=True)
    assert Lime().attribute(model, model.encode("dull"), 1).scores == pytest.approx((-0.2,))


def test_with_all_masks_shared_sampling_minimises_the_expected_loss(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not good")
    masks = shared_masks(5, 0, 100).astype(float)
    sizes = masks.sum(axis=1)
    often = np.array([100 * 1 / 5 / comb(5, int(size)) for size in sizes])  # of 100 draws, each size as often
    often[sizes == 5] = 1
    weights = often * np.exp(-(((1 - np.sqrt(sizes / 5)) / 0.25) ** 2) / 2)
    expected = fit(masks, bert.probabilities(encoding, masks)[:, 0], weights, ridge=1.0)
    attribution = Lime(samples=101, sampling="shared").attribute(bert, encoding, 0)
    assert attribution.samples == 32
    assert attribution.scores == pytest.approx(expected, abs=1e-5)
