"""Pairwise Shapley interactions (Faith-Shap of order 2; Tsai, Yeh and Ravikumar, 2023): what two units do together.

    argmin Σ_z π(z) (p(label | z) - b - Σ_u s_u z_u - Σ_{u<w} i_uw z_u z_w)²,   exact for nothing and everything

with KernelSHAP's kernel π. The masks are those that LIME, KernelSHAP and the random control share, so that with a pool
they cost little; those of a few units `among` many are their own, and the other units stay in place. i_uw > 0 where
both units together raise p(label) by more than each alone.
"""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.kernel_shap import kernel_weights
from explainers.attribution.mask_samples import SharedMasks, shared_masks
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import floats

Floats = NDArray[np.float64]

SURPLUS = 1.5  # masks per coefficient that are needed where not all masks are asked


@dataclass(frozen=True)
class PairInteractions:
    """`singles` and, by two unit numbers in ascending order, `pairs`, of the `units` in ascending order; together they
    add up to p(x) - p(x without these units).

    `spreads` are the standard deviations of the pairs that sampling alone would cause, `samples` the masks asked.
    """

    label: int
    units: tuple[int, ...]
    singles: tuple[float, ...]
    pairs: dict[tuple[int, int], float]
    spreads: dict[tuple[int, int], float]
    samples: int

    def strongest(self, count: int) -> list[tuple[tuple[int, int], float]]:
        """The pairs with the largest interactions of either sign."""
        return sorted(self.pairs.items(), key=lambda item: -abs(item[1]))[:count]


def pair_interactions(
    model: FrozenModel,
    encoding: Encoding,
    label: int,
    *,
    samples: int,
    among: Collection[int] | None = None,
    erasure: Erasure = "mask",
    seed: int = 0,
) -> PairInteractions:
    """Interactions of the units `among`, by default all, from at most `samples` masks; exact where these are all.

    Raises `ExplanationError` if they are too few.
    """
    numbers = sorted(range(len(encoding.units)) if among is None else among)
    units = len(numbers)
    if units < 2:
        raise ExplanationError("Interactions need at least two units.")
    masks = shared_masks(units, seed, samples)
    needed = min(2**units, int(SURPLUS * coefficient_count(units)))
    if len(masks) < needed:
        raise ExplanationError(f"Interactions of {units} units need at least {needed:,} samples, not {samples:,}.")
    kept = np.ones((len(masks), len(encoding.units)), dtype=bool)
    kept[:, numbers] = masks
    values = model.probabilities(encoding, kept, erasure)[:, label]
    sample = SharedMasks(masks, kernel_weights)
    coefficients = fit_pairs(masks, values, sample.weights(len(masks)))
    rng = np.random.default_rng(seed + 1)
    draws = [fit_pairs(masks, values, redrawn)[units:] for redrawn in sample.redrawn(len(masks), rng)]
    spreads = np.std(draws, axis=0) * _widening(len(masks), units)
    places = list(combinations(numbers, 2))
    pairs, spread_of = (dict(zip(places, floats(values), strict=True)) for values in (coefficients[units:], spreads))
    return PairInteractions(label, tuple(numbers), floats(coefficients[:units]), pairs, spread_of, len(masks))


def coefficient_count(units: int) -> int:
    """The number of coefficients of the regression: one for nothing, one for each unit, one for each pair."""
    return 1 + units + units * (units - 1) // 2


def _widening(masks: int, units: int) -> float:
    """A fit with p coefficients on m masks leaves residuals that are too small."""
    return masks / max(masks - coefficient_count(units), masks / 4)


def fit_pairs(masks: NDArray[np.bool_], values: Floats, weights: Floats) -> Floats:
    """Weighted least squares: (units + units·(units-1)/2,), first the units, then the pairs in ascending order.

    The first mask keeps nothing: its value is the intercept.
    """
    kept = masks.astype(float)
    together = [kept[:, first] * kept[:, second] for first, second in combinations(range(masks.shape[1]), 2)]
    design = np.column_stack([kept, *together])[1:]  # (N - 1, coefficients)
    root = np.sqrt(weights[1:])
    coefficients: Floats = np.linalg.lstsq(root[:, None] * design, root * (values[1:] - values[0]), rcond=None)[0]
    return coefficients
