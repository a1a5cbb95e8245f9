"""How often an answer such as this one was right where the reason was known, in a sentence."""

from explainers.report import wording
from explainers.results.answer import Answer

FOUND = "On other models, trained to decide by known words, the joint order found exactly these words"


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
