"""What a statement is about, from its words alone, so that accuracies can be reported by kind."""

import re

KINDS = (
    ("all or none", r"\b(none|all|ll|every|each|both)\b"),
    ("sameness, colours of many", r"\b(same|different|colou?rs?|shapes?)\b"),
    (
        "relations",
        r"\b(above|over|on top of|on an?|below|bellow|under|underneath|beneath|between|stacked|attache?d?)\b",
    ),
    ("touching", r"\b(touch|touching|corner|wall|edge|side)\b"),
    ("base or top", r"\b(base|bottom|top|second|third|first|middle)\b"),
    ("several conditions", r"\b(box|boxes|tower|towers|square)\b.*\b(and|of which|including|but|,)\b"),
    ("boxes and towers", r"\b(box|boxes|tower|towers|gr[ae]y squares?)\b"),
    ("counting things", r"\b(blocks?|items?|objects?|squares?|circles?|triangles?)\b"),
)
OTHER = "other"
NAMES = (*(name for name, _ in KINDS), OTHER)


def kind_of(sentence: str) -> str:
    """One of `NAMES`: the first whose words the sentence has."""
    lower = sentence.lower()
    return next((name for name, words in KINDS if re.search(words, lower)), OTHER)
