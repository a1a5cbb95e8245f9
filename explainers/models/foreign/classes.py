"""The classes of a foreign classifier, from its configuration.

A head with one output has no classes of its own. Where the configuration says that it was trained to classify
(`problem_type` is "single_label_classification" or "multi_label_classification", or `id2label` names two classes), its
output z is the margin of a second class, p = σ(z); softmax over (0, z) gives the same, so every method works unchanged.
A regression, or a score of which nothing is said, is refused: it has no probability that could be explained.
"""

from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn

from explainers.errors import ModelUnavailable

CLASSIFIES = ("single_label_classification", "multi_label_classification")
LONGEST = 200  # characters of a name


class SingleLogit(nn.Module):
    """A classifier of one output z as one of two classes: logits (B, 2) of (0, z)."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = classifier

    @property
    def base_model(self) -> nn.Module:
        base: nn.Module = self.classifier.base_model  # type: ignore[assignment]
        return base

    def forward(self, **inputs: Any) -> Tensor:
        margin = self.classifier(**inputs).logits  # (B, 1)
        return torch.cat([torch.zeros_like(margin), margin], dim=1)


def class_names(name: str, raw_config: dict[str, Any], outputs: int) -> tuple[str, ...]:
    """The names of the classes by output; names that come twice get their number: "name (0)", "name (1)".

    Raises `ModelUnavailable` if an output has no name, or one that is no text.
    """
    given = raw_config.get("id2label")
    if given is None:
        return tuple(f"LABEL_{number}" for number in range(outputs))  # the library's own
    try:
        names = {int(number): value for number, value in given.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelUnavailable(f"The classes of {name!r} (id2label) are not numbers with names.") from error
    if set(names) != set(range(outputs)):
        numbers = ", ".join(map(str, sorted(names)[:10]))
        raise ModelUnavailable(
            f"The classes of {name!r} (id2label) are numbered {numbers}, but its {outputs} outputs are numbered "
            f"from 0 to {outputs - 1}. Correct its config.json."
        )
    return _unique(tuple(_text(name, number, names[number]) for number in range(outputs)))


def two_classes(name: str, raw_config: dict[str, Any], *, named: bool) -> tuple[str, str]:
    """The classes of a head with one output; with `named`, `id2label` names both. Raises `ModelUnavailable`."""
    problem = raw_config.get("problem_type")
    if problem != "regression" and named:
        first, second = class_names(name, raw_config, 2)
        return first, second
    if problem in CLASSIFIES:
        (only,) = class_names(name, raw_config, 1)
        return f"not {only}", only
    if problem == "regression":
        raise ModelUnavailable(
            f"{name!r} is a regression: it gives a value and chooses no class. "
            "Choose a classifier with at least two classes."
        )
    raise ModelUnavailable(
        f"{name!r} has one output, and its config.json does not say that it is a class: it scores its input. "
        'If it was trained to classify, add "problem_type": "single_label_classification"; else choose another model.'
    )


def _text(name: str, number: int, given: object) -> str:
    text = str(given).encode("utf-8", "replace").decode().strip() if isinstance(given, str | int | float) else ""
    if not text or len(text) > LONGEST:
        raise ModelUnavailable(
            f"Class {number} of {name!r} (id2label) has no name of 1 to {LONGEST} characters. Correct its config.json."
        )
    return text


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    """With its number behind each name that comes more than once."""
    counts = Counter(names)
    numbered = tuple(f"{name} ({at})" if counts[name] > 1 else name for at, name in enumerate(names))
    return numbered if len(set(numbered)) == len(names) else tuple(f"{name} ({at})" for at, name in enumerate(names))
