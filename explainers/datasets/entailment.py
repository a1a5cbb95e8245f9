"""What every set of premises and hypotheses shares: the three classes, and text without its treebank tokenisation."""

import re

LABELS = ("entailment", "neutral", "contradiction")


def detokenised(text: str) -> str:
    """As people write: without the spaces that Penn Treebank tokenisation puts before punctuation and clitics."""
    text = text.replace("``", '"').replace("''", '"').replace("-LRB-", "(").replace("-RRB-", ")").strip()
    text = re.sub(r"\s+(n't|'(?:s|re|ve|ll|d|m)\b)", r"\1", text)
    text = re.sub(r"\s+([.,;:!?%)])", r"\1", text)
    return re.sub(r"\(\s+", "(", text)
