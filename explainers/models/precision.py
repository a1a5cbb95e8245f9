"""The precision in which a frozen model answers erased inputs, and the check that it changes no ranking.

float32 is the default. With bfloat16 the matrix products of the passes that ask about masks are rounded; that is where
LIME, KernelSHAP, Occlusion, the metrics and the controls spend their time. The weights stay as they are, and so do
gradients, states and what was fitted to them: they are float32. Probabilities, scores and metrics are computed outside
the network, in float32 or float64.

An input is answered in bfloat16 only if it passes a check: one unit at a time is erased, by every operator of the
model, in both precisions. The predicted class must be the same, and for the two most probable classes the first 20 % of
the units must be the same in the same order. Single units change the probability least, so rounding shows there first.
The check says nothing about units further down. An input that does not pass is answered in float32, with a sentence; so
is one whose check would take too much of the time that a comparison has.
Importing this module does not load torch.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Erasure

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
SHORT: dict[str, Precision] = {"fp32": "float32", "bf16": "bfloat16"}
LEADING = 20  # % of the units, at least one
CLASSES = 2  # the most probable ones
CHECKS_KEPT = 512

CHECKED_SHARE = 0.25  # of a comparison's time, at most

Floats = NDArray[np.float64]
Answers = Callable[[Precision, NDArray[np.bool_], Erasure], Floats]  # of masks (B, units) under an operator → (B, C)


class UsedPrecision(NamedTuple):
    """In which precision an input is answered; `note` says why it is not the one that was asked for."""

    precision: Precision = "float32"
    note: str = ""


NO_TIME = UsedPrecision(note="Computed in float32: there was no time to check bfloat16.")


@dataclass(eq=False)
class PrecisionChecks:
    """What the checks of the last inputs found, by `Encoding.content_key`."""

    known: OrderedDict[bytes, UsedPrecision] = field(default_factory=OrderedDict)

    def of(self, key: bytes, check: Callable[[], UsedPrecision]) -> UsedPrecision:
        """Return what `check` returns, kept per input. Two threads may both compute it, with the same result."""
        used = self.known.get(key)
        if used is None:
            used = self.known[key] = check()
            while len(self.known) > CHECKS_KEPT:
                self.known.popitem(last=False)
        return used


def checked_precision(name: str) -> Precision:
    """Return the precision of this name, also as fp32 or bf16. Raises `ExplanationError` for another one."""
    for precision in PRECISIONS:
        if SHORT.get(name, name) == precision:
            return precision
    raise ExplanationError(f"Unknown precision {name!r}. Choose one of: {', '.join(PRECISIONS)}.")


def check_bfloat16(answers: Answers, units: int, erasures: Sequence[Erasure]) -> UsedPrecision:
    """Return bfloat16 if the input with so many units passes the check of this module, else float32."""
    masks = np.vstack([np.ones((1, units), dtype=bool), ~np.eye(units, dtype=bool)])
    for erasure in erasures:
        exact, rounded = (answers(precision, masks, erasure) for precision in PRECISIONS)
        if exact[0].argmax() != rounded[0].argmax():
            return UsedPrecision(note="Computed in float32: in bfloat16 the model predicts another class.")
        for label in np.argsort(-exact[0], kind="stable")[:CLASSES]:
            if leading_units(exact[:, label]) != leading_units(rounded[:, label]):
                return UsedPrecision(
                    note=f"Computed in float32: in bfloat16 other units lead when one is erased by {erasure}."
                )
    return UsedPrecision("bfloat16")


def leading_units(probabilities: Floats) -> list[int]:
    """Return the first 20 % of the units by how far their erasure lowers the probability (1 + units,), which begins
    with that of the whole input."""
    falls = probabilities[0] - probabilities[1:]
    count = -(-len(falls) * LEADING // 100)
    return [int(unit) for unit in np.argsort(-falls, kind="stable")[:count]]
