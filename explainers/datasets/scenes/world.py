"""Scenes of NLVR's kind (Suhr et al., 2017): three boxes with towers of blocks, or with scattered things.

One box may be covered. What it holds is unknown, so some statements are then neither true nor false.
All positions are pixels from a box's left upper corner; a box is 100 × 100. A scene is drawn like NLVR's images:
400 × 100, with strips of 50 between the boxes.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

COLOURS = ("black", "blue", "yellow")
SHAPES = ("triangle", "square", "circle")
SIZES = {"small": 10, "medium": 20, "big": 30}
BOXES = ("left", "middle", "right")
SIDE = 100  # of a box
BLOCK, STEP = 20, 21  # a tower's block, and the next one above it
NEAR = 3  # things that do not touch a wall are at least so far from it
WIDTH, HEIGHT = 400, 100
LEFTS = (0, 150, 300)  # where the boxes begin
PAPER, STRIP = (211, 211, 211), (128, 128, 128)
INKS = {"black": (0, 0, 0), "blue": (0, 153, 255), "yellow": (255, 255, 0)}
COVER, STRIPE = (96, 72, 48), (160, 128, 96)
Pixels = NDArray[np.uint8]


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


def draw(scene: Scene) -> Pixels:
    """(100, 400, 3)."""
    canvas = empty(scene.covered).copy()
    for thing in scene.visible():
        left, top, right, bottom = frame(thing)
        canvas[top:bottom, left:right][stamp(thing.shape, thing.size)] = INKS[thing.colour]
    return canvas


def frame(thing: Thing) -> tuple[int, int, int, int]:
    """Left, top, right and bottom (exclusive) in the whole image."""
    left = LEFTS[thing.box] + thing.left
    return left, thing.top, left + thing.size, thing.top + thing.size


def box_frame(number: int) -> tuple[int, int, int, int]:
    return LEFTS[number], 0, LEFTS[number] + SIDE, HEIGHT


@lru_cache
def empty(covered: int | None) -> Pixels:
    """(100, 400, 3): the boxes without things."""
    canvas = np.full((HEIGHT, WIDTH, 3), STRIP, np.uint8)
    for number, left in enumerate(LEFTS):
        canvas[:, left : left + SIDE] = lid() if number == covered else PAPER
    return canvas


@lru_cache
def stamp(shape: str, size: int) -> NDArray[np.bool_]:
    """(size, size): true where the shape has ink."""
    image = Image.new("1", (size, size), 1 if shape == "square" else 0)
    pen = ImageDraw.Draw(image)
    if shape == "circle":
        pen.ellipse((0, 0, size - 1, size - 1), fill=1)
    if shape == "triangle":
        pen.polygon(((0, size - 1), (size - 1, size - 1), ((size - 1) / 2, 0)), fill=1)
    return np.asarray(image)


@lru_cache
def lid() -> Pixels:
    """(100, 100, 3): the cover of a box, with slanting stripes."""
    rows, columns = np.indices((SIDE, SIDE))
    return np.where(((rows + columns) % 20 < 6)[:, :, None], STRIPE, COVER).astype(np.uint8)
