"""What LIME and KernelSHAP share: a linear surrogate of the model on random masks, refined in stages.

All masks are drawn at the start from one seed. They go through the model in stages, each stage gives an estimate, and
the last one is fitted by scikit-learn on all of them. The spread comes from refitting with the weights of other samples
as they might have been drawn, which costs no further pass; these many fits and the estimates solve the same equations
by `quick_fit`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, Ridge

from explainers.attribution.mask_samples import Look, MaskSample, batch_ends, settled
from explainers.methods.registry import MethodSpec
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.frozen_model import Floats, FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution, floats

STAGES = (0.1, 0.25, 0.5)  # shares of the samples after which an estimate is shown; the final one comes after all


def fit(masks: Floats, values: Floats, weights: Floats, ridge: float) -> Floats:
    """Weighted least squares with an unpenalised intercept: argmin Σ w (y - b - m·s)² + ridge ‖s‖²; returns s (n,)."""
    model = Ridge(alpha=ridge) if ridge else LinearRegression()
    coefficients: Floats = model.fit(masks, values, sample_weight=weights).coef_
    return coefficients


def quick_fit(masks: Floats, values: Floats, weights: Floats, ridge: float) -> Floats:
    """As `fit` to the last digits, from the normal equations: ten times as quick or more."""
    total = weights.sum()
    centred = masks - weights @ masks / total  # (N, n)
    target = values - weights @ values / total  # (N,)
    gram = centred.T @ (weights[:, None] * centred) + ridge * np.eye(masks.shape[1])
    coefficients: Floats = np.linalg.lstsq(gram, centred.T @ (weights * target), rcond=None)[0]
    return coefficients


def refine(
    spec: MethodSpec,
    model: FrozenModel,
    encoding: Encoding,
    label: int,
    *,
    sample: MaskSample,
    erasure: Erasure,
    ridge: float,
    seed: int,
    settle: bool = False,
) -> Iterator[Attribution]:
    """Estimates after each stage, then the final one: after all masks, or with `settle` when more change nothing."""
    masks = sample.masks
    values = np.zeros(len(masks))
    answers, looks = MaskedPredictor(model, encoding, erasure), list[Look]()
    done = 0
    for until in batch_ends(len(masks), masks.shape[1]) if settle else _stages(sample):
        values[done:until] = model.probabilities(encoding, masks[done:until], erasure)[:, label]
        done = until
        rows, targets, weights = masks[:until].astype(float), values[:until], sample.weights(until)
        scores = quick_fit(rows, targets, weights, ridge)
        looks.append(Look(answers, floats(scores), label))
        last = until == len(masks) or (settle and settled(looks))
        if last:
            scores = fit(rows, targets, weights, ridge)
        draws = _draws(sample, until, rows, targets, ridge, seed)
        yield Attribution(
            spec.id,
            encoding,
            label,
            floats(scores),
            signed=spec.signed,
            spread=floats(np.std(draws, axis=0)),
            draws=tuple(floats(draw) for draw in draws),
            samples=until,
            samples_at_most=len(masks) if settle else None,
            stage="final" if last else "estimate",
        )
        if last:
            return


def _draws(
    sample: MaskSample, until: int, rows: Floats, targets: Floats, ridge: float, seed: int
) -> NDArray[np.float64]:
    """Scores as other samples of the same size might give them, (DRAWS, units).

    A fit with p coefficients on m blocks of masks leaves residuals that are too small, which m / (m - p) makes up for.
    """
    rng = np.random.default_rng([seed + 1, until])
    fits = np.array([quick_fit(rows, targets, redrawn, ridge) for redrawn in sample.redrawn(until, rng)])
    blocks = sample.blocks_until(until)
    centre = fits.mean(axis=0)
    widened: Floats = centre + (fits - centre) * blocks / max(blocks - rows.shape[1], blocks / 4)
    return widened


def _stages(sample: MaskSample) -> list[int]:
    """After how many masks there is an estimate; those with too few equations are left out."""
    number, units = sample.masks.shape
    ends = {*(int(number * share) // sample.step * sample.step for share in STAGES), number}
    return sorted(end for end in ends if end >= min(number, 2 * units // 3 + 4))


def single_unit(spec: MethodSpec, model: FrozenModel, encoding: Encoding, label: int, erasure: Erasure) -> Attribution:
    """The attribution of an input with one unit: its score is the fall of the probability when it is erased."""
    whole, without = model.probabilities(encoding, [[True], [False]], erasure)[:, label]
    return Attribution(
        spec.id, encoding, label, (float(whole - without),), signed=spec.signed, spread=(0.0,), samples=2
    )
