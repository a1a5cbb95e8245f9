"""One decision of a model, the settings under which it is explained, and the model's card.

The card is what is known of a model where it is not at hand; the settings are what a comparison depends on besides
model, input and class, with how LIME and KernelSHAP draw their masks. Importing this module is cheap.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import (
    ERASURES,
    MULTIMODAL_ERASURES,
    UNIT_KINDS,
    Encoding,
    Erasure,
    Unit,
    UnitKind,
)
from explainers.models.precision import Precision
from explainers.models.prompt import PromptCard
from explainers.models.target import Target

Sampling = Literal["captum", "shared"]  # for each method as its paper does; the same masks for all that sample
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
DEFAULT_SAMPLING: Sampling = "shared"
EVALUATED_SAMPLING: Sampling = "captum"  # in the stored evaluations, with 500 samples


FEWEST_SAMPLES = 10
UNTIL_SETTLED = 0  # instead of a number of samples
SETTLED_BY = 500  # samples; more where a method says so
RANDOM_ORDERS = 19  # of the random control: the fewest that an order at the 5 % level can beat


def checked_budget(seconds: float | None) -> float | None:
    """Return the budget of time. Raises `ExplanationError` where it is no positive number."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise ExplanationError("A budget is a number of seconds above 0. Leave it out to compute until all is done.")
    return seconds


@dataclass(frozen=True)
class Settings:
    """`samples` of LIME and KernelSHAP, `steps` of integrated gradients, `seed` of everything random.

    With `UNTIL_SETTLED` instead of a number of samples as many are drawn as are needed, at most `SETTLED_BY`.
    `sampling` of LIME and KernelSHAP: "captum" draws for each as its paper does; "shared" takes the same masks for
    both, of which many are those of the random control. `opened` are the numbers of sentences, where the unit is the
    sentence: their words are explained then, and the rest of the text stays as it is.
    """

    unit: UnitKind = "word"
    erasure: Erasure = "mask"
    samples: int = UNTIL_SETTLED
    steps: int = 50
    seed: int = 0
    sampling: Sampling = DEFAULT_SAMPLING
    opened: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as they are after reading their JSON; without opened sentences where there are none."""
        values = asdict(self)
        opened = list(values.pop("opened"))
        return {**values, "opened": opened} if opened else values

    @property
    def units(self) -> tuple[UnitKind, tuple[int, ...]]:
        """Return what decides into which units an input is cut."""
        return self.unit, self.opened

    @property
    def by_word(self) -> bool:
        """Return whether the units are all words, or parts of words, of the input: what was measured for words was
        measured so, and narrators read all of it."""
        return self.unit in ("word", "token")

    @property
    def name_of_unit(self) -> str:
        """ "word", "token", "sentence" or "example"."""
        return "word" if self.opened else self.unit


def checked_settings(
    unit: str,
    erasure: str,
    samples: int,
    steps: int,
    seed: int,
    sampling: str = DEFAULT_SAMPLING,
    opened: Sequence[int] = (),
) -> Settings:
    """The settings as typed by a person. Raises `ExplanationError` with what is possible."""
    if erasure not in MULTIMODAL_ERASURES:
        of_images = [operator for operator in MULTIMODAL_ERASURES if operator not in ERASURES]
        operators = f"{', '.join(ERASURES)}, and for images {', '.join(of_images)}"
        raise ExplanationError(f"Unknown erasure operator {erasure!r}. Choose one of: {operators}.")
    if unit not in UNIT_KINDS:
        raise ExplanationError(f"Unknown unit {unit!r}. Choose one of: {', '.join(UNIT_KINDS)}.")
    if (samples < FEWEST_SAMPLES and samples != UNTIL_SETTLED) or steps < 1 or seed < 0:
        raise ExplanationError(
            f"Samples must be at least {FEWEST_SAMPLES}, or {UNTIL_SETTLED} to sample until the result has settled, "
            "steps at least 1, and the seed must not be negative."
        )
    if sampling not in SAMPLINGS:
        raise ExplanationError(f"Unknown sampling {sampling!r}. Choose one of: {', '.join(SAMPLINGS)}.")
    if any(not isinstance(number, int) for number in opened):
        raise ExplanationError("Sentences are opened by their numbers, whole numbers from 0.")
    if opened and unit != "sentence":
        raise ExplanationError(f"Only sentences are opened, and the unit is the {unit}. Choose the unit sentence.")
    return Settings(unit, erasure, samples, steps, seed, sampling, tuple(sorted(set(opened))))


@dataclass(frozen=True)
class ModelCard:
    """Describes the model that made a decision, and the program that ran it; it can be shown, but not asked.

    `sha256` is the checksum over its tensors. `crosslight`, `python` and `libraries` are the versions that computed
    the comparison.
    """

    name: str
    version: str
    labels: tuple[str, ...]
    input_names: tuple[str, ...] = ()
    erasures: tuple[Erasure, ...] = ()
    multimodal: bool = False
    english_only: bool = False
    sha256: str = ""
    crosslight: str = ""
    python: str = ""
    device: str = "cpu"
    libraries: Mapping[str, str] = field(default_factory=dict)
    multi_label: bool = False  # whether several classes can be on, each with a probability of its own
    prompt: PromptCard | None = None  # of a language model that classifies by class words
    precision: Precision = "float32"  # in which masks of the input were answered
    precision_note: str = ""  # why it is not the one that was asked for


@dataclass(frozen=True)
class Decision:
    """One decision to explain. `encoding` must have units; `label` is the class whose probability is explained, with
    `versus` rather than that other class.

    The model that made it is not held, but its card: whoever asks the model has it beside the decision.
    """

    card: ModelCard
    encoding: Encoding
    label: int
    settings: Settings = field(default_factory=Settings)
    versus: int | None = None
    share_of_words: float | None = None  # the probability of all class words together, of a language model

    @property
    def target(self) -> Target:
        return Target(self.label, self.versus)

    @property
    def explained(self) -> str:
        """Return the name of the target: "A", or "A rather than B"."""
        return self.target.name(self.card.labels)

    @property
    def other_erasures(self) -> tuple[Erasure, ...]:
        """Return the model's erasure operators without the one of the settings."""
        return tuple(erasure for erasure in self.card.erasures if erasure != self.settings.erasure)

    def kind_of(self, unit: Unit) -> str:
        """Return "patch", "word", "token", "example" or "sentence"."""
        return self.settings.name_of_unit if unit.kind == "word" else unit.kind

    def __post_init__(self) -> None:
        if not self.encoding.units:
            raise ExplanationError("All words are removed. Restore at least one to explain the decision.")
