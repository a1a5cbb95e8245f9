"""From an input to the decision that is explained."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs import requirements
from explainers.models.inputs.encoding import Encoding, UnitKind
from explainers.models.inputs.requirements import to_example
from explainers.models.inputs.warnings import input_warnings
from explainers.models.meter import Meter
from explainers.results.comparison import Question
from explainers.results.settings import Settings


def ask(
    model: FrozenModel,
    text: str | Example,
    *,
    label: str | None = None,
    settings: Settings | None = None,
    removed: Sequence[int] = (),
    meter: Meter | None = None,
) -> tuple[Question, tuple[float, ...]]:
    """The decision to explain and its probabilities: the predicted class, or the one named by `label`.

    `removed` are units that are erased beforehand. Raises `ExplanationError` for an unknown class and for an input
    that the model cannot read.
    """
    settings = settings or Settings()
    metered = model.metered(meter or Meter())
    encoding = checked_encoding(metered, to_example(text), settings.unit)
    if removed:
        encoding = metered.without(encoding, removed, settings.erasure)
    everything = np.ones((1, len(encoding.units)), dtype=bool)
    (probabilities,) = metered.probabilities(encoding, everything, settings.erasure)
    if label is not None and label not in model.labels:
        raise ExplanationError(f"{model.name} has no class {label!r}. Choose one of: {', '.join(model.labels)}.")
    explained = int(probabilities.argmax()) if label is None else model.labels.index(label)
    return Question(model, encoding, explained, settings), tuple(float(p) for p in probabilities)


def checked_encoding(model: FrozenModel, example: Example, unit: UnitKind) -> Encoding:
    """What the model reads, with all warnings. Raises `ExplanationError` if it needs another kind of input."""
    requirements.check_image(model.name, example, multimodal=model.multimodal)
    requirements.check_text_count(model.name, model.input_names, example)
    encoding = model.encode(example, unit)
    requirements.check_words_present(model.name, model.input_names, example, {each.segment for each in encoding.units})
    warning = input_warnings(model.name, encoding, model.unknown, english_only=model.english_only)
    return replace(encoding, warning=warning)
