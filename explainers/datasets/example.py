"""The one type into which every data set is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A text, or with `pair` a premise and its hypothesis; `label` is the class index where it is known."""

    text: str
    pair: str | None = None
    label: int | None = None
