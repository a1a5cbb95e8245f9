"""Where decisions with reasons come from, by the model: pairs of sentences with what people said, or pictures.

The reasons of the embedded model of pictures come from the generator that draws its scenes; those of another model of
pictures from a published set in the format that its authors give it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets import esnli
from explainers.datasets.example import Example, Splits
from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import DataUnavailable
from explainers.models.classifier import FrozenModel
from explainers.models.scenes import making as scenes

HELD_OUT = 10  # of a set in one file one picture in so many is for watching, and as many for the test


@dataclass(frozen=True)
class Source:
    """Disjoint examples; only `taught` must all have reasons. `sentences` are for the warm-up, none from the test."""

    name: str
    taught: tuple[Example, ...]
    validation: tuple[Example, ...]
    test: tuple[Example, ...]
    sentences: Callable[[], Sequence[str]]


def source(model: FrozenModel, data: Path | None, pictures: PictureFiles | None = None) -> Source:
    """Raises `DataUnavailable` where there are no reasons for this model's classes."""
    if pictures is not None:
        return _published(model, data, pictures)
    if model.labels != esnli.LABELS or (model.pictured and model.name != "scenes"):
        raise DataUnavailable(
            f"There are no reasons for the classes of {model.name} here. "
            + ("Give a published set with --format and --pictures." if model.pictured else "e-SNLI is about others.")
        )
    splits = scenes.splits(data) if model.pictured else esnli.read(data)
    taught = tuple(each for each in (*splits.train, *splits.explainer) if each.explanations)
    about = esnli.sentences if not model.pictured else None
    return Source(
        "scenes" if model.pictured else "esnli",
        taught,
        splits.validation,
        splits.test,
        lambda: _sentences(splits, [] if about is None or data is None else list(about(data))),
    )


def _sentences(splits: Splits, more: Sequence[str]) -> list[str]:
    """Texts and reasons of the training pairs, sorted, each once."""
    own = (text for each in splits.train for text in (each.text, each.pair or "", *each.explanations))
    return sorted({*more, *own} - {""})


def _published(model: FrozenModel, data: Path | None, pictures: PictureFiles) -> Source:
    found = pictures.read(data, model.labels).examples
    reasoned = tuple(each for each in found if each.explanations and each.label is not None)
    place = {picture: at for at, picture in enumerate(dict.fromkeys(each.picture for each in reasoned))}
    if len(place) < 4 * HELD_OUT:
        raise DataUnavailable(
            f"The set {pictures.format} has reasons for {len(place)} pictures; {4 * HELD_OUT} are needed."
        )
    parts: dict[int, list[Example]] = {}
    for each in reasoned:  # all that is said about one picture stays together
        parts.setdefault(min(place[each.picture] % HELD_OUT, 2), []).append(each)
    validation, test, taught = (tuple(parts[number]) for number in range(3))
    splits = Splits(taught, validation, test)
    return Source(pictures.format, taught, validation, test, lambda: _sentences(splits, ()))
