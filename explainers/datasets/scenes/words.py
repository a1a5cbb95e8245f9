"""Normalising the words of a statement about a scene: "Ther are atleast two Blocks" → there 2+ block.

What does not distinguish statements ("closely", "exactly the") is removed.
"""

import re
from functools import lru_cache

from explainers.datasets.scenes.spelling import normalised_word

PHRASES = (
    (r"\bt least\b", "at least"),
    (r"^(?:there|the) (?:s|i|top|is as)\b|^(?:the is|there is as)\b|^there (?=\d)", "there is "),
    (r"\bgrey (?:box|square|rectangle)\b|\bsquare box\b", "box"),
    (r"\btower tower\b", "tower"),
    (r"\b(black|blue|yellow) (?:black|1\b(?! \w+ed))", r"\1 thing"),
    (r"\b(black|blue|yellow) on (?=top|base)", r"\1 thing on "),
    (r"\b(?:which|that|it|where|and|but) with\b", "with"),
    (r"\bwith with\b", "with"),
    (r"\b(?:closely|directly|right (?=above|below|on)|shape(?=$| ,))\b", ""),
    (r"\bon top of\b|\babove of\b", "above"),
    (r"\bout of\b", "of"),
    (r"\bin between\b", "between"),
    (r"\b(?:a|the|exactly \d) (\d) thing tower\b(?: (?:that|which))?(?: with)?", r"a tower with \1 thing with"),
    (r"\bwith(?: and)?(?= (?:and|where|which|of|the)\b)", "and"),
    (r"\bwith$", ""),
    (r"\b(?:exactly a|a exactly|exactly) (?=\d)", "exactly "),
    (r"\ba (?=\d)", ""),
    (r"\bat least (?:exactly )?(\d+)", r"\1+"),
    (r"\bat least a\b", "1+"),
    (r"\bat most (\d+)", r"\1-"),
    (r"\b(\d) (thing|(?:black|blue|yellow) thing) at most\b", r"\1- \2"),
    (r"\b(?:not more|no more) than (\d+)", r"\1-"),
    (r"\b(?:1|a) other\b", "another"),
    (r"\bmore than 1\b", "2+"),
    (r"\bmore than 2\b", "3+"),
    (r"\bmore than 3\b", "4+"),
    (r"\bless than 2\b", "1-"),
    (r"\bless than 3\b", "2-"),
    (r"\bless than 4\b", "3-"),
    (r"\b(?:multiple|a lot of|lot of)\b", "2+"),
    (r"\bwithout a?\b", "with no"),
    (r"\b(?:do|does) not touching\b", "is not touching"),
)


@lru_cache(maxsize=4096)
def normalised_words(sentence: str) -> tuple[str, ...]:
    """The statement's words in one spelling and in the singular; bounds as "2+" and "2-"."""
    lower = re.sub(r"^(?=ll )", "a", re.sub(r"^(?=t least)", "a", sentence.lower().strip()))
    raw = re.findall(r"[a-z]+|\d+|,", lower)
    text = " ".join(normalised_word(word) for word in raw)
    for pattern, new in PHRASES:
        text = re.sub(r"\s+", " ", re.sub(pattern, new, text)).strip()
    return tuple(text.split())
