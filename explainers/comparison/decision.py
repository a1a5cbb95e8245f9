"""Everything about one decision that is known before any method explains it."""

from collections.abc import Sequence
from dataclasses import dataclass

from explainers.comparison.ablated_inputs import ablated_inputs
from explainers.comparison.question import ask
from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.results.ablated_inputs import AblatedInputs
from explainers.results.comparison import Question
from explainers.results.settings import Settings


@dataclass(frozen=True)
class Decision:
    """`whole` is the input as given, `question` the input without the removed units; both about the same class."""

    whole: Question
    whole_probabilities: tuple[float, ...]
    question: Question
    probabilities: tuple[float, ...]
    ablated_inputs: AblatedInputs | None


def decide(
    model: FrozenModel,
    text: str | Example,
    *,
    label: str | None,
    settings: Settings,
    removed: Sequence[int] = (),
    meter: Meter | None = None,
) -> Decision:
    """The predictions for the whole input, without the `removed` units, and with one part ablated.

    Raises `ExplanationError` for an unknown class and for an input that the model cannot read.
    """
    meter = meter or Meter()
    whole, whole_probabilities = ask(model, text, label=label, settings=settings, meter=meter)
    question, probabilities = whole, whole_probabilities
    if removed:
        explained = model.labels[whole.label]
        question, probabilities = ask(model, text, label=explained, settings=settings, removed=removed, meter=meter)
    return Decision(whole, whole_probabilities, question, probabilities, ablated_inputs(question, meter))
