"""Understanding what people said about a picture: from a sentence to its meaning, or to None where that is unclear.

The forms were collected from NLVR's training sentences (Suhr et al., 2017). Precision goes before coverage.
A plain number means "exactly"; "a" means at least one; blocks above each other are neighbours in a tower.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from explainers.datasets.scenes.contents import conditions
from explainers.datasets.scenes.descriptions import RELATIONS, Conditions
from explainers.datasets.scenes.phrases import NONE, SOME, Reader, Unclear
from explainers.datasets.scenes.statements import Boxes, Count, Every, Has, Kind, Next, Number, Only, Statement
from explainers.datasets.scenes.towers import ALL, ends_are, towers_are
from explainers.datasets.scenes.words import words_of


def understood(sentence: str) -> Statement | None:
    """None if the sentence is of no known form."""
    towers = bool(re.search(r"\b(tower|block|blick|blox)", sentence.lower()))
    reader = Reader(words_of(sentence), towers=towers)
    return reader.tries(*(lambda form=form: _whole(form, reader) for form in FORMS))


def _whole(form: Callable[[Reader], Statement], reader: Reader) -> Statement:
    found = form(reader)
    reader.takes(",")
    reader.ends()
    return found


def about_boxes(reader: Reader) -> Statement:
    """ "There are two towers with a blue block", "One of the boxes has only squares"."""
    reader.takes("there is")
    number, found = boxes(reader)
    return Boxes(found, number)


def boxes(reader: Reader) -> tuple[Number, Conditions]:
    number = ALL if reader.takes("all the 3", "all 3", "all of the", "all the", "all", "each") else reader.number()
    reader.takes("the") if number is None else None
    if reader.takes("of the 3", "of the", "of 3") and number == Number("exactly", 1):
        number = SOME
    found = before_noun(reader)
    reader.needs("box", "tower")
    reader.takes(",")
    if reader.takes("with", "of", "where there is", "where") or not (reader.done and found):
        found += conditions(reader)
    if not found or (number is not None and number.n > 3):
        raise Unclear
    return SOME if number is None else number, found


def before_noun(reader: Reader) -> Conditions:
    """ "Blue" towers, "four blocks" towers."""
    start = reader.at
    colour = reader.takes("black", "blue", "yellow")
    if colour and (reader.sees("tower") or reader.sees("box")):
        return Has(Kind(), SOME), Only(Kind(colour))
    reader.at = start
    height = reader.tries(reader.number)
    if height and reader.takes("thing") and reader.sees("tower"):
        return (Has(Kind(), height),)
    reader.at = start
    return ()


def ends_of_towers(reader: Reader) -> Statement:
    """ "There are two black blocks as the base of a tower with three blocks"."""
    reader.needs("there is")
    number, kind = reader.item()
    if kind.place not in ("bottom", "peak"):
        raise Unclear
    reader.needs("of")
    towers, found = reader.tries(lambda: boxes(reader), lambda: last_tower(reader)) or (NONE, ())
    if towers == NONE or (towers != SOME and number not in (SOME, Number("exactly", 1))):
        raise Unclear
    return Boxes((Has(kind, SOME), *found), towers if number == SOME else number)


def last_tower(reader: Reader) -> tuple[Number, Conditions]:
    number = reader.number()
    reader.needs("tower")
    return SOME if number is None else number, ()


def related(reader: Reader) -> Statement:
    """ "There is no yellow block above a black block"."""
    reader.takes("there is")
    number, one = reader.item()
    reader.takes("that is", "which is", "is")
    word = RELATIONS[reader.needs(*RELATIONS)]
    base = reader.takes("the base thing", "a base thing", "base thing")
    other_number, other = (SOME, Kind(place="bottom")) if base else reader.item(bare=True)
    if other_number not in (SOME, Number("exactly", 1)) or (number.n > 1):
        raise Unclear
    return Boxes((Next(one, word, other),), number)


def things_in_boxes(reader: Reader) -> Statement:
    """ "There is a black item in every box", "there are three objects in one grey box"."""
    reader.takes("there is")
    number, kind = reader.item()
    reader.needs("in")
    boxes_meant = ALL if reader.takes("each", "all the", "all", "all 3") else reader.number()
    reader.needs("box", "tower")
    if boxes_meant is None:
        raise Unclear
    return Boxes((Has(kind, number),), boxes_meant)


def about_things(reader: Reader) -> Statement:
    """ "There are exactly three yellow squares", "two small items are touching the wall"."""
    reader.takes("there is")
    number, kind = reader.item()
    return Count(kind, number)


def every_thing(reader: Reader) -> Statement:
    """ "None of the triangles are touching the edge", "all blue circles are touching a wall"."""
    word = reader.needs("none of the", "no", "all of the", "all the", "all", "each", "the")
    kind = reader.kind()
    if kind.place in (None, "peak"):
        raise Unclear
    bare = replace(kind, place=None, apart=False)
    return Every("no" if word in ("none of the", "no") else "all", bare, Kind(place=kind.place, apart=kind.apart))


FORMS = (about_boxes, ends_of_towers, related, things_in_boxes, every_thing, about_things, ends_are, towers_are)
