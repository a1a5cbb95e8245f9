"""What is explained of a decision: a small function of the class probabilities with values in [0, 1].

    class A             p(A)
    A rather than B     p(A) / (p(A) + p(B)),   the probability of A of a model that knows A and B only

A model that is aimed at a target (`FrozenModel.aimed`) answers with the probabilities of that restricted model. So
methods, curves and metrics read column A of a row, whatever the target is, and those of other packages do, too. The
decision flips where B becomes likelier than A.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from explainers.errors import ExplanationError

if TYPE_CHECKING:
    from torch import Tensor

Rows = TypeVar("Rows", NDArray[np.float64], "Tensor")
LEAST = 1e-30  # is added to both, so that two probabilities of 0 are equally likely


@dataclass(frozen=True)
class Target:
    """Class number `label`, or with `versus` that class rather than this other one."""

    label: int
    versus: int | None = None

    def __post_init__(self) -> None:
        if self.versus == self.label:
            raise ValueError(f"a target compares class {self.label} with itself")

    @property
    def is_contrast(self) -> bool:
        return self.versus is not None

    def rows(self, probabilities: Rows) -> Rows:
        """Return the probabilities (…, C) of a model that knows only the classes of the target; differentiable."""
        if self.versus is None:
            return probabilities
        both = probabilities[..., [self.label, self.versus]] + LEAST  # (…, 2)
        shares = both / both.sum(-1)[..., None]
        restricted = cast(Any, probabilities * 0)
        restricted[..., self.label], restricted[..., self.versus] = shares[..., 0], shares[..., 1]
        return cast(Rows, restricted)

    def of(self, probabilities: Sequence[float]) -> float:
        """Return the value of the target, in [0, 1], for the probabilities of all classes."""
        return float(self.rows(np.asarray(probabilities, dtype=float))[self.label])

    def name(self, labels: Sequence[str]) -> str:
        """Return "A" or "A rather than B"."""
        label = labels[self.label]
        return label if self.versus is None else f"{label} rather than {labels[self.versus]}"


def target_of(model: str, labels: Sequence[str], predicted: int, label: str | None, versus: str | None) -> Target:
    """Return the target with these class names; without `label` of the class that is `predicted`.

    Raises `ExplanationError` for an unknown class, and for one that is compared with itself.
    """
    for name in (label, versus):
        if name is not None and name not in labels:
            raise ExplanationError(f"{model} has no class {name!r}. Choose one of: {', '.join(labels)}.")
    explained = predicted if label is None else labels.index(label)
    if versus is None:
        return Target(explained)
    if labels[explained] == versus:
        start = "The predicted class is" if label is None else "The class to explain is"
        others = ", ".join(name for name in labels if name != versus)
        raise ExplanationError(f"{start} {versus}, and it cannot be compared with itself. Choose one of: {others}.")
    return Target(explained, labels.index(versus))
