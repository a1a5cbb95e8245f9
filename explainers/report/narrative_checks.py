"""The three things that are checked about a narrative, in words: for the page, a document and the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from explainers.datasets.reason_truth import NO_RULES
from explainers.report.text import decimals, one_line
from explainers.results.narrative import NO_WORD

if TYPE_CHECKING:
    from explainers.results.narrative import Narrative, NarrativeCheck

QUESTIONS = ("names the model's class", "true of the input", "used by the model")


@dataclass(frozen=True)
class CheckLine:
    """One of the questions with its answer in a word or two; `detail` explains it, for a tooltip."""

    question: str
    state: Literal["yes", "no", "none", "waiting"]
    answer: str
    detail: str


NO_WORD_LINE = CheckLine(QUESTIONS[2], "none", "names no word", "The sentence names no word of the input.")


def check_lines(
    narrative: "Narrative", check: "NarrativeCheck | None", predicted: int, labels: Sequence[str]
) -> tuple[CheckLine, CheckLine, CheckLine]:
    """In the order of `QUESTIONS`. `check` is None as long as nothing was checked."""
    return _class(narrative, predicted, labels), _truth(check), _use(narrative, check, predicted, labels)


def _class(narrative: "Narrative", predicted: int, labels: Sequence[str]) -> CheckLine:
    if narrative.stated is None:
        return CheckLine(QUESTIONS[0], "none", "names none", "The sentence states no class.")
    stated, model = one_line(labels[narrative.stated]), one_line(labels[predicted])
    if narrative.stated == predicted:
        return CheckLine(QUESTIONS[0], "yes", "yes", f"The sentence states {stated}, which the model predicts.")
    return CheckLine(QUESTIONS[0], "no", "no", f"The sentence states {stated}; the model predicts {model}.")


def _truth(check: "NarrativeCheck | None") -> CheckLine:
    if check is None:
        return CheckLine(QUESTIONS[1], "waiting", "…", "Not checked yet.")
    note = _sentence(check.true_note)
    if check.true is None:
        return CheckLine(QUESTIONS[1], "none", "not checked" if check.true_note == NO_RULES.note else "undecided", note)
    by_rules = "Checked by the generator's rules."
    return CheckLine(QUESTIONS[1], "yes" if check.true else "no", "yes" if check.true else "no", f"{note} {by_rules}")


def _use(narrative: "Narrative", check: "NarrativeCheck | None", predicted: int, labels: Sequence[str]) -> CheckLine:
    if not narrative.mentions:
        return NO_WORD_LINE
    if check is None:
        return CheckLine(QUESTIONS[2], "waiting", "…", "Not checked yet.")
    if check.full is None or check.removed is None:  # only patches are named, or erasing failed
        failed = CheckLine(QUESTIONS[2], "none", "not checked", _sentence(check.use_note))
        return NO_WORD_LINE if check.use_note == NO_WORD else failed
    label = one_line(labels[predicted if narrative.stated is None else narrative.stated])
    effect = f"p({label}) without the named words: {decimals(check.full)} → {decimals(check.removed)}"
    if check.random_removed:
        mean, lowest = decimals(float(np.mean(check.random_removed))), decimals(min(check.random_removed))
        effect += f"; without as many random words {mean} on average, {lowest} at the lowest"
    if check.used is None:
        return CheckLine(QUESTIONS[2], "none", "undecided", f"{effect}. {_sentence(check.use_note)}")
    effect += "."
    return CheckLine(QUESTIONS[2], "yes" if check.used else "no", "yes" if check.used else "no", effect)


def _sentence(note: str) -> str:
    """With a capital and one full stop; empty without a note."""
    return f"{note[:1].upper()}{note[1:].rstrip('.')}." if note else ""
