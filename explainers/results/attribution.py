"""What every method answers with. Sign and range are data here, never guessed by a view."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from explainers.models.inputs.encoding import Encoding

Stage = Literal["estimate", "final"]


@dataclass(frozen=True)
class Attribution:
    """One score per unit of `encoding` for class number `label`; positive signed scores support the class.

    `spread` is the standard deviation of each score that sampling alone would cause, `draws` are equally likely
    alternative scores from which it is estimated; `gap` is |Σ scores - (f(x) - f(baseline))|. `model_calls` are the
    answers that it used, `new_calls` those of them that had to be computed; None where that was not recorded.
    """

    method: str
    encoding: Encoding
    label: int
    scores: tuple[float, ...]
    signed: bool
    spread: tuple[float, ...] = ()
    draws: tuple[tuple[float, ...], ...] = ()
    gap: float | None = None
    samples: int = 0
    samples_at_most: int | None = None  # where sampling ends by itself
    stage: Stage = "final"
    seconds: float = 0.0
    model_calls: int = 0
    new_calls: int | None = None

    def __post_init__(self) -> None:
        scores, units = len(self.scores), len(self.encoding.units)
        if scores != units:
            raise ValueError(f"{self.method} gave {scores} scores for {units} units")
        if not np.isfinite(self.scores).all():
            raise ValueError(f"{self.method} gave scores that are not finite: {self.scores}")

    @property
    def image_share(self) -> float | None:
        """Σ|s| over patches divided by Σ|s| over all units, 0…1; None where every score is 0."""
        sizes = np.abs(self.scores)
        patches = [number for number, unit in enumerate(self.encoding.units) if unit.kind == "patch"]
        return float(sizes[patches].sum() / sizes.sum()) if sizes.any() else None

    def costing(self, seconds: float, model_calls: int, new_calls: int) -> "Attribution":
        return replace(self, seconds=seconds, model_calls=model_calls, new_calls=new_calls)


def ranking(scores: tuple[float, ...]) -> NDArray[np.int64]:
    """Unit numbers from the highest score to the lowest; equal scores stay in the order of the text."""
    return np.argsort(-np.asarray(scores, dtype=float), kind="stable")


def floats(values: object) -> tuple[float, ...]:
    """Plain numbers, so that results can be cached, compared and written as JSON."""
    return tuple(float(value) for value in np.asarray(values, dtype=float).reshape(-1))
