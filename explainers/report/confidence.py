"""How often an answer such as this one was right where the reason was known, in a sentence."""

from explainers.report import wording
from explainers.results.answer import Answer

FOUND = "On other models, trained to decide by known words, the joint order found exactly these words"
NOT_KNOWN = "How often such an answer is right is not known: {}."


def confidence_sentence(answer: Answer) -> str:
    """Return how often the joint order was right where the reason was known, or why that is not known; empty where
    nothing is supported, and before the last method, because it depends on which of them agree."""
    given = answer.confidence
    if answer.status != "supported":
        return ""
    if given is None:
        return NOT_KNOWN.format(answer.no_confidence) if answer.no_confidence and not answer.provisional else ""
    share, low, high = (wording.decimals(100 * share, 0) for share in (given.share, given.low, given.high))
    alike = f"{given.inputs} inputs of about this length"
    some = "inputs where methods agreed this much" if given.by_agreement else alike
    return f"{FOUND} in {share} % [{low}, {high}] of {some}."
