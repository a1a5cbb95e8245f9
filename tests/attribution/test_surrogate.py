from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.attribution.mask_samples import control_masks
from explainers.attribution.surrogate import fit, quick_fit
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import SAMPLINGS, Sampling


@pytest.mark.parametrize(
    ("weights", "ridge", "slope"),
    [
        # masks 0 and 1, values 1 and 3. Centred: masks ∓1/2, values ∓1; slope = Σ w m y / (Σ w m² + ridge)
        ((1, 1), 0.0, 2.0),  # 1 / 0.5
        ((1, 1), 0.5, 1.0),  # 1 / (0.5 + 0.5)
        ((1, 1), 1.5, 0.5),  # 1 / (0.5 + 1.5)
        # weights 3 and 1: masks -1/4 and 3/4, values -1/2 and 3/2; Σ w m y = 1.5, Σ w m² = 0.75
        ((3, 1), 0.0, 2.0),
        ((3, 1), 0.75, 1.0),
    ],
)
def test_the_fit_is_weighted_ridge_regression(weights: tuple[float, ...], ridge: float, slope: float) -> None:
    for solve in (fit, quick_fit):
        training = solve(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]), np.array(weights, dtype=float), ridge)
        assert training == pytest.approx([slope])


@pytest.mark.parametrize("solve", [fit, quick_fit])
def test_a_unit_that_never_changes_gets_nothing(solve: Callable[..., NDArray[np.float64]]) -> None:
    masks = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    assert solve(masks, np.array([1.0, 2.0, 1.0]), np.ones(3), 0.0) == pytest.approx([1, 0])


@pytest.mark.parametrize("ridge", [0.0, 0.3, 1.0])
def test_the_quick_fit_is_that_of_scikit_learn(ridge: float) -> None:
    rng = np.random.default_rng(0)
    masks = (rng.random((80, 6)) < 0.5).astype(float)
    values, weights = rng.random(80), rng.random(80)
    weights[:2] = 1e6  # as of coalitions that the regression must meet
    assert quick_fit(masks, values, weights, ridge) == pytest.approx(fit(masks, values, weights, ridge), abs=1e-9)


every_sampling = pytest.mark.parametrize("sampling", SAMPLINGS)


@pytest.mark.parametrize("method", [Lime(samples=200), KernelShap(samples=200)])
def test_estimates_grow_until_the_final_one(bert: FrozenModel, method: Lime | KernelShap) -> None:
    results = list(method.refine(bert, bert.encode("the film was not good"), 0))
    assert [result.samples for result in results] == [20, 50, 100, 200]
    assert [result.stage for result in results] == ["estimate", "estimate", "estimate", "final"]
    assert all(len(result.draws) == 20 for result in results)
    assert results[-1] == method.attribute(bert, bert.encode("the film was not good"), 0)


def test_too_few_samples_for_a_long_text_give_no_estimate_before_the_final_one(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not good " * 6)  # 30 units need 24 masks
    assert [estimate.samples for estimate in Lime(samples=100).refine(bert, encoding, 0)] == [25, 50, 100]


def test_the_spread_is_the_deviation_of_the_draws(bert: FrozenModel) -> None:
    attribution = Lime(samples=200).attribute(bert, bert.encode("the film was not good"), 0)
    assert attribution.spread == pytest.approx(np.std(attribution.draws, axis=0))
    assert min(attribution.spread) > 0


@pytest.mark.parametrize("method", [Lime(samples=300, sampling="shared"), KernelShap(samples=300, sampling="shared")])
def test_where_all_masks_are_asked_nothing_is_left_to_chance(bert: FrozenModel, method: Lime | KernelShap) -> None:
    encoding = bert.encode("the film was not very good ,")  # 7 units
    one, other = method.attribute(bert, encoding, 0), replace(method, seed=5).attribute(bert, encoding, 0)
    assert one.samples == 2**7
    assert one.spread == pytest.approx([0] * 7, abs=1e-9)
    assert one.scores == pytest.approx(other.scores, abs=1e-6)


@pytest.mark.parametrize("method", [Lime(samples=200), KernelShap(samples=200)])
@every_sampling
def test_the_spread_is_that_of_other_seeds(bert: FrozenModel, method: Lime | KernelShap, sampling: Sampling) -> None:
    pooled = bert.pooled(PredictionCache())
    encoding = pooled.encode("the film was not very good , a dull plot")
    runs = [replace(method, seed=seed, sampling=sampling).attribute(pooled, encoding, 0) for seed in range(12)]
    actual = np.std([run.scores for run in runs], axis=0, ddof=1).mean()
    announced = np.mean([run.spread for run in runs])
    assert actual / 2 < announced < actual * 2


@every_sampling
def test_both_methods_find_the_same_units_in_either_way(bert: FrozenModel, sampling: Sampling) -> None:
    encoding = bert.encode("the film was not unwatchable")
    for kind in (Lime, KernelShap):
        exact = kind(samples=4000, sampling="shared").attribute(bert, encoding, 0)
        drawn = kind(samples=2000, sampling=sampling).attribute(bert, encoding, 0)
        assert drawn.scores == pytest.approx(exact.scores, abs=0.02)


def test_shared_masks_cost_once_and_the_control_has_asked_half_of_them(bert: FrozenModel) -> None:
    meter, encoding = Meter(), bert.encode("the film was not very good , a dull plot but the film was good !")
    model = bert.metered(meter).pooled(PredictionCache())
    model.probabilities(encoding, control_masks(len(encoding.units), 0))
    control = meter.calls
    for method in (KernelShap(samples=200, per_unit=1, sampling="shared"), Lime(samples=200, sampling="shared")):
        method.attribute(model, encoding, 0)
    assert meter.calls - control < 110
