"""e-SNLI-VE (Do et al., 2021; Kayser et al., 2021): does an image entail a hypothesis, leave it open or contradict it?

esnlive_<part>.csv   Flickr30kID, hypothesis, gold_label, explanation; the image's file is named by its Flickr30kID
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from explainers.datasets.entailment import LABELS, detokenised
from explainers.datasets.example import Example
from explainers.datasets.images.annotation import ImageExamples, check_classes, checked_name, csv_rows, with_images
from explainers.errors import DataUnavailable

TITLE = "e-SNLI-VE"
COLUMNS = ("Flickr30kID", "hypothesis", "gold_label", "explanation")


def read_esnlive(annotations: Path, images: Path, labels: tuple[str, ...] = LABELS) -> ImageExamples:
    """`images` is the folder of Flickr30k's images; a model may have the classes in another order."""
    check_classes(labels, LABELS, TITLE)
    index = {number: labels.index(label) for number, label in enumerate(LABELS)}
    annotated = (
        ((image,), replace(example, label=None if example.label is None else index[example.label]))
        for image, example in hypotheses(annotations)
    )
    return with_images(annotated, annotations, images, labels)


def hypotheses(path: Path) -> Iterator[tuple[str, Example]]:
    """Name of the image and hypothesis of every row, with the explanation if there is one, and without a label where
    the column is empty."""
    for number, row in csv_rows(path, COLUMNS):
        where = f"{path.name}, line {number}"
        image, hypothesis, label, explanation = (row[name] for name in COLUMNS)
        if not image or not hypothesis or label not in ("", *LABELS):
            expected = f"{', '.join(COLUMNS[:3])} ({', '.join(LABELS)})"
            raise DataUnavailable(f"{where}: expected {expected}, got {row}.")
        explanations = (detokenised(explanation),) if explanation else ()
        index = LABELS.index(label) if label else None
        yield checked_name(image, where), Example(detokenised(hypothesis), label=index, explanations=explanations)
