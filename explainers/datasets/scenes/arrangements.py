"""Reading how the things of a box stand: "a blue block over a black one", "the top is yellow", "stacked together"."""

from dataclasses import replace

from explainers.datasets.scenes.descriptions import RELATIONS, Conditions
from explainers.datasets.scenes.phrases import SOME, Reader, Unclear
from explainers.datasets.scenes.statements import Condition, Has, Kind, Level, Next, Number, Stacked

LEVELS = {"base": 1, "first": 1, "second": 2, "third": 3, "middle": 0, "top": -1}


def base_and_top(reader: Reader) -> Conditions:
    """ "A yellow block at the base and top"."""
    number, kind = reader.item()
    reader.needs(
        "at the base and top", "at the top and base", "at the top and at the base", "at the base and at the top"
    )
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


def coloured_end(reader: Reader) -> Conditions:
    """ "A yellow top", "black base"."""
    reader.takes("a")
    colour = reader.colour()
    end = reader.needs("base", "top")
    return (Has(Kind(colour, place="bottom" if end == "base" else "peak"), SOME),)


def end_is(reader: Reader) -> Conditions:
    """ "The top is blue", "the top and base are black", "the second block from the base is yellow"."""
    reader.takes("the colour of the", "the", "a")
    ends = ends_named(reader)
    reader.needs("is")
    reader.takes("both", "all", "of")
    colour = reader.colour()
    reader.takes("in colour", "colour", "thing")
    return tuple(end(word, Kind(colour)) for word in ends)


def ends_named(reader: Reader) -> list[str]:
    """ "Base and second block from the base"."""
    found = [reader.needs(*LEVELS)]
    reader.takes("thing")
    while reader.takes("and the", "and"):
        found.append(reader.needs(*LEVELS))
        reader.takes("thing")
    reader.takes("from the base")
    return found


def end(word: str, kind: Kind) -> Condition:
    if word in ("base", "top"):
        return Has(replace(kind, place="bottom" if word == "base" else "peak"), SOME)
    return Level(LEVELS[word], kind)
