"""NLVR (Suhr et al., 2017): people's statements about images of three boxes, and the scenes read off their pixels.

A writer saw four images and wrote a sentence that should be true of the first two (numbers 0 and 1) and false of the
others; then other people judged it for each image, and these are the labels. About one in twenty is wrong.

Colours are exact, so the ink of one colour in one box is cut into connected patches. A patch is one thing, or several
that touch: then the fewest shapes are sought whose sure ink lies in the patch and whose possible ink covers it.
"""

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes import world
from explainers.datasets.scenes.statement_parser import parse_statement
from explainers.datasets.scenes.statements import CONTRADICTION, ENTAILMENT, Statement
from explainers.errors import DataUnavailable

SPLITS = ("train", "dev", "test")
LABELS = {"true": ENTAILMENT, "false": CONTRADICTION}
MOST = 0.7  # of a sentence's labels, which are four for most sentences
Row = tuple[Example, int]  # and the label that the writer intended
IMAGE = re.compile(r"images/[\w-]+\.png")  # nothing that leads out of the folder
MOST_THINGS = 8  # things in a box
RIM = 0.22  # pixels by which drawing programs differ about a circle's radius

Mask = NDArray[np.bool_]
Piece = tuple[str, int, int, int]  # shape, size, left, top


@dataclass(frozen=True)
class Nlvr:
    """The parts as published. No two share an image."""

    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    intended: tuple[int, ...] = ()  # the labels that the writers of `train` intended


def read_nlvr(folder: Path) -> Nlvr:
    """From a folder that holds train, dev and test, each as a .tar.gz file or unpacked."""
    train, dev, test = (_split(folder, split) for split in SPLITS)
    return Nlvr(_examples(train), _examples(dev), _examples(test), tuple(label for _, label in train))


def bank(rows: Sequence[Example], intended: Sequence[int] = ()) -> tuple[tuple[str, Statement], ...]:
    """The distinct sentences that can be parsed, with a meaning that agrees with all their labels.

    With the writers' `intended` labels, it is enough that all of these and a share `MOST` of the published ones agree.
    """
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        numbers[row.text].append(number)
    statements = []
    for text, of_text in numbers.items():
        meaning = parse_statement(text)
        labels = [label_of(meaning, rows[number]) for number in of_text] if meaning else []
        fits = sum(label == rows[number].label for label, number in zip(labels, of_text, strict=False))
        as_intended = bool(intended) and labels == [intended[number] for number in of_text]
        if meaning and (fits == len(labels) or (as_intended and fits >= MOST * len(labels))):
            statements.append((text, meaning))
    return tuple(statements)


def label_of(meaning: Statement, row: Example) -> int | None:
    """The label of the row's image by this meaning; None if the image is not of a scene."""
    scene = recover_scene(row.image.pixels()) if row.image else None
    return None if scene is None else meaning.judgement(scene).label


def _examples(rows: tuple[Row, ...]) -> tuple[Example, ...]:
    return tuple(row for row, _ in rows)


def _split(folder: Path, split: str) -> tuple[Row, ...]:
    unpacked, packed = folder / split, folder / f"{split}.tar.gz"
    if (unpacked / f"{split}.jsonl").is_file():
        lines = (unpacked / f"{split}.jsonl").read_bytes().splitlines()
        return tuple(_rows(lines, split, lambda image: _on_disk(unpacked / image)))
    if not packed.is_file():
        raise DataUnavailable(f"{folder} holds neither {split}.tar.gz nor {split}/{split}.jsonl, which NLVR needs.")
    try:
        members = _members(packed)
        return tuple(_rows(members.pop(f"{split}.jsonl").splitlines(), split, lambda image: InputImage(members[image])))
    except (OSError, EOFError, tarfile.TarError) as error:
        raise DataUnavailable(f"{packed} is damaged: {error}.") from error
    except KeyError as error:
        raise DataUnavailable(f"{packed} holds no {error.args[0]}.") from error


def _members(packed: Path) -> dict[str, bytes]:
    """The files of an archive, by their path below its folder."""
    with tarfile.open(packed) as archive:
        files = ((member, archive.extractfile(member)) for member in archive if member.isfile())
        return {member.name.partition("/")[2]: file.read() for member, file in files if file}


def _on_disk(path: Path) -> InputImage:
    if not path.is_file():
        raise DataUnavailable(f"{path} is missing, which NLVR needs.")
    return InputImage(path=path)


def _rows(lines: Iterable[bytes], split: str, load_image: Callable[[str], InputImage]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            text, label, image = row["sentence"], LABELS[row["label"]], row["image"]
            intended = ENTAILMENT if row["id"][-2:] in ("-0", "-1") else CONTRADICTION
        except (ValueError, KeyError, TypeError) as error:
            expected = "a JSON object with id, sentence, label (true or false) and image"
            raise DataUnavailable(f"{split}.jsonl, line {number}: expected {expected}.") from error
        if not isinstance(text, str) or not isinstance(image, str) or not IMAGE.fullmatch(image):
            raise DataUnavailable(f"{split}.jsonl, line {number}: expected an image such as images/dev-1-0.png.")
        yield Example(text, label=label, image=load_image(image)), intended


def recover_scene(pixels: world.Pixels) -> world.Scene | None:
    """The exact things of the image, or None if it is not an image of this kind."""
    if pixels.shape != (world.HEIGHT, world.WIDTH, 3) or not _strips_are_there(pixels):
        return None
    boxes = [pixels[:, left : left + world.SIDE] for left in world.LEFTS]
    lids = [number for number, box in enumerate(boxes) if np.array_equal(box, world.lid())]
    things: list[world.Thing] = []
    for number, box in enumerate(boxes):
        in_box = [] if number in lids else _things_of(box, number)
        if in_box is None or len(lids) > 1:
            return None
        things += in_box
    towers = bool(things) and all(
        (thing.shape, thing.size, thing.left) == ("square", world.BLOCK, 40) for thing in things
    )
    return world.Scene(tuple(things), towers, lids[0] if lids else None)


def _strips_are_there(pixels: world.Pixels) -> bool:
    between = np.ones(world.WIDTH, bool)
    for left in world.LEFTS:
        between[left : left + world.SIDE] = False
    return bool((pixels[:, between] == world.STRIP).all())


def _things_of(box: world.Pixels, number: int) -> list[world.Thing] | None:
    """The things of one box, or None if any ink belongs to none of them."""
    things = []
    paper = (box == world.PAPER) | (box == world.STRIP)  # NLVR's black circles have a few grey pixels on their rim
    unexplained = ~paper.all(axis=-1)  # (100, 100)
    for colour, ink in world.INKS.items():
        mask = (box == ink).all(axis=-1)
        unexplained &= ~mask
        patches, _ = ndimage.label(mask)
        for index, (rows, columns) in enumerate(ndimage.find_objects(patches), start=1):
            pieces = pieces_of(patches[rows, columns] == index)
            if pieces is None:
                return None
            for shape, size, left, top in pieces:
                things.append(world.Thing(shape, colour, size, columns.start + left, rows.start + top, number))
    if unexplained.any() or any(thing.left < 0 or thing.top < 0 for thing in things):
        return None
    return sorted(things, key=lambda thing: (thing.top, thing.left))


def pieces_of(patch: Mask) -> tuple[Piece, ...] | None:
    """The fewest shapes that make up a patch; places are from the patch's left upper corner."""
    pairs = tuple(product(world.SHAPES, world.SIZES.values()))
    alone = next((piece for pair in pairs for piece in _alone(patch, *pair)), None)
    if alone is not None:
        return (alone,)
    framed = np.pad(patch, 1)  # a triangle's first row has no ink
    sure = [(*pair, left, top) for pair in pairs for top, left in _places(framed, stamps_of(*pair)[0])]
    for most in range(2, MOST_THINGS + 1):
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
