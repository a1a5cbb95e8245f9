"""The one type into which every data set is read."""

from dataclasses import dataclass

from explainers.datasets.image import InputImage


@dataclass(frozen=True)
class Evidence:
    """What the label follows from, where it is known: spans of characters of the text, and boxes in the image
    (left, top, right and bottom in pixels)."""

    words: tuple[tuple[int, int], ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True)
class Example:
    """A text, or with `pair` a premise and its hypothesis, or with `image` an image and a text about it.

    `label` is the class index, if any; `explanations` are people's sentences about why it is right.
    """

    text: str
    pair: str | None = None
    label: int | None = None
    explanations: tuple[str, ...] = ()
    image: InputImage | None = None
    evidence: Evidence | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the text, or both texts of a pair."""
        return (self.text,) if self.pair is None else (self.text, self.pair)


@dataclass(frozen=True)
class Splits:
    """Disjoint parts. `warm_up` are labelled texts of another source, `explainer` texts whose labels are not used."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    test: tuple[Example, ...]
    warm_up: tuple[Example, ...] = ()
    explainer: tuple[Example, ...] = ()
