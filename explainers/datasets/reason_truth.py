"""Whether a generated reason is true of its input, as far as a data set's own rules can tell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explainers.datasets.example import Example


@dataclass(frozen=True)
class ReasonTruth:
    """`true` is None where it cannot be told; `note` says why, or what the input shows, without capital and stop."""

    true: bool | None
    note: str


NO_RULES = ReasonTruth(None, "no rules are known that could check it")
ReasonChecker = Callable[[str, Example], ReasonTruth]  # of a reason without "because", and the input
TopicChecker = Callable[[str, Sequence[str]], bool | None]  # of a reason and the true ones; None if it cannot be told
