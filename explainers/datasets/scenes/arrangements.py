"""Parsing how things are arranged: "a blue block over a black one", "the top is yellow", "stacked together"."""

from dataclasses import replace

from explainers.datasets.scenes.conditions import Condition, Has, Kind, Level, Next, Number, Stacked
from explainers.datasets.scenes.descriptions import RELATIONS, Conditions
from explainers.datasets.scenes.parser import SOME, ParseFailure, StatementParser

LEVELS = {"base": 1, "first": 1, "second": 2, "third": 3, "middle": 0, "top": -1}


def base_and_top(parser: StatementParser) -> Conditions:
    """ "A yellow block at the base and top"."""
    number, kind = parser.item()
    parser.expect(
        "at the base and top", "at the top and base", "at the top and at the base", "at the base and at the top"
    )
    return Has(replace(kind, location="bottom"), number), Has(replace(kind, location="peak"), number)


def level(parser: StatementParser) -> Conditions:
    """ "A blue block in the middle"."""
    parser.accept("a", "exactly 1", "1")
    kind = parser.kind()
    if parser.accept("in the middle of it", "in the middle", "as a middle thing"):
        return (Level(0, kind),)
    parser.expect("as the second level", "as the second thing", "as second thing")
    return (Level(2, kind),)


def stacked(parser: StatementParser) -> Conditions:
    number, kind = parser.item()
    parser.expect("stacked together", "attached together", "attached with each other", "attached to each other")
    return (Stacked(kind, number),)


def relation(parser: StatementParser) -> Conditions:
    """ "A blue block over a black one"."""
    number, one = parser.item()
    parser.accept("which is", "that is", "is")
    word = RELATIONS[parser.expect(*RELATIONS)]
    parser.accept("a", "the", "1", "exactly 1", "a other")
    other = Kind(location="bottom") if parser.towers and parser.accept("base thing", "base") else parser.kind(bare=True)
    if number not in (SOME, Number("exactly", 1)):
        raise ParseFailure
    return (Next(one, word, other),)


def coloured_end(parser: StatementParser) -> Conditions:
    """ "A yellow top", "black base"."""
    parser.accept("a")
    colour = parser.colour()
    end = parser.expect("base", "top")
    return (Has(Kind(colour, location="bottom" if end == "base" else "peak"), SOME),)


def end_is(parser: StatementParser) -> Conditions:
    """ "The top is blue", "the top and base are black", "the second block from the base is yellow"."""
    parser.accept("the colour of the", "the", "a")
    ends = ends_named(parser)
    parser.expect("is")
    parser.accept("both", "all", "of")
    colour = parser.colour()
    parser.accept("in colour", "colour", "thing")
    return tuple(end(word, Kind(colour)) for word in ends)


def ends_named(parser: StatementParser) -> list[str]:
    """ "Base and second block from the base"."""
    words = [parser.expect(*LEVELS)]
    parser.accept("thing")
    while parser.accept("and the", "and"):
        words.append(parser.expect(*LEVELS))
        parser.accept("thing")
    parser.accept("from the base")
    return words


def end(word: str, kind: Kind) -> Condition:
    if word in ("base", "top"):
        return Has(replace(kind, location="bottom" if word == "base" else "peak"), SOME)
    return Level(LEVELS[word], kind)
