"""Parsing people's statements about images: from a sentence to its meaning, or to None if that is unclear.

The forms were collected from NLVR's training sentences (Suhr et al., 2017). Precision goes before coverage.
A plain number means "exactly"; "a" means at least one; blocks above each other are neighbours in a tower.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from explainers.datasets.scenes.conditions import Has, Kind, Next, Number, Only
from explainers.datasets.scenes.contents import conditions
from explainers.datasets.scenes.descriptions import RELATIONS, Conditions
from explainers.datasets.scenes.parser import NONE, SOME, ParseFailure, StatementParser
from explainers.datasets.scenes.statements import Boxes, Count, Every, Statement
from explainers.datasets.scenes.towers import ALL, ends_are, towers_are
from explainers.datasets.scenes.words import normalised_words


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
