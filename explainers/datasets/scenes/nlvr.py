"""NLVR (Suhr et al., 2017): what people said about pictures of three boxes, and whether it is true there.

People wrote each sentence for some of the pictures and erred now and then, mostly about things that touch a wall.
"""

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.scenes.seeing import scene_of
from explainers.datasets.scenes.statements import CONTRADICTION, ENTAILMENT, Statement
from explainers.datasets.scenes.understanding import understood
from explainers.errors import DataUnavailable

SPLITS = ("train", "dev", "test")
LABELS = {"true": ENTAILMENT, "false": CONTRADICTION}
IMAGE = re.compile(r"images/[\w-]+\.png")  # nothing that leads out of the folder


@dataclass(frozen=True)
class Nlvr:
    """The parts as published. No two share a picture."""

    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]


def read(folder: Path) -> Nlvr:
    """From a folder that holds train, dev and test, each as a .tar.gz file or unpacked."""
    train, dev, test = (_split(folder, split) for split in SPLITS)
    return Nlvr(train, dev, test)


def bank(rows: Iterable[Example], *, agreement: float = 1.0) -> tuple[tuple[str, Statement], ...]:
    """The distinct sentences of the rows that are understood, and so that a share of `agreement` of their labels fits.

    A label fits if the meaning judges the row's picture so.
    """
    pictures: defaultdict[str, list[Example]] = defaultdict(list)
    for row in rows:
        pictures[row.text].append(row)
    meanings = ((text, understood(text)) for text in pictures)
    return tuple(
        (text, meaning)
        for text, meaning in meanings
        if meaning and sum(fits(meaning, row) for row in pictures[text]) >= agreement * len(pictures[text])
    )


def fits(meaning: Statement, row: Example) -> bool:
    """Whether the meaning, judged on the row's picture, gives the row's label."""
    scene = scene_of(row.picture.pixels()) if row.picture else None
    return scene is not None and meaning.judged(scene).label == row.label


def _split(folder: Path, split: str) -> tuple[Example, ...]:
    unpacked, packed = folder / split, folder / f"{split}.tar.gz"
    if (unpacked / f"{split}.jsonl").is_file():
        lines = (unpacked / f"{split}.jsonl").read_bytes().splitlines()
        return tuple(_rows(lines, split, lambda image: _lying(unpacked / image)))
    if not packed.is_file():
        raise DataUnavailable(f"{folder} holds neither {split}.tar.gz nor {split}/{split}.jsonl, which NLVR needs.")
    try:
        members = _members(packed)
        return tuple(_rows(members.pop(f"{split}.jsonl").splitlines(), split, lambda image: Picture(members[image])))
    except (OSError, EOFError, tarfile.TarError) as error:
        raise DataUnavailable(f"{packed} is damaged: {error}.") from error
    except KeyError as error:
        raise DataUnavailable(f"{packed} holds no {error.args[0]}.") from error


def _members(packed: Path) -> dict[str, bytes]:
    """The files of an archive, by their path below its folder."""
    with tarfile.open(packed) as archive:
        files = ((member, archive.extractfile(member)) for member in archive if member.isfile())
        return {member.name.partition("/")[2]: file.read() for member, file in files if file}


def _lying(path: Path) -> Picture:
    if not path.is_file():
        raise DataUnavailable(f"{path} is missing, which NLVR needs.")
    return Picture(path=path)


def _rows(lines: Iterable[bytes], split: str, picture: Callable[[str], Picture]) -> Iterator[Example]:
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            text, label, image = row["sentence"], LABELS[row["label"]], row["image"]
        except (ValueError, KeyError, TypeError) as error:
            wanted = "a JSON object with sentence, label (true or false) and image"
            raise DataUnavailable(f"{split}.jsonl, line {number}: expected {wanted}.") from error
        if not isinstance(text, str) or not isinstance(image, str) or not IMAGE.fullmatch(image):
            raise DataUnavailable(f"{split}.jsonl, line {number}: expected an image such as images/dev-1-0.png.")
        yield Example(text, label=label, picture=picture(image))
