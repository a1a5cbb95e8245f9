"""What is said about a scene, whether it is so, and which things decide it.

A covered box may hold anything or nothing. A statement is entailed if it holds whatever is under the cover,
contradicted if it holds in no case, and neutral otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from explainers.datasets.scenes.world import SIZES, Scene, Thing

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}


@dataclass(frozen=True)
class Number:
    """A condition on a count: "exactly" 2, "at least" 2, "at most" 2."""

    how: str
    n: int

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest count that meets it."""
        return 0 if self.how == "at most" else self.n, inf if self.how == "at least" else self.n

    def met(self, count: int) -> bool:
        return self.ends[0] <= count <= self.ends[1]

    def judge(self, low: float, high: float) -> int:
        """For a count of which only its bounds are known."""
        first, last = self.ends
        if first <= low and high <= last:
            return ENTAILMENT
        return CONTRADICTION if high < first or low > last else NEUTRAL


@dataclass(frozen=True)
class Kind:
    """A description of things. `place`: a wall ("left", …), "wall" for any, "corner", "peak" for a tower's top."""

    colour: str | None = None
    shape: str | None = None
    size: str | None = None
    place: str | None = None
    apart: bool = False  # not at the place

    def fits(self, thing: Thing, scene: Scene) -> bool:
        return (
            self.colour in (None, thing.colour)
            and self.shape in (None, thing.shape)
            and (self.size is None or SIZES[self.size] == thing.size)
            and (self.place is None or at(self.place, thing, scene) != self.apart)
        )

    def among(self, things: Sequence[Thing], scene: Scene) -> tuple[Thing, ...]:
        return tuple(thing for thing in things if self.fits(thing, scene))


def at(place: str, thing: Thing, scene: Scene) -> bool:
    if place == "peak":
        return thing.top == min(other.top for other in scene.box(thing.box))
    if place == "corner":
        return len(thing.walls & {"left", "right"}) == len(thing.walls & {"top", "bottom"}) == 1
    return bool(thing.walls) if place == "wall" else place in thing.walls


@dataclass(frozen=True)
class Judged:
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

    def judged(self, scene: Scene) -> Judged:
        found = self.kind.among(scene.visible(), scene)
        high = len(found) if scene.covered is None else inf
        return Judged(self.number.judge(len(found), high), found, len(found))


@dataclass(frozen=True)
class Has:
    """A condition on one box: so many things of a kind."""

    kind: Kind
    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len(self.kind.among(scene.box(number), scene)))

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return self.kind.among(scene.box(number), scene)


@dataclass(frozen=True)
class Only:
    """A condition on one box: all its things are of a kind."""

    kind: Kind

    def holds(self, number: int, scene: Scene) -> bool:
        return all(self.kind.fits(thing, scene) for thing in scene.box(number))

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return scene.box(number)


@dataclass(frozen=True)
class Hues:
    """A condition on one box: its things have so many different colours."""

    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len({thing.colour for thing in scene.box(number)}))

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return scene.box(number)


@dataclass(frozen=True)
class Next:
    """A condition on one box: a thing of one kind stands in a relation to one of another kind."""

    one: Kind
    relation: str  # "above", "below", "left", "right"; in towers "above" and "below" are direct neighbours
    other: Kind

    def holds(self, number: int, scene: Scene) -> bool:
        return bool(self.shown_by(number, scene))

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
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

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        return scene.box(number)


@dataclass(frozen=True)
class Level:
    """A condition on a tower: its block number `level` from the base is of a kind; -1 is the top, 0 the middle."""

    level: int
    kind: Kind

    def holds(self, number: int, scene: Scene) -> bool:
        found = self.shown_by(number, scene)
        return bool(found) and self.kind.fits(found[0], scene)

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        blocks = sorted(scene.box(number), key=lambda thing: -thing.top)
        if self.level == 0:
            return (blocks[len(blocks) // 2],) if len(blocks) % 2 else ()
        place = self.level - 1 if self.level > 0 else self.level + len(blocks)
        return (blocks[place],) if 0 <= place < len(blocks) else ()


@dataclass(frozen=True)
class Stacked:
    """A condition on a tower: so many of its blocks, one upon the other, are of a kind."""

    kind: Kind
    number: Number

    def holds(self, number: int, scene: Scene) -> bool:
        return self.number.met(len(self.shown_by(number, scene)))

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
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
        return self.number.met(len(self.shown_by(number, scene)))

    def shown_by(self, number: int, scene: Scene) -> tuple[Thing, ...]:
        """The largest group."""
        groups: dict[object, tuple[Thing, ...]] = {}
        for thing in self.kind.among(scene.box(number), scene):
            value = getattr(thing, self.quality)
            groups[value] = (*groups.get(value, ()), thing)
        return max(groups.values(), key=len, default=())


Condition = Has | Only | Hues | Next | Within | Level | Stacked | Alike


@dataclass(frozen=True)
class Boxes:
    """ "There are at least two boxes with a yellow square and no circle." """

    conditions: tuple[Condition, ...]
    number: Number

    def judged(self, scene: Scene) -> Judged:
        open_ones = [number for number in range(3) if number != scene.covered]
        good = [box for box in open_ones if all(each.holds(box, scene) for each in self.conditions)]
        high = len(good) + (scene.covered is not None)
        bad = [box for box in open_ones if box not in good]
        deciding = bad if self.number == Number("exactly", 3) and bad else good
        things = tuple(
            dict.fromkeys(thing for box in deciding for each in self.conditions for thing in each.shown_by(box, scene))
        )
        return Judged(self.number.judge(len(good), high), things, len(good), tuple(deciding))


@dataclass(frozen=True)
class Every:
    """ "All", "no" or "not all" things of a kind are of another kind too; there is one at least that can be seen."""

    quantifier: str
    kind: Kind
    is_so: Kind

    def judged(self, scene: Scene) -> Judged:
        found = self.kind.among(scene.visible(), scene)
        good = self.is_so.among(found, scene)
        against = good if self.quantifier == "no" else tuple(thing for thing in found if thing not in good)
        if against:
            label = ENTAILMENT if self.quantifier == "not all" else CONTRADICTION
        elif scene.covered is not None:
            label = NEUTRAL
        else:
            label = CONTRADICTION if self.quantifier == "not all" else ENTAILMENT
        return Judged(label, against or found, len(found))


@dataclass(frozen=True)
class Unsaid:
    """Something that no picture of this kind shows, such as what a square is made of."""

    kind: Kind
    quality: str

    def judged(self, scene: Scene) -> Judged:
        found = self.kind.among(scene.visible(), scene)
        return Judged(NEUTRAL, found, len(found))


Statement = Count | Boxes | Every | Unsaid
Judge = Callable[[Scene], Judged]
