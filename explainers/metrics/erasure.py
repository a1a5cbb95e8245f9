"""The experiment behind every faithfulness metric: erase units in the order of an explanation and ask the model.

Special tokens are never erased.

Images with text: the erasure curves of either modality alone.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import ErasureCurves, Floats, curve_counts, ranking

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel


@dataclass
class MaskedPredictor:
    """A model's answers about one encoding under one erasure operator: no mask is asked, or counted as used, twice.

    The model's pool may know them already, from others who asked.
    """

    model: "FrozenModel"
    encoding: Encoding
    erasure: Erasure
    answers: dict[bytes, Floats] = field(default_factory=dict)

    @property
    def unasked(self) -> int:
        """Return how many masks of the units have no answer here."""
        return (1 << len(self.encoding.units)) - len(self.answers)

    def probabilities(self, keeps: NDArray[np.bool_]) -> Floats:
        """p(class) for each mask (B, units), true = kept → (B, C)."""
        keys = [row.tobytes() for row in keeps]
        new = list({key: row for row, key in enumerate(keys) if key not in self.answers}.values())
        if new:
            probabilities = self.model.probabilities(self.encoding, keeps[new], self.erasure)
            self.answers.update(zip((keys[row] for row in new), probabilities, strict=True))
        return np.stack([self.answers[key] for key in keys])


def erasure_curves(
    answers: MaskedPredictor,
    scores: tuple[float, ...],
    label: int,
    counts: tuple[int, ...] | None = None,
    *,
    kept: bool = True,
) -> ErasureCurves:
    """Erases in the order of `scores` at `counts`, by default those of `curve_counts`; without `kept` only removes."""
    points = curve_counts(len(scores)) if counts is None else counts
    probabilities = answers.probabilities(erasure_masks(scores, points, kept=kept))
    return ErasureCurves(points, probabilities[: len(points)], probabilities[len(points) :], label)


def erasure_masks(scores: tuple[float, ...], counts: tuple[int, ...], *, kept: bool) -> NDArray[np.bool_]:
    """Masks without the top units, one row per count, and with `kept` then those with only the top units.

    (counts or 2·counts, units), true = kept.
    """
    rank = np.empty(len(scores), dtype=int)
    rank[ranking(scores)] = np.arange(len(scores))  # 0 = the highest score
    tops = rank[None, :] < np.asarray(counts)[:, None]  # (counts, units)
    return np.vstack([~tops, tops]) if kept else ~tops


Kind = Literal["word", "patch"]


def units_of_kind(encoding: Encoding, kind: Kind) -> tuple[int, ...]:
    """The numbers of the words, or of the patches."""
    return tuple(number for number, unit in enumerate(encoding.units) if unit.kind == kind)


def single_modality_curves(
    answers: MaskedPredictor, scores: tuple[float, ...], label: int, kind: Kind
) -> ErasureCurves:
    """As `erasure_curves`, over the units of one kind; those of the other kind are never erased."""
    units = list(units_of_kind(answers.encoding, kind))
    counts = curve_counts(len(units))
    masks = np.ones((2 * len(counts), len(scores)), dtype=bool)
    masks[:, units] = erasure_masks(tuple(scores[unit] for unit in units), counts, kept=True)
    probabilities = answers.probabilities(masks)
    return ErasureCurves(counts, probabilities[: len(counts)], probabilities[len(counts) :], label)
