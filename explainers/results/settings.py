"""What a comparison depends on besides model, input and class."""

from dataclasses import dataclass

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, UNIT_KINDS, Erasure, UnitKind

FEWEST_SAMPLES = 10
RANDOM_ORDERS = 10  # of the random control


@dataclass(frozen=True)
class Settings:
    """`samples` of LIME and KernelSHAP, `steps` of integrated gradients, `seed` of everything random."""

    unit: UnitKind = "word"
    erasure: Erasure = "mask"
    samples: int = 500
    steps: int = 50
    seed: int = 0


def checked_settings(unit: str, erasure: str, samples: int, steps: int, seed: int) -> Settings:
    """The settings as typed by a person. Raises `ExplanationError` with what is possible."""
    if erasure not in MULTIMODAL_ERASURES:
        operators = ", ".join(MULTIMODAL_ERASURES)
        raise ExplanationError(f"Unknown erasure operator {erasure!r}. Choose one of: {operators}.")
    if unit not in UNIT_KINDS:
        raise ExplanationError(f"Unknown unit {unit!r}. Choose one of: {', '.join(UNIT_KINDS)}.")
    if samples < FEWEST_SAMPLES or steps < 1 or seed < 0:
        raise ExplanationError(
            f"Samples must be at least {FEWEST_SAMPLES}, steps at least 1, and the seed must not be negative."
        )
    return Settings(unit, erasure, samples, steps, seed)
