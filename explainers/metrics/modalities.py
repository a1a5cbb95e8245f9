"""Images with text: the erasure curves of either modality alone."""

from typing import Literal

import numpy as np

from explainers.metrics.erasure import Answers, erasure_masks
from explainers.models.inputs.encoding import Encoding
from explainers.results.erasure_curves import ErasureCurves, curve_counts

Kind = Literal["word", "patch"]


def units_of_kind(encoding: Encoding, kind: Kind) -> tuple[int, ...]:
    """The numbers of the words, or of the patches."""
    return tuple(number for number, unit in enumerate(encoding.units) if unit.kind == kind)


def single_modality_curves(answers: Answers, scores: tuple[float, ...], label: int, kind: Kind) -> ErasureCurves:
    """As `erasure_curves`, over the units of one kind; those of the other kind are never erased."""
    units = list(units_of_kind(answers.encoding, kind))
    counts = curve_counts(len(units))
    masks = np.ones((2 * len(counts), len(scores)), dtype=bool)
    masks[:, units] = erasure_masks(tuple(scores[unit] for unit in units), counts, kept=True)
    probabilities = answers.probabilities(masks)
    return ErasureCurves(counts, probabilities[: len(counts)], probabilities[len(counts) :], label)
