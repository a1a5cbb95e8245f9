"""What an evaluation measures, and what identifies it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import torch

from explainers.datasets.example import Example
from explainers.methods.spec import MethodSpec
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, Erasure
from explainers.results.settings import Settings


@dataclass(frozen=True)
class Plan:
    """Explanations are made with `settings` and scored under every operator of `erasures`.

    `sensitive` is the number of inputs on which AvgSen is measured.
    """

    specs: tuple[MethodSpec, ...]
    settings: Settings = field(default_factory=Settings)
    erasures: tuple[Erasure, ...] = ERASURES
    sensitive: int = 0

    def signature(self, model: FrozenModel, inputs: Sequence[Example]) -> dict[str, Any]:
        """The first line of texts.jsonl; records of evaluations with equal signatures can be mixed.

        Captum's sampling is not named, as in records from before there was another.
        """
        *settings, sampling = astuple(self.settings)
        digest = hashlib.sha256(json.dumps([_identity(example) for example in inputs]).encode()).hexdigest()
        return {
            "model": [model.name, model.version],
            "texts": [len(inputs), digest[:12]],
            "erasures": list(self.erasures),
            "settings": settings if sampling == "captum" else [*settings, sampling],
            "sensitive": self.sensitive,
            "torch": torch.__version__,
        }


def _identity(example: Example) -> list[str | None]:
    """Both texts, and of an image the name of its file or the checksum of its content."""
    image = example.image
    if image is None:
        return [example.text, example.pair]
    name = image.path.name if image.path else hashlib.sha256(image.content).hexdigest()
    return [example.text, example.pair, name]
