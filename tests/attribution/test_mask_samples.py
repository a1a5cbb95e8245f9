import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from explainers.attribution.controls import control_orders
from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.attribution.mask_samples import (
    CHECKS,
    Look,
    batch_ends,
    control_masks,
    inclusion,
    settled,
    shared_masks,
    single_masks,
    size_weights,
)
from explainers.metrics.erasure import erasure_masks
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import metric_counts
from explainers.results.decision import RANDOM_ORDERS, SAMPLINGS, SETTLED_BY, UNTIL_SETTLED, Sampling


def names(masks: np.ndarray) -> set[bytes]:
    return {mask.tobytes() for mask in masks}


def test_nothing_and_everything_come_first_then_complements_side_by_side() -> None:
    masks = shared_masks(9, 0, 100)
    assert masks.shape == (100, 9)
    assert not masks[0].any()
    assert (masks[0::2] == ~masks[1::2]).all()


@pytest.mark.parametrize("units", [2, 3, 5, 8])
def test_no_mask_comes_twice_and_at_the_end_all_are_there(units: int) -> None:
    masks = shared_masks(units, 0, 1000)
    assert len(masks) == len(np.unique(masks, axis=0)) == 2**units


def test_subsets_that_are_too_many_to_list_do_not_come_twice_either() -> None:
    masks = shared_masks(30, 0, 2000)
    assert len(masks) == len(np.unique(masks, axis=0)) == 2000


@pytest.mark.parametrize("units", [6, 30, 100])
def test_a_shorter_list_is_the_beginning_of_a_longer_one(units: int) -> None:
    assert (shared_masks(units, 3, 900)[:50] == shared_masks(units, 3, 50)).all()


@pytest.mark.parametrize("units", [12, 70])
def test_the_controls_masks_are_those_that_its_curves_begin_with(units: int) -> None:
    counts = metric_counts(units)
    asked = [erasure_masks(order, counts, kept=True) for order in control_orders(units, 0)]
    assert names(control_masks(units, 0)) == names(np.vstack(asked))


def test_until_the_control_is_used_up_every_second_pair_is_its_own() -> None:
    units, half = 40, RANDOM_ORDERS * len(metric_counts(40)[1:-1])
    pairs = shared_masks(units, 0, 2000)[2:].reshape(-1, 2, units)
    control = names(control_masks(units, 0))
    own = np.array([pair[0].tobytes() in control for pair in pairs])
    assert own.sum() == (len(control) - 2) // 2
    assert own[:100].mean() == pytest.approx(0.5, abs=0.05)
    assert not own[2 * half :].any()


@pytest.mark.parametrize("draw", [shared_masks, single_masks])
def test_every_beginning_has_as_many_masks_of_every_size(draw: Callable[..., np.ndarray]) -> None:
    asked = set(metric_counts(26))
    sizes = [size for size in range(3, 24) if not {size, 26 - size} & asked]  # the control asks more of its own
    for most in (200, 300, 400):
        counts = np.bincount(draw(26, 0, most)[2:].sum(axis=1), minlength=27)
        assert counts[sizes].max() - counts[sizes].min() <= 4
        assert all(
            counts[sizes].min() <= counts[size] <= 2 * RANDOM_ORDERS + counts[sizes].max()
            for size in asked
            if 3 <= size <= 23
        )


def test_another_seed_gives_other_masks() -> None:
    assert (shared_masks(20, 0, 100) != shared_masks(20, 1, 100)).any()


def test_another_process_draws_the_same() -> None:
    code = "import sys; from explainers.attribution.mask_samples import shared_masks as draw; "
    code += "sys.stdout.buffer.write(draw(25, 7, 800).tobytes())"
    root = Path(__file__).parents[2]
    drawn = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=root).stdout
    assert hashlib.sha256(drawn).digest() == hashlib.sha256(shared_masks(25, 7, 800).tobytes()).digest()


def test_within_a_size_every_mask_is_equally_likely() -> None:
    units, seeds = 5, 2000
    times = {size: np.zeros(2**units) for size in (1, 2)}
    drawn = dict.fromkeys(times, 0)
    for seed in range(seeds):
        masks = shared_masks.__wrapped__(units, seed, 10)
        for size, counts in times.items():
            chosen = masks[masks.sum(axis=1) == size] @ (1 << np.arange(units))
            counts[chosen] += 1
            drawn[size] += len(chosen)
    for size, counts in times.items():
        share = counts[counts > 0] / drawn[size]
        assert len(share) == comb(units, size)
        assert share == pytest.approx([1 / comb(units, size)] * len(share), rel=0.12)


def test_a_mask_is_included_with_the_share_of_its_size_that_is_there() -> None:
    masks = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    assert inclusion(masks) == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1])  # two of three, one of three, one of one


def test_the_weight_of_a_size_is_shared_by_its_masks() -> None:
    masks = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=bool)
    assert size_weights(masks, np.array([0.0, 3.0, 5.0, 0.0])) == pytest.approx([1.5, 1.5, 5])


def test_a_size_without_masks_gives_its_weight_to_the_nearest() -> None:
    masks = np.array([[1, 0, 0, 0, 0], [1, 1, 1, 0, 0]], dtype=bool)
    # size 2 lies between 1 and 3, size 4 beside 3
    assert size_weights(masks, np.array([0.0, 1.0, 2.0, 4.0, 8.0, 0.0])) == pytest.approx([2, 13])


TEXT = "the film was not unwatchable , but a very dull plot !"


class Seen(Look):
    """A look of which everything is known; without `metrics` nobody may read them."""

    def __init__(self, top: set[int], metrics: tuple[float, float] | None) -> None:
        self.known = frozenset(top), metrics

    @property
    def top(self) -> frozenset[int]:
        return self.known[0]

    @property
    def metrics(self) -> tuple[float, float]:
        assert self.known[1] is not None
        return self.known[1]


ONE, OTHER, UNREAD = Seen({1, 2}, (0.4, 0.1)), Seen({1, 3}, (0.4, 0.1)), Seen({1, 2}, None)
both = pytest.mark.parametrize("method", [Lime(samples=UNTIL_SETTLED), KernelShap(samples=UNTIL_SETTLED)])


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([ONE] * CHECKS, False),  # one look too few
        ([ONE] * (CHECKS + 1), True),
        ([OTHER] + [ONE] * (CHECKS + 1), True),
        ([ONE] * CHECKS + [OTHER], False),
        ([ONE] * (CHECKS - 1) + [OTHER, ONE], False),
        ([OTHER, *[UNREAD] * CHECKS], False),  # the metrics of looks that differ in the units are not asked
        ([ONE] * CHECKS + [Seen({1, 2}, (0.415, 0.1))], True),
        ([ONE] * CHECKS + [Seen({1, 2}, (0.4, 0.13))], False),
    ],
)
def test_it_has_settled_when_the_last_looks_agree(looks: list[Look], expected: bool) -> None:
    assert settled(looks) is expected


@pytest.mark.parametrize(
    ("masks", "units", "expected"),
    [
        (220, 12, [50, 100, 150, 200, 220]),
        (200, 12, [50, 100, 150, 200]),
        (300, 40, [200, 250, 300]),
        (64, 6, [50, 64]),
    ],
)
def test_looks_come_after_every_batch_and_at_the_end(masks: int, units: int, expected: list[int]) -> None:
    assert batch_ends(masks, units) == expected


@both
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_method_ends_when_it_has_settled(bert: FrozenModel, method: Lime | KernelShap, sampling: Sampling) -> None:
    *estimates, final = replace(method, sampling=sampling).refine(bert, bert.encode(TEXT), 0)
    assert [estimate.stage for estimate in estimates] == ["estimate"] * len(estimates)
    assert final.stage == "final"
    assert final.samples_at_most == SETTLED_BY
    assert 200 <= final.samples <= SETTLED_BY
    fixed = replace(method, sampling=sampling, samples=final.samples)
    if final.samples < SETTLED_BY and sampling == "shared" and isinstance(method, KernelShap):
        samples_alike = replace(fixed, per_unit=1).attribute(bert, bert.encode(TEXT), 0)
        assert final.scores == pytest.approx(samples_alike.scores, abs=1e-6)


def test_a_fixed_number_of_samples_says_nothing_of_an_end(bert: FrozenModel) -> None:
    assert Lime(samples=100).attribute(bert, bert.encode(TEXT), 0).samples_at_most is None


def test_what_is_certain_settles_at_the_last_mask(bert: FrozenModel) -> None:
    final = KernelShap(samples=UNTIL_SETTLED, sampling="shared").attribute(bert, bert.encode("the film was not"), 0)
    assert (final.samples, final.samples_at_most) == (16, 16)
    assert max(final.spread) == pytest.approx(0, abs=1e-12)


@both
def test_company_and_order_of_arrival_change_nothing(bert: FrozenModel, method: Lime | KernelShap) -> None:
    method, encoding = replace(method, sampling="shared"), bert.encode(TEXT)
    alone = method.attribute(bert, encoding, 0)
    for first in (Lime(samples=300, sampling="shared"), KernelShap(samples=120), Lime(samples=90, seed=3)):
        pooled = bert.pooled(PredictionCache())
        first.attribute(pooled, encoding, 0)
        with_company = method.attribute(pooled, encoding, 0)
        assert with_company.samples == alone.samples
        assert with_company.scores == pytest.approx(alone.scores, abs=1e-5)


def test_the_spread_is_as_large_as_the_error(bert: FrozenModel) -> None:
    """Of 30 seeds, on a text of which all masks are known."""
    encoding = bert.encode(TEXT)
    pooled = bert.pooled(PredictionCache())
    exact = KernelShap(samples=2**12, sampling="shared").attribute(pooled, encoding, 0)
    results = [
        KernelShap(samples=120, per_unit=1, seed=seed, sampling="shared").attribute(pooled, encoding, 0)
        for seed in range(30)
    ]
    errors = np.array([np.subtract(result.scores, exact.scores) for result in results])
    spread = np.array([result.spread for result in results])
    assert 0.75 < np.sqrt((errors**2).mean() / (spread**2).mean()) < 1.35
