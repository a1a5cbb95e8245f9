"""Reading the parts of a statement from left to right: numbers, kinds of things, places, what a box has."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from explainers.datasets.scenes.statements import Kind, Number
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES

SOME = Number("at least", 1)
NONE = Number("exactly", 0)
WALLS = ("wall", "base", "top", "corner")
Found = TypeVar("Found")


class Unclear(Exception):
    """The words at this place are not what was looked for."""


@dataclass
class Reader:
    """The words of a statement and how far they have been read. What cannot be read raises `Unclear`."""

    words: tuple[str, ...]
    at: int = 0
    towers: bool = False

    @property
    def done(self) -> bool:
        return self.at == len(self.words)

    def sees(self, phrase: str) -> bool:
        parts = tuple(phrase.split())
        return self.words[self.at : self.at + len(parts)] == parts

    def takes(self, *phrases: str) -> str | None:
        """The first of the phrases that comes next, and goes past it."""
        for phrase in phrases:
            if self.sees(phrase):
                self.at += len(phrase.split())
                return phrase
        return None

    def needs(self, *phrases: str) -> str:
        found = self.takes(*phrases)
        if found is None:
            raise Unclear
        return found

    def tries(self, *readings: Callable[[], Found]) -> Found | None:
        """The first reading that goes through; without one nothing has been read."""
        start = self.at
        for reading in readings:
            with suppress(Unclear):
                return reading()
            self.at = start
        return None

    def ends(self) -> None:
        if not self.done:
            raise Unclear

    def number(self) -> Number | None:
        """None if the next words are no number."""
        if self.takes("no"):
            return NONE
        exact = self.takes("exactly", "only")
        word = self.words[self.at] if not self.done else ""
        bound = re.fullmatch(r"(\d)([+-]?)", word)
        if bound:
            self.at += 1
            return Number({"+": "at least", "-": "at most"}.get(bound[2], "exactly"), int(bound[1]))
        if exact:
            raise Unclear
        return SOME if self.takes("a", "the") else None

    def colour(self) -> str:
        return self.needs(*COLOURS)

    def shape(self) -> str | None:
        """None for "thing"."""
        return None if self.takes("thing") else self.needs(*SHAPES)

    def kind(self, *, bare: bool = False) -> Kind:
        """ "Small blue square touching the wall"; with `bare` the noun may be missing after a colour."""
        size = self.takes(*SIZES)
        colour = self.takes(*COLOURS)
        size = size or self.takes(*SIZES)
        self.takes("colour")
        if bare and colour and not any(self.sees(noun) for noun in ("thing", *SHAPES)):
            shape = None
        else:
            shape = self.shape()
            self.takes("thing")
        if self.takes("of medium size"):
            size = "medium"
        link = self.takes("of", "which is of", "which is", "that is of", "that is", "is", "in")
        if link and colour is None and any(self.sees(each) for each in COLOURS) and not self.sees_mixture():
            colour = self.colour()
            self.takes("in colour", "colour")
            if self.sees("only"):
                raise Unclear
        elif link:
            self.at -= len(link.split())
        return self.placed(Kind(colour, shape, size))

    def sees_mixture(self) -> bool:
        return self.at + 1 < len(self.words) and self.words[self.at + 1] in ("and", "or", ",")

    def placed(self, kind: Kind) -> Kind:
        found = self.tries(self.place)
        return kind if found is None else Kind(kind.colour, kind.shape, kind.size, *found)

    def place(self) -> tuple[str, bool]:
        """ "(Not) touching the wall", "at the base": the place, and whether it is denied."""
        self.takes("which is", "that is", "is")
        apart = self.takes("not") is not None
        if self.takes("touching"):
            place = self.wall()
        elif self.takes("at", "on", "as", "in"):
            self.takes("the", "a", "its")
            place = self.wall()
            if place in ("wall", "left", "right"):
                raise Unclear
            place = "peak" if place == "top" else place
        else:
            raise Unclear
        place = "peak" if place == "top" and self.towers else place
        self.takes("of the box", "of a box", "of box", "of it", "of the square", "of a square")
        return place, apart

    def wall(self) -> str:
        self.takes("the any", "the", "a box", "a", "any", "its", "box")
        side = self.takes("left", "right", "base", "top")
        place = self.takes("wall", "corner", "base", "top") if side else self.needs(*WALLS)
        self.takes("thing")
        if side and place == "corner":
            raise Unclear
        named = side or place or ""
        return "bottom" if named == "base" else named

    def item(self, *, bare: bool = False) -> tuple[Number, Kind]:
        """ "At least two blue squares"; without a number there is at least one."""
        number = self.number()
        return SOME if number is None else number, self.kind(bare=bare)
