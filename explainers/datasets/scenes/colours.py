"""Parsing statements about the colours in a box: "only black blocks", "three items of two different colours"."""

from explainers.datasets.scenes.conditions import Alike, Has, Hues, Kind, Number, Only, Within
from explainers.datasets.scenes.descriptions import Conditions
from explainers.datasets.scenes.parser import SOME, ParseFailure, StatementParser


def only_colours(parser: StatementParser) -> Conditions:
    """ "Only blue and black items"."""
    first = parser.accept("only")
    one = parser.colour()
    parser.accept("thing")
    parser.expect("and")
    parser.accept("only")
    other = parser.colour()
    parser.expect("thing", "colour thing", "colour")
    if not first:
        parser.expect("only")
    return (Within(frozenset({one, other})),)


def only(parser: StatementParser) -> Conditions:
    """ "Only blue blocks", "blocks of blue colour only"."""
    first = parser.accept("only")
    if parser.accept("thing of"):
        kind = Kind(parser.colour())
        parser.expect("colour")
    else:
        kind = parser.kind()
    if not first:
        parser.expect("only")
    return Has(Kind(), SOME), Only(kind)


def of_colours(parser: StatementParser) -> Conditions:
    """ "Three items of two different colours", "items of blue and black colour", "blocks of the same colour"."""
    number, kind = parser.item()
    link = parser.expect("of", "in", "with")
    parser.accept("exactly" if parser.next_is("exactly 2") else "only")
    has: Conditions = (Has(kind, number),)
    quality = parser.attempt(lambda: same(parser))
    if quality == "colour" and kind == Kind():
        return (*has, Hues(Number("exactly", 1)))
    if quality:
        return (Alike(kind, quality, number),)
    if parser.accept("1 colour"):
        return (*has, Hues(Number("exactly", 1)))
    if parser.accept("all 3 different colour", "all 3 colour", "all the 3 colour", "3 different colour", "3 colour"):
        return (*has, Hues(Number("exactly", 3)))
    if parser.accept("exactly 2 different colour", "2 different colour", "2 colour") or (
        link == "of" and number == Number("exactly", 2) and parser.accept("different colour")
    ):
        return (*has, Hues(Number("exactly", 2)))
    one = parser.colour()
    parser.expect("and")
    other = parser.colour()
    parser.expect("colour")
    parser.accept("only")
    return (*has, Within(frozenset({one, other})))


def same(parser: StatementParser) -> str:
    """The quality that things share."""
    parser.accept("the")
    parser.expect("same")
    return parser.expect("colour", "shape", "size")


def several_colours(parser: StatementParser) -> Conditions:
    """ "Two yellow, three blue and one black item": the noun comes last."""
    colours = [numbered_colour(parser)]
    while parser.accept(", and", ",", "and"):
        colours.append(numbered_colour(parser))
    if len(colours) == 1:
        raise ParseFailure
    parser.accept("colour")
    shape = parser.shape()
    return tuple(Has(Kind(colour, shape), number) for number, colour in colours)


def numbered_colour(parser: StatementParser) -> tuple[Number, str]:
    number = parser.number()
    return SOME if number is None else number, parser.colour()


def number_of_colours(parser: StatementParser) -> Conditions:
    parser.accept("all", "all the")
    number = parser.number()
    if number is None:
        raise ParseFailure
    parser.accept("different")
    parser.expect("colour")
    return Has(Kind(), SOME), Hues(number)
