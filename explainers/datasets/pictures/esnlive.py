"""e-SNLI-VE (Do et al., 2021; Kayser et al., 2021): does a picture entail a hypothesis, leave it open or contradict it?

esnlive_<part>.csv   Flickr30kID, hypothesis, gold_label, explanation; a picture lies in the folder as its Flickr30kID
"""

from dataclasses import replace
from pathlib import Path

from explainers.datasets import esnli
from explainers.datasets.pictures.annotation import Read, same_classes, with_pictures

TITLE = "e-SNLI-VE"
LABELS = esnli.LABELS


def read(annotations: Path, pictures: Path, labels: tuple[str, ...] = LABELS) -> Read:
    """`pictures` is the folder of Flickr30k's pictures; a model may have the classes in another order."""
    same_classes(labels, LABELS, TITLE)
    place = {number: labels.index(label) for number, label in enumerate(LABELS)}
    about = (
        ((picture,), replace(example, label=None if example.label is None else place[example.label]))
        for picture, example in esnli.about_pictures(annotations)
    )
    return with_pictures(about, annotations, pictures, labels)
