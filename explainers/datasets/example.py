"""The one type into which every data set is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A text, or with `pair` a premise and its hypothesis; `label` is the class index where it is known.

    `explanations` are sentences in which people said why the label is right.
    """

    text: str
    pair: str | None = None
    label: int | None = None
    explanations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Splits:
    """Disjoint parts. `warm_up` are labelled texts of another source, `explainer` texts whose labels nobody uses."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    test: tuple[Example, ...]
    warm_up: tuple[Example, ...] = ()
    explainer: tuple[Example, ...] = ()
