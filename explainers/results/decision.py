"""One decision of a model, and the model's card: what is known of it where it is not at hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding, Erasure, Unit
from explainers.models.precision import Precision
from explainers.models.prompt import PromptCard
from explainers.models.target import Target
from explainers.results.settings import Settings


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

    def kind_of(self, unit: Unit) -> str:
        """Return "patch", "word", "token" or "example", or "sentence" for one that is not opened."""
        if self.settings.unit == "example":
            return "example"
        if unit.kind == "patch" or self.settings.unit != "sentence":
            return "token" if unit.kind == "word" and self.settings.unit == "token" else unit.kind
        return "word" if self.encoding.sentence_of(unit) in self.settings.opened else "sentence"

    def __post_init__(self) -> None:
        if not self.encoding.units:
            raise ExplanationError("All words are removed. Restore at least one to explain the decision.")
