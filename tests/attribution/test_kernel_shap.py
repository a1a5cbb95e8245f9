from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from explainers.attribution.kernel_shap import KernelShap, kernel_weights
from explainers.attribution.mask_samples import shared_masks
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure

Build = Callable[..., FrozenModel]


def shapley(model: FrozenModel, encoding: Encoding, label: int) -> np.ndarray:
    """The mean over all orders of what each unit adds when it joins those before it."""
    units = len(encoding.units)
    result = np.zeros(units)
    orders = list(permutations(range(units)))
    for order in orders:
        joined = np.tril(np.ones((units + 1, units), dtype=bool), -1)  # row k: the first k of the order
        masks = joined[:, np.argsort(order)]
        result[list(order)] += np.diff(model.probabilities(encoding, masks)[:, label])
    return result / len(orders)


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_where_the_words_simply_add_up_each_gets_what_it_adds(
    bag: Build, erasure: Erasure, label: int, sign: int
) -> None:
    model = bag({"great": 0.3, "dull": -0.2, "the": 0.0, "un": 0.1, "##able": 0.05}, additive=True)
    attribution = KernelShap(erasure=erasure).attribute(model, model.encode("great dull the unable"), label)
    assert attribution.scores == pytest.approx([sign * share for share in (0.3, -0.2, 0.0, 0.15)], abs=1e-5)
    assert attribution.spread == pytest.approx((0, 0, 0, 0), abs=1e-6)


def test_words_that_act_together_share_their_effect(bag: Build) -> None:
    model = bag({"great": 9.0, "fine": 9.0})
    attribution = KernelShap().attribute(model, model.encode("great fine"), 1)
    # either word alone is enough: p rises from 0.5 to 1, and both get half of it
    assert attribution.scores == pytest.approx((0.25, 0.25), abs=1e-3)


def test_the_scores_come_near_the_exact_shapley_values(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable")
    attribution = KernelShap(samples=2000).attribute(bert, encoding, 0)
    assert attribution.scores == pytest.approx(shapley(bert, encoding, 0), abs=0.02)


def test_the_scores_add_up_exactly_however_few_samples(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not very good , a dull plot")
    nothing, everything = bert.probabilities(encoding, [[0] * 10, [1] * 10])[:, 2]
    attribution = KernelShap(samples=20, per_unit=4).attribute(bert, encoding, 2)
    assert sum(attribution.scores) == pytest.approx(everything - nothing, abs=1e-4)


def test_every_draw_of_the_bootstrap_adds_up_too(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not very good")
    nothing, everything = bert.probabilities(encoding, [[0] * 6, [1] * 6])[:, 2]
    attribution = KernelShap(samples=40, per_unit=4).attribute(bert, encoding, 2)
    assert [sum(draw) for draw in attribution.draws] == pytest.approx([everything - nothing] * 20, abs=1e-4)


def test_masks_are_nothing_everything_and_pairs_of_complements() -> None:
    masks = KernelShap(samples=100).masks(5)
    assert masks.shape == (100, 5)
    assert not masks[0].any()
    assert masks[1].all()
    assert (masks[2::2] == ~masks[3::2]).all()
    assert set(masks[2:].sum(axis=1)) == {1, 2, 3, 4}


def test_sizes_of_coalitions_follow_the_kernel() -> None:
    sizes = KernelShap(samples=20_000).masks(4)[2:].sum(axis=1)
    # 1 / (k (4-k)) for k = 1, 2, 3 is 1/3, 1/4, 1/3: shares 4/11, 3/11, 4/11
    assert np.bincount(sizes)[1:] / len(sizes) == pytest.approx([4 / 11, 3 / 11, 4 / 11], abs=0.02)


def test_every_unit_is_in_half_of_the_coalitions() -> None:
    assert KernelShap(samples=500).masks(7)[2:].mean(axis=0) == pytest.approx([0.5] * 7)


@pytest.mark.parametrize(("units", "rows"), [(2, 500), (25, 500), (26, 520), (100, 2000)])
def test_samples_grow_with_the_text(units: int, rows: int) -> None:
    assert len(KernelShap(samples=500).masks(units)) == rows


def test_one_unit_gets_the_whole_fall(bag: Build) -> None:
    model, meter = bag({"great": 0.3}, additive=True), Meter()
    attribution = KernelShap().attribute(model.metered(meter), model.encode("great"), 1)
    assert attribution.scores == pytest.approx((0.3,))
    assert (attribution.spread, meter.calls) == ((0.0,), 2)


def test_two_units_cost_four_answers_per_stage(bag: Build) -> None:
    model, meter = bag({"great": 0.3, "dull": -0.2}, additive=True), Meter()
    KernelShap(samples=500).attribute(model.metered(meter), model.encode("great dull"), 1)
    assert meter.calls <= 4 * 4


def test_with_all_masks_shared_sampling_gives_the_exact_shapley_values(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable")
    attribution = KernelShap(sampling="shared").attribute(bert, encoding, 0)
    assert attribution.samples == 2**5
    assert attribution.scores == pytest.approx(shapley(bert, encoding, 0), abs=1e-5)


def test_shared_weights_are_the_kernels_where_all_masks_are_there() -> None:
    masks = shared_masks(4, 0, 100)
    weights = kernel_weights(masks)[2:]
    # 3 / (C(4, k) k (4 - k)) for k = 1, 2, 3: 1/4, 1/8, 1/4
    expected = np.array([1 / 4, 1 / 8, 1 / 4])[masks[2:].sum(axis=1) - 1]
    assert weights / weights.mean() == pytest.approx(expected / expected.mean())


def test_on_shared_masks_the_scores_add_up_too(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not very good , a dull plot")
    nothing, everything = bert.probabilities(encoding, [[0] * 10, [1] * 10])[:, 2]
    attribution = KernelShap(samples=40, per_unit=4, sampling="shared").attribute(bert, encoding, 2)
    assert [sum(scores) for scores in (attribution.scores, *attribution.draws)] == pytest.approx(
        [everything - nothing] * 21, abs=1e-4
    )
