"""The metrics of a comparison under another erasure operator, to see whether a verdict depends on the operator."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from explainers.models.inputs.encoding import Erasure


@dataclass(frozen=True)
class OperatorCheck:
    """`metrics` by method id and metric id; `random` by metric id, the value of each random order.

    Only metrics that need no more than the percents of AOPC are there. `failure` says why nothing was measured.
    """

    erasure: Erasure
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    random: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    failure: str = ""
