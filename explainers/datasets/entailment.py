"""What every set of premises and hypotheses shares: the three classes, and text without its treebank tokenisation.

Whether a generated reason is true of its input, as far as a data set's own rules can tell.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explainers.datasets.example import Example

LABELS = ("entailment", "neutral", "contradiction")


def detokenised(text: str) -> str:
    """As people write: without the spaces that Penn Treebank tokenisation puts before punctuation and clitics."""
    text = text.replace("``", '"').replace("''", '"').replace("-LRB-", "(").replace("-RRB-", ")").strip()
    text = re.sub(r"\s+(n't|'(?:s|re|ve|ll|d|m)\b)", r"\1", text)
    text = re.sub(r"\s+([.,;:!?%)])", r"\1", text)
    return re.sub(r"\(\s+", "(", text)


@dataclass(frozen=True)
class ReasonTruth:
    """`true` is None where it cannot be told; `note` says why, or what the input shows, without capital and stop."""

    true: bool | None
    note: str


NO_RULES = ReasonTruth(None, "no rules are known that could check it")
ReasonChecker = Callable[[str, Example], ReasonTruth]  # of a reason without "because", and the input
TopicChecker = Callable[[str, Sequence[str]], bool | None]  # of a reason and the true ones; None if it cannot be told
