"""The words of a statement about a scene, brought to one spelling: "Ther are atleast two Blocks" → there 2+ block.

Only meaning stays: what is not needed to tell statements apart ("closely", "exactly the") has gone.
"""

import re
from functools import lru_cache

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
KNOWN = frozenset(
    re.findall(
        r"\w+",
        """
        there black blue yellow block item object square circle triangle tower box touching exactly least
        most base bottom middle corner color colour which contain contains containing having with closely
        nearly edge wall side same different shape height number small medium above below under beneath
        second third first between every each stacked together attached multiple single where other another
        than more less roof right left both including only color either that have many total then from line
        them they size level rectangle colours items objects squares circles triangles towers boxes blocks
        colors corners walls edges shapes sizes numbers this their bases tops sides
        """,
    )
)
SINGULAR = {
    "boxes": "box",
    "squares": "square",
    "its": "its",
    "less": "less",
    "this": "this",
    "has": "has",
    "is": "is",
    "as": "as",
}
SPELLINGS = {
    "gray": "grey", "colored": "colour", "coloured": "colour", "color": "colour", "bellow": "below", "isa": "is a",
    "ablue": "a blue", "abox": "a box", "ble": "blue", "ad": "and", "ans": "and", "od": "of", "tow": "two",
    "bow": "box", "back": "black", "bo": "no", "wth": "with", "wih": "with", "al": "all", "object": "thing",
    "item": "thing", "block": "thing", "underneath": "below", "beneath": "below", "under": "below", "over": "above",
    "edge": "wall", "side": "wall", "line": "wall", "roof": "top", "bottom": "base", "has": "with", "have": "with",
    "having": "with", "contain": "with", "containing": "with", "are": "is", "being": "is", "single": "1",
    "just": "only", "every": "each", "fewer": "less", "an": "a", "atleast": "at least", "atmost": "at most",
    "adge": "wall", "egde": "wall", "ia": "is a", "ll": "all", "tleast": "at least", "lease": "least", "leats": "least",
    "lest": "least", "theer": "there", "stack": "stacked", "attach": "attached", "hte": "the", "touch": "touching",
    "touches": "touching", "ones": "thing", "big": "big", "large": "big", "contained": "with", "wirh": "with",
    "exacts": "exactly", "eactly": "exactly", "then": "than", "idle": "middle", "circ": "circle",
}  # fmt: skip
PHRASES = (
    (r"\bgrey (?:box|square|rectangle)\b|\bgrey box\b", "box"),
    (r"\b(?:which|that|it|where|and|but) with\b", "with"),
    (r"\bwith with\b", "with"),
    (r"\b(?:closely|directly|right (?=above|below|on)|shape(?=$| ,))\b", ""),
    (r"\bon top of\b", "above"),
    (r"\bout of\b", "of"),
    (r"\b(?:exactly a|a exactly|exactly) (?=\d)", "exactly "),
    (r"\ba (?=\d)", ""),
    (r"\bat least (?:exactly )?(\d+)", r"\1+"),
    (r"\bat least a\b", "1+"),
    (r"\bat most (\d+)", r"\1-"),
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
def words_of(sentence: str) -> tuple[str, ...]:
    """The statement's words in one spelling and in the singular; bounds as "2+" and "2-"."""
    lower = re.sub(r"^(?=ll )", "a", re.sub(r"^(?=t least)", "a", sentence.lower().strip()))
    raw = re.findall(r"[a-z]+|\d+|,", lower)
    text = " ".join(_spelt(word) for word in raw)
    for pattern, new in PHRASES:
        text = re.sub(r"\s+", " ", re.sub(pattern, new, text)).strip()
    return tuple(text.split())


@lru_cache(maxsize=4096)
def _spelt(word: str) -> str:
    if word not in KNOWN and word not in SPELLINGS and word not in NUMBERS and len(word) > 3:
        word = next((known for known in sorted(KNOWN) if len(known) > 3 and _near(word, known)), word)
    if word in NUMBERS:
        return str(NUMBERS.index(word))
    if word not in SPELLINGS and word.endswith("s") and (word in KNOWN or word in SINGULAR):
        word = SINGULAR.get(word, word[:-1])
    return SPELLINGS.get(word, word)


def _near(word: str, known: str) -> bool:
    """One letter missing, added, changed, or two neighbours exchanged."""
    if abs(len(word) - len(known)) > 1 or word == known:
        return word == known
    cut = range(len(word) + 1)
    shorter = {word[:i] + word[i + 1 :] for i in cut}
    other = {known[:i] + known[i + 1 :] for i in range(len(known) + 1)}
    return known in shorter or word in other or bool(shorter & other)
