"""Hateful Memes (Kiela et al., 2020): is a meme, picture and words together, hateful? Nobody said why.

train.jsonl, dev_seen.jsonl, …   {"id": …, "img": "img/42953.png", "label": 0 or 1, "text": …} in every line;
                                 test files have no label; the folder of the pictures is the one that holds `img`
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explainers.datasets.example import Example
from explainers.datasets.pictures.annotation import Annotated, Read, inside, opened, parsed, same_classes, with_pictures
from explainers.errors import DataUnavailable

TITLE = "Hateful Memes"
LABELS = ("not hateful", "hateful")


def read(annotations: Path, pictures: Path, labels: tuple[str, ...] = LABELS) -> Read:
    """`pictures` is the folder that holds `img`; a model may have the classes in another order."""
    same_classes(labels, LABELS, TITLE)
    return with_pictures(_memes(annotations, labels), annotations, pictures, labels)


def _memes(path: Path, labels: tuple[str, ...]) -> Iterator[Annotated]:
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                where = f"{path.name}, line {number}"
                row = _checked(parsed(line.strip(), path, number), where)
                label = labels.index(LABELS[row["label"]]) if "label" in row else None
                yield (inside(row["img"], where),), Example(row["text"], label=label)


def _checked(row: Any, where: str) -> dict[str, Any]:
    texts = isinstance(row, dict) and all(isinstance(row.get(name), str) and row[name] for name in ("img", "text"))
    label = row.get("label", 0) if texts else None
    if type(label) is not int or label not in (0, 1):
        raise DataUnavailable(
            f"{where}: expected img, text and, unless it is a test file, label 0 or 1, got {repr(row)[:200]}."
        )
    return dict(row)
