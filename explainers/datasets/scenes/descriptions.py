"""Parsing what describes a thing beside its noun: "black", "a small circle"; and the words for relations."""

from dataclasses import replace

from explainers.datasets.scenes.conditions import Condition, Kind
from explainers.datasets.scenes.parser import ParseFailure, StatementParser
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES

RELATIONS = {"above": "above", "on": "above", "below": "below"}
Conditions = tuple[Condition, ...]


def description(parser: StatementParser) -> Kind:
    """ "Black", "a small circle touching the wall"."""
    size = parser.accept(*SIZES)
    colour = parser.accept(*COLOURS)
    parser.accept("in colour", "colour")
    shape = parser.accept("thing", *SHAPES)
    kind = parser.placed(Kind(colour, None if shape == "thing" else shape, size))
    if kind == Kind() or any(parser.next_is(f"and {word}") for word in (*COLOURS, *SHAPES)):
        raise ParseFailure
    return kind


def within(kind: Kind, narrowed: Kind) -> Kind:
    """The things of the kind that the narrower description fits too."""
    narrower = {name: value for name, value in vars(narrowed).items() if value}
    return replace(kind, **narrower)
