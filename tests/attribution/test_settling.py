from dataclasses import replace

import numpy as np
import pytest

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.attribution.mask_samples import (
    CHECKS,
    Look,
    batch_ends,
    settled,
)
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import SAMPLINGS, SETTLED_BY, UNTIL_SETTLED, Sampling

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
