"""Pictures with text: how much of an explanation lies on either, and the masking path of either alone."""

from typing import Literal

import numpy as np

from explainers.explanation import Attribution
from explainers.metrics.masking import Asked, MaskingPath, counts, masks_of
from explainers.models.encoding import Encoding

Kind = Literal["word", "patch"]


def of_kind(encoding: Encoding, kind: Kind) -> tuple[int, ...]:
    """The numbers of the words, or of the patches."""
    return tuple(number for number, unit in enumerate(encoding.units) if unit.kind == kind)


def picture_share(attribution: Attribution) -> float | None:
    """Σ|s| over patches divided by Σ|s| over all units, 0…1; None where every score is 0."""
    sizes = np.abs(attribution.scores)
    patches = list(of_kind(attribution.encoding, "patch"))
    return float(sizes[patches].sum() / sizes.sum()) if sizes.any() else None


def alone(asked: Asked, scores: tuple[float, ...], label: int, kind: Kind) -> MaskingPath:
    """As `masking_path`, over the units of one kind; those of the other are never erased."""
    own = list(of_kind(asked.encoding, kind))
    points = counts(len(own))
    masks = np.ones((2 * len(points), len(scores)), dtype=bool)
    masks[:, own] = masks_of(tuple(scores[unit] for unit in own), points, kept=True)
    found = asked.probabilities(masks)
    return MaskingPath(points, found[: len(points)], found[len(points) :], label)
