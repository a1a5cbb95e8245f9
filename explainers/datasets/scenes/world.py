"""Scenes of NLVR's kind (Suhr et al., 2017): three boxes with towers of blocks, or with scattered things.

One box may be covered. What it holds is unknown, so some statements are then neither true nor false.
All positions are pixels from a box's left upper corner; a box is 100 × 100.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

COLOURS = ("black", "blue", "yellow")
SHAPES = ("triangle", "square", "circle")
SIZES = {"small": 10, "medium": 20, "big": 30}
BOXES = ("left", "middle", "right")
SIDE = 100  # of a box
BLOCK, STEP = 20, 21  # a tower's block, and the next one above it
NEAR = 3  # things that do not touch a wall are at least so far from it


@dataclass(frozen=True)
class Thing:
    """Something in box number `box`: its square from (left, top) has sides of `size`."""

    shape: str
    colour: str
    size: int
    left: int
    top: int
    box: int

    @property
    def walls(self) -> frozenset[str]:
        """The walls of its box that it touches."""
        touching = {
            "left": self.left == 0,
            "right": self.left + self.size == SIDE,
            "top": self.top == 0,
            "bottom": self.top + self.size == SIDE,
        }
        return frozenset(wall for wall, touches in touching.items() if touches)


@dataclass(frozen=True)
class Scene:
    """What is in the three boxes; `covered` is the number of the covered box."""

    things: tuple[Thing, ...]
    towers: bool
    covered: int | None = None

    def visible(self) -> tuple[Thing, ...]:
        return tuple(thing for thing in self.things if thing.box != self.covered)

    def box(self, number: int) -> tuple[Thing, ...]:
        return tuple(thing for thing in self.things if thing.box == number)


def random_scene(rng: random.Random, *, towers: bool, covered: bool) -> Scene:
    """A scene at random. Most have few things, so that there is something to count."""
    fill = tower if towers else scattered
    most = 4 if towers else rng.choice((3, 5, 7))
    things = tuple(thing for box in range(3) for thing in fill(rng, box, rng.randint(1, most)))
    return Scene(things, towers, rng.randrange(3) if covered else None)


def tower(rng: random.Random, box: int, height: int) -> Iterator[Thing]:
    """From the base to the top. Neighbours often have one colour."""
    colours = rng.sample(COLOURS, rng.choice((1, 2, 2, 3)))
    for level in range(height):
        yield Thing("square", rng.choice(colours), BLOCK, 40, SIDE - BLOCK - level * STEP, box)


def scattered(rng: random.Random, box: int, number: int) -> Iterator[Thing]:
    """Things that do not overlap; about two in five touch a wall."""
    taken: list[Thing] = []
    colours = rng.sample(COLOURS, rng.choice((1, 2, 3, 3)))
    for _ in range(40 * number):
        if len(taken) == number:
            break
        size = rng.choice(tuple(SIZES.values()))
        left, top = (rng.randint(NEAR, SIDE - size - NEAR) for _ in range(2))
        if rng.random() < 0.4:
            left = rng.choice((left, 0, SIDE - size, SIDE - size))
            top = rng.choice((top, 0, SIDE - size, SIDE - size))
        new = Thing(rng.choice(SHAPES), rng.choice(colours), size, left, top, box)
        if all(apart(new, other) for other in taken):
            taken.append(new)
    yield from taken


def apart(one: Thing, other: Thing) -> bool:
    """Return whether two things of a box leave a pixel between them."""
    return (
        one.left + one.size < other.left
        or other.left + other.size < one.left
        or one.top + one.size < other.top
        or other.top + other.size < one.top
    )
