"""What is said of things beside their noun: "black", "a small circle"; and what relations are called."""

from dataclasses import replace

from explainers.datasets.scenes.phrases import Reader, Unclear
from explainers.datasets.scenes.statements import Condition, Kind
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES

RELATIONS = {"above": "above", "on": "above", "below": "below"}
Conditions = tuple[Condition, ...]


def description(reader: Reader) -> Kind:
    """ "Black", "a small circle touching the wall"."""
    size = reader.takes(*SIZES)
    colour = reader.takes(*COLOURS)
    reader.takes("in colour", "colour")
    shape = reader.takes("thing", *SHAPES)
    found = reader.placed(Kind(colour, None if shape == "thing" else shape, size))
    if found == Kind() or any(reader.sees(f"and {word}") for word in (*COLOURS, *SHAPES)):
        raise Unclear
    return found


def within(kind: Kind, narrowed: Kind) -> Kind:
    said = {name: value for name, value in vars(narrowed).items() if value}
    return replace(kind, **said)
