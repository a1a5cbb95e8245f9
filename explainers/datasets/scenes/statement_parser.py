"""Parsing people's statements about images: from a sentence to its meaning, or to None if that is unclear.

The forms were collected from NLVR's training sentences (Suhr et al., 2017). Precision goes before coverage.
A plain number means "exactly"; "a" means at least one; blocks above each other are neighbours in a tower.

Normalising words as people type them: one spelling, the singular, and one of several synonyms.

Normalising the words of a statement about a scene: "Ther are atleast two Blocks" → there 2+ block.

What does not distinguish statements ("closely", "exactly the") is removed.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from explainers.datasets.scenes.contents import ALL, conditions, ends_are, towers_are
from explainers.datasets.scenes.parser import NONE, RELATIONS, SOME, Conditions, ParseFailure, StatementParser
from explainers.datasets.scenes.statements import Boxes, Count, Every, Has, Kind, Next, Number, Only, Statement

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
        word = next((known for known in sorted(VOCABULARY) if len(known) > 3 and _near(word, known)), word)
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


def parse_statement(sentence: str) -> Statement | None:
    """None if the sentence has none of the forms."""
    towers = bool(re.search(r"\b(tower|block|blick|blox)", sentence.lower()))
    parser = StatementParser(normalised_words(sentence), towers=towers)
    return parser.attempt(*(lambda form=form: _whole(form, parser) for form in FORMS))


def _whole(form: Callable[[StatementParser], Statement], parser: StatementParser) -> Statement:
    parsed = form(parser)
    parser.accept(",")
    parser.ends()
    return parsed


def about_boxes(parser: StatementParser) -> Statement:
    """ "There are two towers with a blue block", "One of the boxes has only squares"."""
    parser.accept("there is")
    number, parsed = boxes(parser)
    return Boxes(parsed, number)


def boxes(parser: StatementParser) -> tuple[Number, Conditions]:
    number = ALL if parser.accept("all the 3", "all 3", "all of the", "all the", "all", "each") else parser.number()
    parser.accept("the") if number is None else None
    if parser.accept("of the 3", "of the", "of 3") and number == Number("exactly", 1):
        number = SOME
    parsed = before_noun(parser)
    parser.expect("box", "tower")
    parser.accept(",")
    if parser.accept("with", "of", "where there is", "where") or not (parser.done and parsed):
        parsed += conditions(parser)
    if not parsed or (number is not None and number.n > 3):
        raise ParseFailure
    return SOME if number is None else number, parsed


def before_noun(parser: StatementParser) -> Conditions:
    """ "Blue" towers, "four blocks" towers."""
    start = parser.at
    colour = parser.accept("black", "blue", "yellow")
    if colour and (parser.next_is("tower") or parser.next_is("box")):
        return Has(Kind(), SOME), Only(Kind(colour))
    parser.at = start
    height = parser.attempt(parser.number)
    if height and parser.accept("thing") and parser.next_is("tower"):
        return (Has(Kind(), height),)
    parser.at = start
    return ()


def ends_of_towers(parser: StatementParser) -> Statement:
    """ "There are two black blocks as the base of a tower with three blocks"."""
    parser.expect("there is")
    number, kind = parser.item()
    if kind.location not in ("bottom", "peak"):
        raise ParseFailure
    parser.expect("of")
    towers, parsed = parser.attempt(lambda: boxes(parser), lambda: last_tower(parser)) or (NONE, ())
    if towers == NONE or (towers != SOME and number not in (SOME, Number("exactly", 1))):
        raise ParseFailure
    return Boxes((Has(kind, SOME), *parsed), towers if number == SOME else number)


def last_tower(parser: StatementParser) -> tuple[Number, Conditions]:
    number = parser.number()
    parser.expect("tower")
    return SOME if number is None else number, ()


def related(parser: StatementParser) -> Statement:
    """ "There is no yellow block above a black block"."""
    parser.accept("there is")
    number, one = parser.item()
    parser.accept("that is", "which is", "is")
    word = RELATIONS[parser.expect(*RELATIONS)]
    base = parser.accept("the base thing", "a base thing", "base thing")
    other_number, other = (SOME, Kind(location="bottom")) if base else parser.item(bare=True)
    if other_number not in (SOME, Number("exactly", 1)) or (number.n > 1):
        raise ParseFailure
    return Boxes((Next(one, word, other),), number)


def things_in_boxes(parser: StatementParser) -> Statement:
    """ "There is a black item in every box", "there are three objects in one grey box"."""
    parser.accept("there is")
    number, kind = parser.item()
    parser.expect("in")
    boxes_meant = ALL if parser.accept("each", "all the", "all", "all 3") else parser.number()
    parser.expect("box", "tower")
    if boxes_meant is None:
        raise ParseFailure
    return Boxes((Has(kind, number),), boxes_meant)


def about_things(parser: StatementParser) -> Statement:
    """ "There are exactly three yellow squares", "two small items are touching the wall"."""
    parser.accept("there is")
    number, kind = parser.item()
    return Count(kind, number)


def every_thing(parser: StatementParser) -> Statement:
    """ "None of the triangles are touching the edge", "all blue circles are touching a wall"."""
    word = parser.expect("none of the", "no", "all of the", "all the", "all", "each", "the")
    kind = parser.kind()
    if kind.location in (None, "peak"):
        raise ParseFailure
    bare = replace(kind, location=None, apart=False)
    return Every("no" if word in ("none of the", "no") else "all", bare, Kind(location=kind.location, apart=kind.apart))


FORMS = (about_boxes, ends_of_towers, related, things_in_boxes, every_thing, about_things, ends_are, towers_are)
