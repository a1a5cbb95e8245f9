"""Reading what a box or a tower has: "two blue items and a circle", "only black blocks", "a blue over a black one"."""

from dataclasses import replace
from functools import partial

from explainers.datasets.scenes.phrases import NONE, SOME, Reader, Unclear
from explainers.datasets.scenes.statements import Condition, Has, Hues, Kind, Level, Next, Number, Only, Stacked, Within
from explainers.datasets.scenes.world import COLOURS

RELATIONS = {"above": "above", "on": "above", "below": "below"}
COUNTED = ("where", "and", ", with", ", and", ",", "with", "of which", "including", "but", "and with", "of")
Conditions = tuple[Condition, ...]


def conditions(reader: Reader) -> Conditions:
    """One or several, until nothing more can be read."""
    found = condition(reader)
    while True:
        start = reader.at
        reader.takes("and with", ", and", ", with", "and also", "and", ",", "with", "but with", "but", "including")
        if reader.at == start:
            return found
        more = reader.tries(partial(said_of_them, reader, found), partial(condition, reader))
        if more is None:
            reader.at = start
            return found
        found += more


def condition(reader: Reader) -> Conditions:
    found = reader.tries(
        lambda: only_colours(reader),
        lambda: only(reader),
        lambda: parts(reader),
        lambda: of_colours(reader),
        lambda: base_and_top(reader),
        lambda: level(reader),
        lambda: stacked(reader),
        lambda: relation(reader),
        lambda: several_colours(reader),
        lambda: number_of_colours(reader),
        lambda: counted(reader),
        lambda: coloured_end(reader),
    )
    if found is None:
        raise Unclear
    reader.takes("in it", "inside it", "inside")
    return found


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
    """ "Only blue blocks"."""
    first = reader.takes("only")
    kind = reader.kind()
    if not first:
        reader.needs("only")
    return Has(Kind(), SOME), Only(kind)


def parts(reader: Reader) -> Conditions:
    """ "Three items of which two are black and one is a circle"."""
    number, kind = reader.item()
    reader.needs("at most of which", "of which", "where", "and the")
    found: Conditions = (Has(kind, number),)
    while True:
        found += part(reader, kind)
        if not reader.takes("and"):
            return found


def part(reader: Reader, kind: Kind) -> Conditions:
    reader.takes("the", "there is")
    number = reader.number()
    if number is None:
        raise Unclear
    reader.takes("of them", "of the thing", "thing")
    reader.takes("is", "with")
    reader.takes("a", "in")
    colour, size = reader.takes(*COLOURS), None
    shape = reader.takes("triangle", "square", "circle", "thing")
    narrowed = reader.placed(Kind(colour, shape if shape != "thing" else None, size))
    if narrowed == Kind():
        raise Unclear
    return (Has(within(kind, narrowed), number),)


def within(kind: Kind, narrowed: Kind) -> Kind:
    said = {name: value for name, value in vars(narrowed).items() if value}
    return replace(kind, **said)


def of_colours(reader: Reader) -> Conditions:
    """ "Three items of two different colours", "items of blue and black colour", "blocks of the same colour"."""
    number, kind = reader.item()
    reader.needs("of", "in", "with")
    reader.takes("exactly")
    has: Conditions = (Has(kind, number),)
    if reader.takes("the same colour", "same colour", "1 colour"):
        return (*has, Hues(Number("exactly", 1)))
    if reader.takes("all 3 different colour", "all 3 colour", "all the 3 colour", "3 different colour", "3 colour"):
        return (*has, Hues(Number("exactly", 3)))
    if reader.takes("exactly 2 different colour", "2 different colour", "2 colour", "different colour"):
        return (*has, Hues(Number("exactly", 2)))
    reader.takes("only")
    one = reader.colour()
    reader.needs("and")
    other = reader.colour()
    reader.needs("colour")
    return (*has, Within(frozenset({one, other})))


def base_and_top(reader: Reader) -> Conditions:
    """ "A yellow block at the base and top"."""
    number, kind = reader.item()
    reader.needs("at the base and top", "at the top and base", "at both top and base", "at both base and top")
    return Has(replace(kind, place="bottom"), number), Has(replace(kind, place="peak"), number)


def level(reader: Reader) -> Conditions:
    """ "A blue block in the middle"."""
    reader.takes("a", "exactly 1", "1")
    kind = reader.kind()
    if reader.takes("in the middle of it", "in the middle", "as a middle thing"):
        return (Level(0, kind),)
    reader.needs("as the second level", "as the second thing", "as second thing")
    return (Level(2, kind),)


def stacked(reader: Reader) -> Conditions:
    number, kind = reader.item()
    reader.needs("stacked together", "attached together", "attached with each other", "attached to each other")
    return (Stacked(kind, number),)


def relation(reader: Reader) -> Conditions:
    """ "A blue block over a black one"."""
    number, one = reader.item()
    reader.takes("which is", "that is", "is")
    word = RELATIONS[reader.needs(*RELATIONS)]
    reader.takes("a", "the", "1", "exactly 1", "a other")
    other = Kind(place="bottom") if reader.towers and reader.takes("base thing", "base") else reader.kind(bare=True)
    if number not in (SOME, Number("exactly", 1)):
        raise Unclear
    return (Next(one, word, other),)


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


def counted(reader: Reader) -> Conditions:
    number = reader.number() or SOME
    start = reader.at
    described = reader.tries(lambda: of_all(reader))
    if described:
        general, kind = described
        return Has(general, number), Has(kind, number)
    reader.at = start
    kind = reader.kind()
    reader.takes("each")
    return (Has(kind, number),)


def of_all(reader: Reader) -> tuple[Kind, Kind]:
    """ "Items all of which are blue", "items that are blue": first what is counted, then what is said about it."""
    shape = reader.shape()
    reader.takes("all")
    reader.needs("of which is", "which is", "that is")
    reader.takes("of", "in", "a")
    colour = reader.takes(*COLOURS)
    reader.takes("in colour", "colour")
    reader.takes("thing")
    other = reader.takes("triangle", "square", "circle")
    if not (colour or other) or reader.sees("and"):
        raise Unclear
    return Kind(shape=shape), Kind(colour, other or shape)


def coloured_end(reader: Reader) -> Conditions:
    """ "A yellow top", "black base"."""
    reader.takes("a")
    colour = reader.colour()
    end = reader.needs("base", "top")
    return (Has(Kind(colour, place="bottom" if end == "base" else "peak"), SOME),)


def said_of_them(reader: Reader, found: Conditions) -> Conditions:
    """ "…one item and it is black": more about what was counted last."""
    last = found[-1]
    if not isinstance(last, Has) or last.number == NONE:
        raise Unclear
    reader.needs("it is", "they is all", "they is", "all is", "the colour is", "is")
    colour = reader.takes(*COLOURS)
    reader.takes("a")
    shape = reader.takes("triangle", "square", "circle")
    narrowed = reader.placed(Kind(colour, shape))
    if narrowed == Kind():
        raise Unclear
    return (Has(within(last.kind, narrowed), last.number),)
