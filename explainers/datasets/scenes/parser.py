"""A recursive-descent parser for the parts of a statement: numbers, kinds of things and descriptions of them,
locations."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from explainers.datasets.scenes.statements import Condition, Kind, Number
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES

SOME = Number("at least", 1)
NONE = Number("exactly", 0)
WALLS = ("wall", "base", "top", "corner")
Result = TypeVar("Result")
RELATIONS = {"above": "above", "on": "above", "below": "below"}
Conditions = tuple[Condition, ...]


class ParseFailure(Exception):
    """The next words are not the expected ones."""


@dataclass
class StatementParser:
    """The words of a statement and how far they have been read. What cannot be read raises `ParseFailure`."""

    words: tuple[str, ...]
    at: int = 0
    towers: bool = False

    @property
    def done(self) -> bool:
        return self.at == len(self.words)

    def next_is(self, phrase: str) -> bool:
        parts = tuple(phrase.split())
        return self.words[self.at : self.at + len(parts)] == parts

    def accept(self, *phrases: str) -> str | None:
        """Skips the first of these phrases that comes next, and returns it; None if none of them does."""
        for phrase in phrases:
            if self.next_is(phrase):
                self.at += len(phrase.split())
                return phrase
        return None

    def expect(self, *phrases: str) -> str:
        phrase = self.accept(*phrases)
        if phrase is None:
            raise ParseFailure
        return phrase

    def attempt(self, *alternatives: Callable[[], Result]) -> Result | None:
        """The result of the first alternative that succeeds; if none does, None and the position stays."""
        start = self.at
        for alternative in alternatives:
            with suppress(ParseFailure):
                return alternative()
            self.at = start
        return None

    def ends(self) -> None:
        if not self.done:
            raise ParseFailure

    def number(self) -> Number | None:
        """None if the next words are not a number."""
        if self.accept("no"):
            return NONE
        exact = self.accept("exactly", "only")
        word = self.words[self.at] if not self.done else ""
        bound = re.fullmatch(r"(\d)([+-]?)", word)
        if bound:
            self.at += 1
            return Number({"+": "at least", "-": "at most"}.get(bound[2], "exactly"), int(bound[1]))
        if exact:
            raise ParseFailure
        return SOME if self.accept("a", "the") else None

    def colour(self) -> str:
        return self.expect(*COLOURS)

    def shape(self) -> str | None:
        """None for "thing"."""
        return None if self.accept("thing") else self.expect(*SHAPES)

    def kind(self, *, bare: bool = False) -> Kind:
        """ "Small blue square touching the wall"; with `bare` the noun may be missing after a colour."""
        size = self.accept(*SIZES)
        colour = self.accept(*COLOURS)
        size = size or self.accept(*SIZES)
        self.accept("colour")
        if bare and colour and not any(self.next_is(noun) for noun in ("thing", *SHAPES)):
            shape = None
        else:
            shape = self.shape()
            self.accept("thing")
        if self.accept("of medium size"):
            size = "medium"
        link = self.accept("of", "which is of", "which is", "that is of", "that is", "is", "in")
        if link and colour is None and any(self.next_is(colour) for colour in COLOURS) and not self.sees_mixture():
            colour = self.colour()
            self.accept("in colour", "colour")
            if self.next_is("only"):
                raise ParseFailure
        elif link:
            self.at -= len(link.split())
        return self.placed(Kind(colour, shape, size))

    def sees_mixture(self) -> bool:
        return self.at + 1 < len(self.words) and self.words[self.at + 1] in ("and", "or", ",")

    def placed(self, kind: Kind) -> Kind:
        location = self.attempt(self.location)
        return kind if location is None else Kind(kind.colour, kind.shape, kind.size, *location)

    def location(self) -> tuple[str, bool]:
        """ "(Not) touching the wall", "at the base": the location, and whether it is negated."""
        self.accept("which is", "that is", "is")
        apart = self.accept("not") is not None
        if self.accept("touching"):
            location = self.wall()
        elif self.accept("at", "on", "as", "in"):
            self.accept("the", "a", "its")
            location = self.wall()
            if location in ("wall", "left", "right"):
                raise ParseFailure
            location = "peak" if location == "top" else location
        else:
            raise ParseFailure
        location = "peak" if location == "top" and self.towers else location
        self.accept("of the box", "of a box", "of box", "of it", "of the square", "of a square")
        return location, apart

    def wall(self) -> str:
        self.accept("the any", "the", "a box", "a", "any", "its", "box")
        side = self.accept("left", "right", "base", "top")
        location = self.accept("wall", "corner", "base", "top") if side else self.expect(*WALLS)
        self.accept("thing")
        if side and location == "corner":
            raise ParseFailure
        named = side or location or ""
        return "bottom" if named == "base" else named

    def item(self, *, bare: bool = False) -> tuple[Number, Kind]:
        """ "At least two blue squares"; without a number there is at least one."""
        number = self.number()
        return SOME if number is None else number, self.kind(bare=bare)


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
