"""Reading what is said about the colours in a box: "only black blocks", "three items of two different colours"."""

from explainers.datasets.scenes.descriptions import Conditions
from explainers.datasets.scenes.phrases import SOME, Reader, Unclear
from explainers.datasets.scenes.statements import Alike, Has, Hues, Kind, Number, Only, Within


def only_colours(reader: Reader) -> Conditions:
    """ "Only blue and black items"."""
    first = reader.takes("only")
    one = reader.colour()
    reader.takes("thing")
    reader.needs("and")
    reader.takes("only")
    other = reader.colour()
    reader.needs("thing", "colour thing", "colour")
    if not first:
        reader.needs("only")
    return (Within(frozenset({one, other})),)


def only(reader: Reader) -> Conditions:
    """ "Only blue blocks", "blocks of blue colour only"."""
    first = reader.takes("only")
    if reader.takes("thing of"):
        kind = Kind(reader.colour())
        reader.needs("colour")
    else:
        kind = reader.kind()
    if not first:
        reader.needs("only")
    return Has(Kind(), SOME), Only(kind)


def of_colours(reader: Reader) -> Conditions:
    """ "Three items of two different colours", "items of blue and black colour", "blocks of the same colour"."""
    number, kind = reader.item()
    link = reader.needs("of", "in", "with")
    reader.takes("exactly" if reader.sees("exactly 2") else "only")
    has: Conditions = (Has(kind, number),)
    quality = reader.tries(lambda: same(reader))
    if quality == "colour" and kind == Kind():
        return (*has, Hues(Number("exactly", 1)))
    if quality:
        return (Alike(kind, quality, number),)
    if reader.takes("1 colour"):
        return (*has, Hues(Number("exactly", 1)))
    if reader.takes("all 3 different colour", "all 3 colour", "all the 3 colour", "3 different colour", "3 colour"):
        return (*has, Hues(Number("exactly", 3)))
    if reader.takes("exactly 2 different colour", "2 different colour", "2 colour") or (
        link == "of" and number == Number("exactly", 2) and reader.takes("different colour")
    ):
        return (*has, Hues(Number("exactly", 2)))
    one = reader.colour()
    reader.needs("and")
    other = reader.colour()
    reader.needs("colour")
    reader.takes("only")
    return (*has, Within(frozenset({one, other})))


def same(reader: Reader) -> str:
    """The quality that things share."""
    reader.takes("the")
    reader.needs("same")
    return reader.needs("colour", "shape", "size")


def several_colours(reader: Reader) -> Conditions:
    """ "Two yellow, three blue and one black item": the noun comes last."""
    colours = [numbered_colour(reader)]
    while reader.takes(", and", ",", "and"):
        colours.append(numbered_colour(reader))
    if len(colours) == 1:
        raise Unclear
    reader.takes("colour")
    shape = reader.shape()
    return tuple(Has(Kind(colour, shape), number) for number, colour in colours)


def numbered_colour(reader: Reader) -> tuple[Number, str]:
    number = reader.number()
    return SOME if number is None else number, reader.colour()


def number_of_colours(reader: Reader) -> Conditions:
    reader.takes("all", "all the")
    number = reader.number()
    if number is None:
        raise Unclear
    reader.takes("different")
    reader.needs("colour")
    return Has(Kind(), SOME), Hues(number)
