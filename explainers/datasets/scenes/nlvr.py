"""NLVR (Suhr et al., 2017): people's statements about images of three boxes, and whether they are true.

A writer saw four images and wrote a sentence that should be true of the first two (numbers 0 and 1) and false of the
others; then other people judged it for each image, and these are the labels. About one in twenty is wrong.
"""

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.datasets.scenes.conditions import CONTRADICTION, ENTAILMENT
from explainers.datasets.scenes.scene_recovery import recover_scene
from explainers.datasets.scenes.statement_parser import parse_statement
from explainers.datasets.scenes.statements import Statement
from explainers.errors import DataUnavailable

SPLITS = ("train", "dev", "test")
LABELS = {"true": ENTAILMENT, "false": CONTRADICTION}
MOST = 0.7  # of a sentence's labels, which are four for most sentences
Row = tuple[Example, int]  # and the label that the writer intended
IMAGE = re.compile(r"images/[\w-]+\.png")  # nothing that leads out of the folder


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
