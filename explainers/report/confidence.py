"""How sure the model is, and how often an answer such as this one was right where the reason was known."""

from typing import TYPE_CHECKING

from explainers.report import wording
from explainers.results.answer import Answer

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

NARROW = 0.1  # between the probabilities of the two likeliest classes
FOUND = "On other models, whose deciding words are known, the methods' joint order put exactly those words first"


def confidence_sentence(answer: Answer) -> str:
    """Return how often the joint order was right where the reason was known, or why that is not known, which is not
    said before the last method; empty where nothing is supported."""
    given = answer.confidence
    if answer.status != "supported":
        return ""
    if given is None:
        return "" if answer.provisional else answer.no_confidence
    share, low, high = (wording.decimals(100 * share, 0) for share in (given.share, given.low, given.high))
    alike = f"{given.inputs} inputs of about this length"
    some = "inputs where methods agreed this much" if given.by_agreement else alike
    return f"{FOUND} in {share} % [{low}, {high}] of {some}."


def margin_sentence(comparison: "Comparison") -> str:
    """Return that the model hardly prefers the class that it predicts; empty where it does, and for other questions."""
    if not comparison.explains_predicted or len(comparison.probabilities) < 2:
        return ""
    labels, p = comparison.decision.card.labels, comparison.probabilities
    first, second = sorted(range(len(p)), key=lambda number: -p[number])[:2]
    if p[first] - p[second] >= NARROW:
        return ""
    told = (f"{wording.one_line(labels[number])} {wording.decimals(p[number])}" for number in (first, second))
    return f"The model is nearly undecided: {', '.join(told)}."
