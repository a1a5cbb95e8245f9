"""Normalising words as people type them: one spelling, the singular, and one of several synonyms."""

import re
from functools import lru_cache

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
VOCABULARY = frozenset(
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


@lru_cache(maxsize=4096)
def normalised_word(word: str) -> str:
    if word not in VOCABULARY and word not in SPELLINGS and word not in NUMBERS and len(word) > 3:
        word = next((each for each in sorted(VOCABULARY) if len(each) > 3 and _near(word, each)), word)
    if word in NUMBERS:
        return str(NUMBERS.index(word))
    if word not in SPELLINGS and word.endswith("s") and (word in VOCABULARY or word in SINGULAR):
        word = SINGULAR.get(word, word[:-1])
    return SPELLINGS.get(word, word)


def _near(word: str, correct: str) -> bool:
    """One letter missing, added, changed, or two neighbours exchanged."""
    if abs(len(word) - len(correct)) > 1 or word == correct:
        return word == correct
    cut = range(len(word) + 1)
    shorter = {word[:i] + word[i + 1 :] for i in cut}
    other = {correct[:i] + correct[i + 1 :] for i in range(len(correct) + 1)}
    return correct in shorter or word in other or bool(shorter & other)
