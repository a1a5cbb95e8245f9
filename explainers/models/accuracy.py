"""The accuracy of a frozen model, measured through the same interface that explanations use."""

from collections.abc import Sequence

import numpy as np

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel


def accuracy(model: FrozenModel, examples: Sequence[Example]) -> float:
    """The share of the examples whose label is the most probable class."""
    correct = 0
    for example in examples:
        encoding = model.encode(example)
        correct += model.probabilities(encoding, np.ones((1, len(encoding.units)))).argmax() == example.label
    return float(correct / len(examples))
