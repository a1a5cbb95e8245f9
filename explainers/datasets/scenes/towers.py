"""Reading sentences that begin with the towers or their ends: "the base of a tower with four blocks is black"."""

from explainers.datasets.scenes.arrangements import end, ends_named
from explainers.datasets.scenes.descriptions import Conditions
from explainers.datasets.scenes.phrases import SOME, Reader
from explainers.datasets.scenes.statements import Boxes, Has, Kind, Number, Only, Statement

ALL = Number("exactly", 3)


def ends_are(reader: Reader) -> Statement:
    """ "The second block from the base of a tower with four blocks is black"."""
    reader.takes("the")
    words = ends_named(reader)
    reader.needs("of")
    number, found = tower_named(reader)
    reader.needs("is")
    kind = Kind(reader.colour())
    return Boxes((*found, *(end(word, kind) for word in words)), number)


def tower_named(reader: Reader) -> tuple[Number, Conditions]:
    number = ALL if reader.takes("all the 3", "all the", "all", "the 3") else reader.number()
    reader.needs("tower")
    height = (reader.number(), reader.needs("thing")) if reader.takes("with") else (None, "")
    reader.takes("from the base", "and")
    return SOME if number is None else number, (Has(Kind(), height[0]),) if height[0] else ()


def towers_are(reader: Reader) -> Statement:
    """ "One of the three towers is blue", "two towers are yellow"."""
    number = ALL if reader.takes("all the 3", "all the", "all") else reader.number()
    reader.takes("of the 3", "of the")
    reader.needs("tower is")
    kind = Kind(reader.colour())
    return Boxes((Has(Kind(), SOME), Only(kind)), SOME if number is None else number)
