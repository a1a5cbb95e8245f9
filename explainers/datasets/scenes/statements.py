"""Statements about a scene and the conditions in them: whether they are true, and which things decide it.

A covered box may hold anything or nothing. A statement is entailed if it holds whatever is under the cover,
contradicted if it cannot hold, and neutral otherwise.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from explainers.datasets.scenes.world import SIZES, Scene, Thing

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)


@dataclass(frozen=True)
class Number:
    """A condition on a count: "exactly" 2, "at least" 2, "at most" 2."""

    how: str
    n: int

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest count that meets the condition."""
        return 0 if self.how == "at most" else self.n, inf if self.how == "at least" else self.n

    def met(self, count: int) -> bool:
        return self.ends[0] <= count <= self.ends[1]

    def judge(self, low: float, high: float) -> int:
        """The label for a count of which only the bounds are known."""
        first, last = self.ends
        if first <= low and high <= last:
            return ENTAILMENT
        return CONTRADICTION if high < first or low > last else NEUTRAL


@dataclass(frozen=True)
class Kind:
    """A description of things. `location`: a wall ("left", …), "wall" for any, "corner", "peak" for a tower's top."""

    colour: str | None = None
    shape: str | None = None
    size: str | None = None
    location: str | None = None
    apart: bool = False  # not at that location

    def fits(self, thing: Thing, scene: Scene) -> bool:
        return (
            self.colour in (None, thing.colour)
            and self.shape in (None, thing.shape)
            and (self.size is None or SIZES[self.size] == thing.size)
            and (self.location is None or at(self.location, thing, scene) != self.apart)
        )

    def among(self, things: Sequence[Thing], scene: Scene) -> tuple[Thing, ...]:
        return tuple(thing for thing in things if self.fits(thing, scene))


def at(location: str, thing: Thing, scene: Scene) -> bool:
    if location == "peak":
        return thing.top == min(other.top for other in scene.box(thing.box))
    if location == "corner":
        return len(thing.walls & {"left", "right"}) == len(thing.walls & {"top", "bottom"}) == 1
    return bool(thing.walls) if location == "wall" else location in thing.walls


@dataclass(frozen=True)
class Has:
    """A condition on one box: so many things of a kind."""

    kind: Kind
    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len(self.kind.among(scene.box(number), scene)))

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return self.kind.among(scene.box(number), scene)


@dataclass(frozen=True)
class Only:
    """A condition on one box: all its things are of a kind."""

    kind: Kind

    def holds(self, number: int, scene: Scene) -> bool:
        return all(self.kind.fits(thing, scene) for thing in scene.box(number))

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return scene.box(number)


@dataclass(frozen=True)
class Hues:
    """A condition on one box: its things have so many different colours."""

    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len({thing.colour for thing in scene.box(number)}))

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return scene.box(number)


@dataclass(frozen=True)
class Next:
    """A condition on one box: a thing of one kind stands in a relation to one of another kind."""

    one: Kind
    relation: str  # "above", "below", "left", "right"; in towers "above" and "below" are direct neighbours
    other: Kind

    def holds(self, number: int, scene: Scene) -> bool:
        return bool(self.witnesses(number, scene))

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        things = scene.box(number)
        pairs = (
            (one, other)
            for one in self.one.among(things, scene)
            for other in self.other.among(things, scene)
            if related(one, self.relation, other, scene)
        )
        return tuple(dict.fromkeys(thing for pair in pairs for thing in pair))


def related(one: Thing, relation: str, other: Thing, scene: Scene) -> bool:
    """Clear of each other in that direction."""
    if relation in ("below", "right"):
        one, other = other, one
    if relation in ("above", "below"):
        gap = other.top - (one.top + one.size)
        return 0 < gap <= 1 if scene.towers else gap >= 0
    return one.left + one.size <= other.left


@dataclass(frozen=True)
class Within:
    """A condition on one box: its things have these colours, each of them, and no others."""

    colours: frozenset[str]

    def holds(self, number: int, scene: Scene) -> bool:
        return {thing.colour for thing in scene.box(number)} == self.colours

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return scene.box(number)


@dataclass(frozen=True)
class Level:
    """A condition on a tower: its block number `level` from the base is of a kind; -1 is the top, 0 the middle."""

    level: int
    kind: Kind

    def holds(self, number: int, scene: Scene) -> bool:
        blocks = self.witnesses(number, scene)
        return bool(blocks) and self.kind.fits(blocks[0], scene)

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        blocks = sorted(scene.box(number), key=lambda thing: -thing.top)
        if self.level == 0:
            return (blocks[len(blocks) // 2],) if len(blocks) % 2 else ()
        index = self.level - 1 if self.level > 0 else self.level + len(blocks)
        return (blocks[index],) if 0 <= index < len(blocks) else ()


@dataclass(frozen=True)
class Stacked:
    """A condition on a tower: so many of its blocks, one upon the other, are of a kind."""

    kind: Kind
    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len(self.witnesses(number, scene)))

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        """The longest row of such blocks."""
        longest: tuple[Thing, ...] = ()
        row: tuple[Thing, ...] = ()
        for thing in sorted(scene.box(number), key=lambda thing: -thing.top):
            row = (*row, thing) if self.kind.fits(thing, scene) else ()
            longest = max(longest, row, key=len)
        return longest


@dataclass(frozen=True)
class Alike:
    """A condition on one box: so many things of a kind share their "colour", "shape" or "size"."""

    kind: Kind
    quality: str
    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len(self.witnesses(number, scene)))

    def witnesses(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        """The largest group."""
        groups: dict[object, tuple[Thing, ...]] = {}
        for thing in self.kind.among(scene.box(number), scene):
            value = getattr(thing, self.quality)
            groups[value] = (*groups.get(value, ()), thing)
        return max(groups.values(), key=len, default=())


Condition = Has | Only | Hues | Next | Within | Level | Stacked | Alike


@dataclass(frozen=True)
class Judgement:
    """`things` decide the label; `boxes` are those that were counted; `count` is what was counted."""

    label: int
    things: tuple[Thing, ...]
    count: int
    boxes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Count:
    """ "There are exactly three yellow squares." """

    kind: Kind
    number: Number

    def judgement(self, scene: Scene) -> Judgement:
        matches = self.kind.among(scene.visible(), scene)
        high = len(matches) if scene.covered is None else inf
        return Judgement(self.number.judge(len(matches), high), matches, len(matches))


@dataclass(frozen=True)
class Boxes:
    """ "There are at least two boxes with a yellow square and no circle." """

    conditions: tuple[Condition, ...]
    number: Number

    def judgement(self, scene: Scene) -> Judgement:
        open_ones = [number for number in range(3) if number != scene.covered]
        good = [box for box in open_ones if all(condition.holds(box, scene) for condition in self.conditions)]
        high = len(good) + (scene.covered is not None)
        bad = [box for box in open_ones if box not in good]
        deciding = bad if self.number == Number("exactly", 3) and bad else good
        things = tuple(
            dict.fromkeys(
                thing for box in deciding for condition in self.conditions for thing in condition.witnesses(box, scene)
            )
        )
        return Judgement(self.number.judge(len(good), high), things, len(good), tuple(deciding))


@dataclass(frozen=True)
class Every:
    """ "All", "no" or "not all" things of a kind are of another kind too; at least one of them is visible."""

    quantifier: str
    kind: Kind
    predicate: Kind

    def judgement(self, scene: Scene) -> Judgement:
        matches = self.kind.among(scene.visible(), scene)
        good = self.predicate.among(matches, scene)
        against = good if self.quantifier == "no" else tuple(thing for thing in matches if thing not in good)
        if against:
            label = ENTAILMENT if self.quantifier == "not all" else CONTRADICTION
        elif scene.covered is not None:
            label = NEUTRAL
        else:
            label = CONTRADICTION if self.quantifier == "not all" else ENTAILMENT
        return Judgement(label, against or matches, len(matches))


@dataclass(frozen=True)
class Unanswerable:
    """Something that no image of this kind shows, such as what a square is made of."""

    kind: Kind
    quality: str

    def judgement(self, scene: Scene) -> Judgement:
        matches = self.kind.among(scene.visible(), scene)
        return Judgement(NEUTRAL, matches, len(matches))


Statement = Count | Boxes | Every | Unanswerable


KINDS = (
    ("all or none", r"\b(none|all|ll|every|each|both)\b"),
    ("sameness, colours of many", r"\b(same|different|colou?rs?|shapes?)\b"),
    (
        "relations",
        r"\b(above|over|on top of|on an?|below|bellow|under|underneath|beneath|between|stacked|attache?d?)\b",
    ),
    ("touching", r"\b(touch|touching|corner|wall|edge|side)\b"),
    ("base or top", r"\b(base|bottom|top|second|third|first|middle)\b"),
    ("several conditions", r"\b(box|boxes|tower|towers|square)\b.*\b(and|of which|including|but|,)\b"),
    ("boxes and towers", r"\b(box|boxes|tower|towers|gr[ae]y squares?)\b"),
    ("counting things", r"\b(blocks?|items?|objects?|squares?|circles?|triangles?)\b"),
)
OTHER = "other"
NAMES = (*(name for name, _ in KINDS), OTHER)


def kind_of(sentence: str) -> str:
    """One of `NAMES`: the first whose words the sentence has."""
    lower = sentence.lower()
    return next((name for name, words in KINDS if re.search(words, lower)), OTHER)
