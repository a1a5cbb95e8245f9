"""The image sets that can be read, each in one format, which is never guessed: published sets, and own ones.

e-SNLI-VE (Do et al., 2021; Kayser et al., 2021): does an image entail a hypothesis, leave it open or contradict it?

esnlive_<part>.csv   Flickr30kID, hypothesis, gold_label, explanation; the image's file is named by its Flickr30kID

Hateful Memes (Kiela et al., 2020): is a meme, image and words together, hateful? There are no explanations.

train.jsonl, dev_seen.jsonl, …   {"id": …, "img": "img/42953.png", "label": 0 or 1, "text": …} in every line;
                                 test files have no label; the folder of the images is the one that holds `img`

VQA-X (Park et al., 2018): questions about COCO's images, the answers of ten people, and why they are right.

{"<question id>": {"question": …, "answers": [{"answer": …}, …], "image_id": …, "image_name": …, "explanation": […]}}

This is the common form of its parts, with VQA's own questions and answers merged in (vqaX_train.json of
Sammani et al., 2022). The class is the answer that most people gave, the first of those if several did.

A person's own images come as a table and the folder of the images:

.csv, .tsv, .parquet   text, image: the name of a file in the folder, and label, which only a head needs: the class
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from explainers.datasets import entailment, tables
from explainers.datasets.example import Example
from explainers.datasets.images import files
from explainers.errors import DataUnavailable

ESNLIVE_TITLE = "e-SNLI-VE"
ESNLIVE_COLUMNS = ("Flickr30kID", "hypothesis", "gold_label", "explanation")
MEMES_TITLE = "Hateful Memes"
MEMES_LABELS = ("not hateful", "hateful")
VQA_X_TITLE = "VQA-X"
MOST_CLASSES = 520  # classes in CAuSE's code
COCO_PARTS = ("train2014", "val2014")  # of COCO, in which no number is given twice
COCO_NAME = re.compile(rf"COCO_({'|'.join(COCO_PARTS)})_\d{{12}}\.jpg", re.ASCII)
IMAGE_ID = re.compile(r"\d{1,12}", re.ASCII)
OWN, OWN_TITLE = "table", "Own table"
COLUMNS = ("text", "image", "label")
Row = dict[str, str]


def read_esnlive(annotations: Path, images: Path, labels: tuple[str, ...] = entailment.LABELS) -> files.ImageExamples:
    """`images` is the folder of Flickr30k's images; a model may have the classes in another order."""
    files.check_classes(labels, entailment.LABELS, ESNLIVE_TITLE)
    index = {number: labels.index(label) for number, label in enumerate(entailment.LABELS)}
    annotated = (
        ((image,), replace(example, label=None if example.label is None else index[example.label]))
        for image, example in hypotheses(annotations)
    )
    return files.with_images(annotated, annotations, images, labels)


def hypotheses(path: Path) -> Iterator[tuple[str, Example]]:
    """Name of the image and hypothesis of every row, with the explanation if there is one, and without a label where
    the column is empty."""
    for number, row in files.csv_rows(path, ESNLIVE_COLUMNS):
        where = f"{path.name}, line {number}"
        image, hypothesis, label, explanation = (row[name] for name in ESNLIVE_COLUMNS)
        if not image or not hypothesis or label not in ("", *entailment.LABELS):
            expected = f"{', '.join(ESNLIVE_COLUMNS[:3])} ({', '.join(entailment.LABELS)})"
            raise DataUnavailable(f"{where}: expected {expected}, got {row}.")
        explanations = (entailment.detokenised(explanation),) if explanation else ()
        index = entailment.LABELS.index(label) if label else None
        yield (
            files.checked_name(image, where),
            Example(entailment.detokenised(hypothesis), label=index, explanations=explanations),
        )


def read_hateful_memes(annotations: Path, images: Path, labels: tuple[str, ...] = MEMES_LABELS) -> files.ImageExamples:
    """`images` is the folder that holds `img`; a model may have the classes in another order."""
    files.check_classes(labels, MEMES_LABELS, MEMES_TITLE)
    return files.with_images(_memes(annotations, labels), annotations, images, labels)


def _memes(path: Path, labels: tuple[str, ...]) -> Iterator[files.Annotated]:
    with files.open_annotations(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                where = f"{path.name}, line {number}"
                row = _checked_annotation(files.parse_json(line.strip(), path, number), where)
                label = labels.index(MEMES_LABELS[row["label"]]) if "label" in row else None
                yield (files.checked_name(row["img"], where),), Example(row["text"], label=label)


def _checked_annotation(row: Any, where: str) -> dict[str, Any]:
    texts = isinstance(row, dict) and all(isinstance(row.get(name), str) and row[name] for name in ("img", "text"))
    label = row.get("label", 0) if texts else None
    if type(label) is not int or label not in (0, 1):
        raise DataUnavailable(
            f"{where}: expected img, text and, unless it is a test file, label 0 or 1, got {repr(row)[:200]}."
        )
    return dict(row)


@dataclass(frozen=True)
class VqaQuestion:
    """`paths` are where the folder may hold its image: below the folder of its part of COCO, or directly."""

    text: str
    answer: str
    explanations: tuple[str, ...]
    paths: tuple[str, ...]


def vqa_x_classes(training: Path, most: int = MOST_CLASSES) -> tuple[str, ...]:
    """The most frequent answers of the training file, the most frequent first."""
    return tuple(answer for answer, _ in Counter(question.answer for question in questions(training)).most_common(most))


def read_vqa_x(annotations: Path, images: Path, labels: tuple[str, ...]) -> files.ImageExamples:
    """`labels` are the `vqa_x_classes` of the training file; questions with other answers are left out and counted."""
    index = {label: number for number, label in enumerate(labels)}
    every = list(questions(annotations))
    kept = [row for row in every if row.answer in index]
    if every and not kept:
        raise DataUnavailable(
            f"No answer in {annotations.name} is one of the {len(labels):,} classes. Choose a model that was trained "
            f"on {VQA_X_TITLE}, or take the classes from its training file."
        )
    result = files.with_images(
        ((row.paths, Example(row.text, label=index[row.answer], explanations=row.explanations)) for row in kept),
        annotations,
        images,
        labels,
    )
    rare = len(every) - len(kept)
    warning = f"Questions left out because their answer is no class of the model: {rare:,} of {len(every):,}."
    return replace(result, warning=" ".join(filter(None, (warning if rare else "", result.warning))))


def questions(path: Path) -> Iterator[VqaQuestion]:
    """In the order of the file."""
    with files.open_annotations(path) as file:
        table = files.parse_json(file.read(), path, 1)
    if not isinstance(table, dict):
        raise DataUnavailable(
            f"{path.name}: expected questions by their id, as in vqaX_train.json, got a {type(table).__name__}."
        )
    for number, row in table.items():
        where = f"{path.name}, question {number}"
        if not _complete(row):
            expected = "question, answers (each with answer), explanation (texts), and image_name or image_id"
            raise DataUnavailable(f"{where}: expected {expected}, got {repr(row)[:200]}.")
        answer = Counter(_answers(row)).most_common(1)[0][0]
        paths = tuple(files.checked_name(path, where) for path in _image_paths(row))
        yield VqaQuestion(row["question"], answer, tuple(filter(None, row["explanation"])), paths)


def _complete(row: Any) -> bool:
    """Return whether every field is there and of the right type."""
    if not isinstance(row, dict):
        return False
    texts, answers = row.get("explanation"), row.get("answers")
    lists = isinstance(texts, list) and all(isinstance(text, str) for text in texts) and isinstance(answers, list)
    image = row.get("image_name") or str(row.get("image_id"))
    return (
        lists
        and all(isinstance(answer, dict) and isinstance(answer.get("answer"), str) for answer in answers or ())
        and bool(_answers(row))
        and all(isinstance(value, str) and bool(value) for value in (row.get("question"), image))
        and ("image_name" in row or IMAGE_ID.fullmatch(image) is not None)
    )


def _answers(row: dict[str, Any]) -> list[str]:
    """Those that are not empty, as VQA compares them."""
    return [answer for given in row["answers"] if (answer := given["answer"].strip().lower())]


def _image_paths(row: dict[str, Any]) -> Iterator[str]:
    if "image_name" in row:
        names = [row["image_name"]]
    else:
        names = [f"COCO_{part}_{int(row['image_id']):012d}.jpg" for part in COCO_PARTS]
    for name in names:
        match = COCO_NAME.fullmatch(name)
        yield from (f"{match[1]}/{name}", name) if match else (name,)


def own_classes(table: Path) -> tuple[str, ...]:
    """The classes in the column label, in alphabetical order; none if there is no such column."""
    return tuple(sorted({row["label"] for row in _checked(table) if row.get("label")}))


def read_own_table(table: Path, images: Path, labels: tuple[str, ...]) -> files.ImageExamples:
    """Raises `DataUnavailable` for a row that cannot be read, and for a class that is not among `labels`."""
    return files.with_images(_annotated(table, labels), table, images, labels)


def image_rows(content: bytes, name: str) -> Iterator[Row | DataUnavailable]:
    """The cells by column, or what is wrong with the row. Raises `DataUnavailable` for what is no such table."""
    if not tables.is_table(name):
        raise DataUnavailable(f"Give a table ({', '.join(tables.SUFFIXES)}) with the columns text and image.")
    table = tables.read_user_table(content, name, _chosen)
    for row in table.rows:
        cells = row if isinstance(row, DataUnavailable) else [cell.strip() for cell in row]
        yield cells if isinstance(cells, DataUnavailable) else dict(zip(table.columns, cells, strict=True))


def _chosen(columns: Sequence[str]) -> list[str]:
    if not {"text", "image"} <= set(columns):
        raise DataUnavailable(f"A table of images needs the columns text and image; it has {', '.join(columns)[:200]}.")
    return [column for column in COLUMNS if column in columns]


def _checked(table: Path) -> Iterator[Row]:
    try:
        content = table.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"{table} cannot be read: {error.strerror}.") from error
    for row in image_rows(content, table.name):
        if isinstance(row, DataUnavailable):
            raise row
        if row["text"]:
            yield row


def _annotated(table: Path, labels: tuple[str, ...]) -> Iterator[files.Annotated]:
    for row in _checked(table):
        name = row.get("label", "")
        if name and name not in labels:
            raise DataUnavailable(f"The class {name[:60]!r} is not one of the model's: {', '.join(labels)}.")
        label = labels.index(name) if name else None
        yield (files.checked_name(row["image"], table.name),), Example(row["text"], label=label)


@dataclass(frozen=True)
class ImageSet:
    """`name` is what a user types; `images` describes the folder to give; `input_names` is what its texts are called.

    `classes` takes the annotation file of the training part, `read` takes annotation file, image folder and classes.
    """

    name: str
    title: str
    about: str
    source: str
    licence: str
    images: str
    input_names: tuple[str, ...]
    classes: Callable[[Path], tuple[str, ...]]
    read: Callable[[Path, Path, tuple[str, ...]], files.ImageExamples]


SETS = (
    ImageSet(
        "esnlive",
        ESNLIVE_TITLE,
        "does an image entail a hypothesis, leave it open or contradict it, and why",
        "Do et al., 2021; Kayser et al., 2021: esnlive_train.csv, esnlive_dev.csv, esnlive_test.csv",
        "none is stated for the annotations; images of Flickr30k for non-commercial research and education",
        "the folder that holds Flickr30k's images, such as 4465359505.jpg",
        ("hypothesis",),
        lambda _training: entailment.LABELS,
        read_esnlive,
    ),
    ImageSet(
        "hateful_memes",
        MEMES_TITLE,
        "is a meme hateful; without explanations",
        "Kiela et al., 2020: train.jsonl, dev_seen.jsonl, test_seen.jsonl and the like",
        "the licence of Meta's challenge: research only, not to be passed on",
        "the folder that holds img",
        ("text",),
        lambda _training: MEMES_LABELS,
        read_hateful_memes,
    ),
    ImageSet(
        "vqa_x",
        VQA_X_TITLE,
        "the answer to a question about an image, and why",
        "Park et al., 2018, merged with VQA v2: vqaX_train.json, vqaX_val.json, vqaX_test.json",
        "none is stated for the explanations; VQA v2: CC BY 4.0; images of COCO under Flickr's terms",
        "the folder that holds COCO's train2014 and val2014",
        ("question",),
        vqa_x_classes,
        read_vqa_x,
    ),
    ImageSet(
        OWN,
        OWN_TITLE,
        "your own texts about images of yours",
        "a table (.csv, .tsv or .parquet) with the columns text and image, and label to train a head",
        "yours",
        "the folder that holds the images which the table names",
        ("text",),
        own_classes,
        read_own_table,
    ),
)


@dataclass(frozen=True)
class ImageFiles:
    """The image folder of a published set, whose name is `format`; the annotation file is given beside it."""

    format: str
    folder: Path

    def read(self, annotations: Path | None, labels: tuple[str, ...] = ()) -> files.ImageExamples:
        """Without a model's `labels`, the classes are numbered as in the file itself."""
        if annotations is None:
            raise DataUnavailable(f"Give the annotation file of {self.format} with --data.")
        source = image_set(self.format)
        return source.read(annotations, self.folder, labels or source.classes(annotations))


def image_set(name: str) -> ImageSet:
    """Raises `DataUnavailable` with the available names."""
    for image_set in SETS:
        if image_set.name == name:
            return image_set
    raise DataUnavailable(
        f"The image set {name!r} is not available. Choose one of: {', '.join(image_set.name for image_set in SETS)}."
    )
