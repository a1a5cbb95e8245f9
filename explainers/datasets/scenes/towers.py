"""Parsing sentences that begin with the towers or their ends: "the base of a tower with four blocks is black"."""

from explainers.datasets.scenes.arrangements import end, ends_named
from explainers.datasets.scenes.conditions import Has, Kind, Number, Only
from explainers.datasets.scenes.descriptions import Conditions
from explainers.datasets.scenes.parser import SOME, StatementParser
from explainers.datasets.scenes.statements import Boxes, Statement

ALL = Number("exactly", 3)


def ends_are(parser: StatementParser) -> Statement:
    """ "The second block from the base of a tower with four blocks is black"."""
    parser.accept("the")
    words = ends_named(parser)
    parser.expect("of")
    number, conditions = tower_named(parser)
    parser.expect("is")
    kind = Kind(parser.colour())
    return Boxes((*conditions, *(end(word, kind) for word in words)), number)


def tower_named(parser: StatementParser) -> tuple[Number, Conditions]:
    number = ALL if parser.accept("all the 3", "all the", "all", "the 3") else parser.number()
    parser.expect("tower")
    height = (parser.number(), parser.expect("thing")) if parser.accept("with") else (None, "")
    parser.accept("from the base", "and")
    return SOME if number is None else number, (Has(Kind(), height[0]),) if height[0] else ()


def towers_are(parser: StatementParser) -> Statement:
    """ "One of the three towers is blue", "two towers are yellow"."""
    number = ALL if parser.accept("all the 3", "all the", "all") else parser.number()
    parser.accept("of the 3", "of the")
    parser.expect("tower is")
    kind = Kind(parser.colour())
    return Boxes((Has(Kind(), SOME), Only(kind)), SOME if number is None else number)
