"""Predictions for an input with one of its parts ablated."""

from dataclasses import dataclass

Probabilities = tuple[float, ...]


@dataclass(frozen=True)
class AblatedInputs:
    """`predictions` are the probabilities with only the first part, with only the second, and of a pair swapped.

    `names` are those of the parts: ("Premise", "Hypothesis"), ("Text", "Image").
    """

    labels: tuple[str, ...]
    names: tuple[str, ...]
    predictions: tuple[Probabilities, ...]
    multimodal: bool = False

    def as_dict(self) -> dict[str, dict[str, float]]:
        """By part, such as "premise", and "swapped" for a pair."""
        names = ("text", "picture") if self.multimodal else self.names
        keys = [*(name.lower().replace(" ", "_") for name in names), "swapped"]
        by_label = (dict(zip(self.labels, probabilities, strict=True)) for probabilities in self.predictions)
        return dict(zip(keys, by_label, strict=False))  # only a pair can be swapped
