"""Drawing a scene like NLVR's images: 400 × 100, boxes of 100 with strips of 50 between them."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from explainers.datasets.scenes.world import SIDE, Scene, Thing

WIDTH, HEIGHT = 400, 100
LEFTS = (0, 150, 300)  # where the boxes begin
PAPER, STRIP = (211, 211, 211), (128, 128, 128)
INKS = {"black": (0, 0, 0), "blue": (0, 153, 255), "yellow": (255, 255, 0)}
COVER, STRIPE = (96, 72, 48), (160, 128, 96)

Pixels = NDArray[np.uint8]


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
