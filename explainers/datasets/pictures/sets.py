"""The published sets of pictures that can be read, each in one format; nothing is recognised by guessing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets.pictures import esnlive, hateful_memes, vqa_x
from explainers.datasets.pictures.annotation import Read
from explainers.errors import DataUnavailable


@dataclass(frozen=True)
class PictureSet:
    """`name` is what a person types; `asks` is what its texts are called; `pictures` is the folder to give.

    `classes` come from the annotation file of the training part, `read` asks for annotation file, folder and classes.
    """

    name: str
    title: str
    about: str
    source: str
    licence: str
    pictures: str
    asks: tuple[str, ...]
    classes: Callable[[Path], tuple[str, ...]]
    read: Callable[[Path, Path, tuple[str, ...]], Read]


SETS = (
    PictureSet(
        "esnlive",
        esnlive.TITLE,
        "does a picture entail a hypothesis, leave it open or contradict it, and why",
        "Do et al., 2021; Kayser et al., 2021: esnlive_train.csv, esnlive_dev.csv, esnlive_test.csv",
        "none is stated for the annotations; pictures of Flickr30k for non-commercial research and education",
        "the folder that holds Flickr30k's pictures, such as 4465359505.jpg",
        ("hypothesis",),
        lambda _training: esnlive.LABELS,
        esnlive.read,
    ),
    PictureSet(
        "hateful_memes",
        hateful_memes.TITLE,
        "is a meme hateful; nobody said why",
        "Kiela et al., 2020: train.jsonl, dev_seen.jsonl, test_seen.jsonl and the like",
        "the licence of Meta's challenge: research only, not to be passed on",
        "the folder that holds img",
        ("text",),
        lambda _training: hateful_memes.LABELS,
        hateful_memes.read,
    ),
    PictureSet(
        "vqa_x",
        vqa_x.TITLE,
        "the answer to a question about a picture, and why",
        "Park et al., 2018, merged with VQA v2: vqaX_train.json, vqaX_val.json, vqaX_test.json",
        "none is stated for the explanations; VQA v2: CC BY 4.0; pictures of COCO under Flickr's terms",
        "the folder that holds COCO's train2014 and val2014",
        ("question",),
        vqa_x.classes,
        vqa_x.read,
    ),
)


@dataclass(frozen=True)
class PictureFiles:
    """The folder of pictures of a published set, whose `format` is its name; the annotations are given beside it."""

    format: str
    folder: Path

    def read(self, annotations: Path | None, labels: tuple[str, ...] = ()) -> Read:
        """Without a model's `labels`, the classes are numbered as in the file itself."""
        if annotations is None:
            raise DataUnavailable(f"Give the annotation file of {self.format} with --data.")
        chosen = named(self.format)
        return chosen.read(annotations, self.folder, labels or chosen.classes(annotations))


def named(name: str) -> PictureSet:
    """Raises `DataUnavailable` with the names there are."""
    for each in SETS:
        if each.name == name:
            return each
    raise DataUnavailable(
        f"There is no set of pictures {name!r}. Choose one of: {', '.join(each.name for each in SETS)}."
    )
