"""Recovering a scene from the pixels of an image like NLVR's, however it was drawn.

Colours are exact, so the ink of one colour in one box is cut into connected patches. A patch is one thing, or several
that touch: then the fewest shapes are sought whose sure ink lies in the patch and whose possible ink covers it.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from explainers.datasets.scenes.world import (
    BLOCK,
    HEIGHT,
    INKS,
    LEFTS,
    PAPER,
    SHAPES,
    SIDE,
    SIZES,
    STRIP,
    WIDTH,
    Pixels,
    Scene,
    Thing,
    lid,
)

MOST = 8  # things in a box
RIM = 0.22  # pixels by which drawing programs differ about a circle's radius

Mask = NDArray[np.bool_]
Piece = tuple[str, int, int, int]  # shape, size, left, top


def recover_scene(pixels: Pixels) -> Scene | None:
    """The exact things of the image, or None if it is not an image of this kind."""
    if pixels.shape != (HEIGHT, WIDTH, 3) or not _strips_are_there(pixels):
        return None
    boxes = [pixels[:, left : left + SIDE] for left in LEFTS]
    lids = [number for number, box in enumerate(boxes) if np.array_equal(box, lid())]
    things: list[Thing] = []
    for number, box in enumerate(boxes):
        in_box = [] if number in lids else _things_of(box, number)
        if in_box is None or len(lids) > 1:
            return None
        things += in_box
    towers = bool(things) and all((thing.shape, thing.size, thing.left) == ("square", BLOCK, 40) for thing in things)
    return Scene(tuple(things), towers, lids[0] if lids else None)


def _strips_are_there(pixels: Pixels) -> bool:
    between = np.ones(WIDTH, bool)
    for left in LEFTS:
        between[left : left + SIDE] = False
    return bool((pixels[:, between] == STRIP).all())


def _things_of(box: Pixels, number: int) -> list[Thing] | None:
    """The things of one box, or None if any ink belongs to none of them."""
    things = []
    paper = (box == PAPER) | (box == STRIP)  # NLVR's black circles have a few grey pixels on their rim
    unexplained = ~paper.all(axis=-1)  # (100, 100)
    for colour, ink in INKS.items():
        mask = (box == ink).all(axis=-1)
        unexplained &= ~mask
        patches, _ = ndimage.label(mask)
        for index, (rows, columns) in enumerate(ndimage.find_objects(patches), start=1):
            pieces = pieces_of(patches[rows, columns] == index)
            if pieces is None:
                return None
            for shape, size, left, top in pieces:
                things.append(Thing(shape, colour, size, columns.start + left, rows.start + top, number))
    if unexplained.any() or any(thing.left < 0 or thing.top < 0 for thing in things):
        return None
    return sorted(things, key=lambda thing: (thing.top, thing.left))


def pieces_of(patch: Mask) -> tuple[Piece, ...] | None:
    """The fewest shapes that make up a patch; places are from the patch's left upper corner."""
    pairs = tuple(product(SHAPES, SIZES.values()))
    alone = next((piece for pair in pairs for piece in _alone(patch, *pair)), None)
    if alone is not None:
        return (alone,)
    framed = np.pad(patch, 1)  # a triangle's first row has no ink
    sure = [(*pair, left, top) for pair in pairs for top, left in _places(framed, stamps_of(*pair)[0])]
    for most in range(2, MOST + 1):
        pieces = next(_covers(framed, framed, sure, most), None)
        if pieces is not None:
            return tuple((shape, size, left - 1, top - 1) for shape, size, left, top in pieces)
    return None


def _alone(patch: Mask, shape: str, size: int) -> Iterator[Piece]:
    """The shape if it is all of the patch; above a triangle there may be a row without ink."""
    empty_rows = size - patch.shape[0]
    if patch.shape[1] == size and 0 <= empty_rows <= 1:
        core, reach = stamps_of(shape, size)
        filled = np.pad(patch, ((empty_rows, 0), (0, 0)))
        if not (core & ~filled).any() and not (filled & ~reach).any():
            yield shape, size, 0, -empty_rows


def _places(patch: Mask, core: Mask) -> Iterator[tuple[int, int]]:
    """Top and left of every place where all of the core is ink."""
    if core.shape[0] > patch.shape[0] or core.shape[1] > patch.shape[1]:
        return
    windows = np.lib.stride_tricks.sliding_window_view(patch, core.shape)  # (tops, lefts, size, size)
    fits = (windows | ~core).all(axis=(2, 3))
    yield from ((int(top), int(left)) for top, left in np.argwhere(fits))


def _covers(patch: Mask, bare: Mask, sure: list[Piece], most: int) -> Iterator[tuple[Piece, ...]]:
    """Sets of at most `most` pieces that cover the `bare` ink; pieces may share no more than a seam of ink."""
    if not bare.any():
        yield ()
        return
    if most == 0:
        return
    row, column = np.argwhere(bare)[0]
    for shape, size, left, top in sorted(sure, key=lambda piece: -piece[1]):
        core, reach = stamps_of(shape, size)
        y, x = row - top, column - left
        if not (0 <= y < size and 0 <= x < size and reach[y, x]):
            continue
        window = bare[top : top + size, left : left + size]
        if (core & ~window).sum() > size:
            continue
        rest = bare.copy()
        rest[top : top + size, left : left + size] &= ~reach
        for others in _covers(patch, rest, sure, most - 1):
            yield ((shape, size, left, top), *others)


@lru_cache
def stamps_of(shape: str, size: int) -> tuple[Mask, Mask]:
    """(size, size) twice: where the shape has ink in every drawing, and where it may have some."""
    rows, columns = np.indices((size, size))
    across, down = columns + 0.5 - size / 2, rows + 0.5 - size / 2
    if shape == "square":
        return np.ones((size, size), bool), np.ones((size, size), bool)
    if shape == "circle":
        distance = np.hypot(across, down)
        return distance <= size / 2 - RIM, distance <= size / 2
    return np.abs(across) <= (rows - 1) / 2, np.abs(across) <= (rows + 2) / 2
