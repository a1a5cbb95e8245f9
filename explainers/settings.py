"""What a comparison depends on besides model, text and class."""

from dataclasses import dataclass

from explainers.models.encoding import Erasure, UnitKind


@dataclass(frozen=True)
class Settings:
    unit: UnitKind = "word"
    erasure: Erasure = "mask"
    samples: int = 500
    steps: int = 50
    seed: int = 0
