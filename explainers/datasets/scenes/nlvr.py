"""NLVR (Suhr et al., 2017): what people said about pictures of three boxes, and whether it is true there.

Somebody saw four pictures and wrote a sentence that should be true of the first two (numbers 0 and 1) and false of the
others; then other people judged it on each picture, and these are the labels. They err about once in twenty times.
"""

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
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
MOST = 0.7  # of a sentence's labels, which are four for most sentences
Row = tuple[Example, int]  # with the label that the writer intended
IMAGE = re.compile(r"images/[\w-]+\.png")  # nothing that leads out of the folder


@dataclass(frozen=True)
class Nlvr:
    """The parts as published. No two share a picture."""

    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    intended: tuple[int, ...] = ()  # the labels that the writers of `train` meant


def read(folder: Path) -> Nlvr:
    """From a folder that holds train, dev and test, each as a .tar.gz file or unpacked."""
    train, dev, test = (_split(folder, split) for split in SPLITS)
    return Nlvr(_examples(train), _examples(dev), _examples(test), tuple(label for _, label in train))


def bank(rows: Sequence[Example], intended: Sequence[int] = ()) -> tuple[tuple[str, Statement], ...]:
    """The distinct sentences that are understood so that all their labels fit.

    With the writers' `intended` labels, all of these and `MOST` of the published ones are enough.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row.text].append(place)
    found = []
    for text, of_text in places.items():
        meaning = understood(text)
        judged = [label_of(meaning, rows[place]) for place in of_text] if meaning else []
        fits = sum(label == rows[place].label for label, place in zip(judged, of_text, strict=False))
        meant = bool(intended) and judged == [intended[place] for place in of_text]
        if meaning and (fits == len(judged) or (meant and fits >= MOST * len(judged))):
            found.append((text, meaning))
    return tuple(found)


def label_of(meaning: Statement, row: Example) -> int | None:
    """What the meaning says about the row's picture; None if that is no scene."""
    scene = scene_of(row.picture.pixels()) if row.picture else None
    return None if scene is None else meaning.judged(scene).label


def _examples(rows: tuple[Row, ...]) -> tuple[Example, ...]:
    return tuple(row for row, _ in rows)


def _split(folder: Path, split: str) -> tuple[Row, ...]:
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


def _rows(lines: Iterable[bytes], split: str, picture: Callable[[str], Picture]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            text, label, image = row["sentence"], LABELS[row["label"]], row["image"]
            intended = ENTAILMENT if row["id"][-2:] in ("-0", "-1") else CONTRADICTION
        except (ValueError, KeyError, TypeError) as error:
            wanted = "a JSON object with id, sentence, label (true or false) and image"
            raise DataUnavailable(f"{split}.jsonl, line {number}: expected {wanted}.") from error
        if not isinstance(text, str) or not isinstance(image, str) or not IMAGE.fullmatch(image):
            raise DataUnavailable(f"{split}.jsonl, line {number}: expected an image such as images/dev-1-0.png.")
        yield Example(text, label=label, picture=picture(image)), intended
