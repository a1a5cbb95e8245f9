"""The erasure operators in words, and under which of them a verdict holds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explainers.models.inputs.encoding import Erasure
from explainers.results.verdict import Verdict

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

OPERATORS: dict[Erasure, str] = {
    "mask": "words are masked",
    "delete": "words are deleted",
    "zero": "embeddings are zeroed",
    "blur": "the image is blurred",
}
WITH_PATCHES: dict[Erasure, str] = {  # for an image with text
    "mask": "words and patches are masked",
    "delete": "words and patches are deleted",
    "blur": "patches are blurred and words are masked",
}


def holds_line(verdict: Verdict, comparison: "Comparison") -> str:
    """ "Holds when words are deleted; not when embeddings are zeroed"; empty before another operator was tried."""
    clauses = _clauses(comparison)
    holding = [clauses[erasure] for erasure, holds in verdict.holds if holds]
    failing = [clauses[erasure] for erasure, holds in verdict.holds if not holds]
    if not holding:
        return f"Does not hold when {_either(failing)}" if failing else ""
    return f"Holds when {_either(holding)}{f'; not when {_either(failing)}' if failing else ''}"


def operator_clause(comparison: "Comparison") -> str:
    """What the comparison's own operator does: "words are masked"."""
    return _clauses(comparison)[comparison.question.settings.erasure]


def _clauses(comparison: "Comparison") -> dict[Erasure, str]:
    return OPERATORS | (WITH_PATCHES if comparison.question.encoding.multimodal else {})


def _either(clauses: Sequence[str]) -> str:
    return " or ".join([", ".join(clauses[:-1]), clauses[-1]]) if len(clauses) > 1 else "".join(clauses)
