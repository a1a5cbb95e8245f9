"""What the results of a comparison already tell about masks of its input."""

from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.runner import random_orders
from explainers.methods.registry import method_spec
from explainers.metrics.erasure import erasure_masks
from explainers.results.erasure_curves import ErasureCurves

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


def known_answers(comparison: "Comparison") -> dict[bytes, float]:
    """p(class) by mask (bytes of booleans, true = kept): from every erasure curve, and from occlusion's scores."""
    question, known = comparison.question, dict[bytes, float]()
    control = comparison.random_control
    if control is not None:
        orders = random_orders(question.model, question.encoding, question.settings.seed)
        for scores, curves in zip(orders, control.curves, strict=True):
            known |= _along(scores, curves, question.label)
    for result in comparison.results:
        known |= _along(result.attribution.scores, result.curves, question.label)
    for result in comparison.results:
        attribution = result.attribution
        if method_spec(attribution.method).kind == "one by one" and attribution.label == question.label:
            alone = ~np.eye(len(attribution.scores), dtype=bool)
            falls = zip(alone, attribution.scores, strict=True)
            known = {mask.tobytes(): result.curves.full - score for mask, score in falls} | known
    return known


def _along(scores: tuple[float, ...], curves: ErasureCurves, label: int) -> dict[bytes, float]:
    kept = len(curves.kept) > 0
    masks = erasure_masks(scores, curves.counts, kept=kept)
    probabilities = np.vstack([curves.removed, curves.kept]) if kept else curves.removed
    return {mask.tobytes(): float(p) for mask, p in zip(masks, probabilities[:, label], strict=True)}
