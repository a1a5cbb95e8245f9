"""Hateful Memes (Kiela et al., 2020): is a meme, image and words together, hateful? There are no explanations.

train.jsonl, dev_seen.jsonl, …   {"id": …, "img": "img/42953.png", "label": 0 or 1, "text": …} in every line;
                                 test files have no label; the folder of the images is the one that holds `img`
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explainers.datasets.example import Example
from explainers.datasets.images.annotation import (
    Annotated,
    ImageExamples,
    check_classes,
    checked_name,
    open_annotations,
    parse_json,
    with_images,
)
from explainers.errors import DataUnavailable

TITLE = "Hateful Memes"
LABELS = ("not hateful", "hateful")


def read_hateful_memes(annotations: Path, images: Path, labels: tuple[str, ...] = LABELS) -> ImageExamples:
    """`images` is the folder that holds `img`; a model may have the classes in another order."""
    check_classes(labels, LABELS, TITLE)
    return with_images(_memes(annotations, labels), annotations, images, labels)


def _memes(path: Path, labels: tuple[str, ...]) -> Iterator[Annotated]:
    with open_annotations(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                where = f"{path.name}, line {number}"
                row = _checked(parse_json(line.strip(), path, number), where)
                label = labels.index(LABELS[row["label"]]) if "label" in row else None
                yield (checked_name(row["img"], where),), Example(row["text"], label=label)


def _checked(row: Any, where: str) -> dict[str, Any]:
    texts = isinstance(row, dict) and all(isinstance(row.get(name), str) and row[name] for name in ("img", "text"))
    label = row.get("label", 0) if texts else None
    if type(label) is not int or label not in (0, 1):
        raise DataUnavailable(
            f"{where}: expected img, text and, unless it is a test file, label 0 or 1, got {repr(row)[:200]}."
        )
    return dict(row)
