"""From an input to the decision that is explained, and how far one part of the input goes alone.

The ablated inputs are those with the other text, the image or its text erased.
"""

import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.installation import VERSION
from explainers.models import calls, catalog, precision
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs import requirements
from explainers.models.inputs.encoding import Encoding
from explainers.models.target import target_of
from explainers.results.comparison import part_names
from explainers.results.decision import Decision, ModelCard, Settings
from explainers.results.events import AblatedInputs
from explainers.results.manifest import libraries

FLOAT32 = precision.UsedPrecision()


class Prediction(NamedTuple):
    """A decision, and the probabilities of all classes from which it follows."""

    decision: Decision
    probabilities: tuple[float, ...]


def card_of(model: FrozenModel, used: precision.UsedPrecision = FLOAT32) -> ModelCard:
    """Return what is known of the model without it, and in which precision it answers. The checksum over its tensors is
    computed once per model."""
    return ModelCard(
        model.name,
        model.version,
        model.labels,
        model.input_names,
        model.erasures,
        model.multimodal,
        model.english_only,
        catalog.checksum(model),
        VERSION,
        platform.python_version(),
        str(model.device),
        libraries(),
        model.multi_label,
        model.prompt_card(),
        *used,
    )


def decide(
    model: FrozenModel,
    text: str | Example,
    *,
    label: str | None = None,
    versus: str | None = None,
    settings: Settings | None = None,
    removed: Sequence[int] = (),
    meter: calls.Meter | None = None,
    budget: float | None = None,
) -> Prediction:
    """Return the decision to explain: for the predicted class, or the one named by `label`, with `versus` rather than
    that other class.

    `removed` are units that are erased beforehand; of the `budget`, seconds of the whole comparison, the checks of the
    precision with this meter take a part at most. Raises `ExplanationError` for an unknown class and for an input
    that the model cannot read.
    """
    settings, meter = settings or Settings(), meter or calls.Meter()
    metered = model.metered(meter)
    encoding = checked_encoding(metered, requirements.to_example(text), settings)
    if model.replacement:
        warnings = (encoding.warning, requirements.erasure_warning(model.name, model.replacement, settings.erasure))
        encoding = replace(encoding, warning=" ".join(filter(None, warnings)))
    if removed:
        encoding = metered.without(encoding, removed, settings.erasure)
    try:
        limit = math.inf if budget is None else precision.CHECKED_SHARE * budget
        with meter.ending(lambda: meter.seconds >= limit):
            used = metered.used_precision(encoding)
    except calls.TimeOver:  # not remembered: with more time it is checked again
        metered, used = metered.in_precision("float32"), precision.NO_TIME
    if used.note:
        encoding = replace(encoding, warning=" ".join(filter(None, (encoding.warning, used.note))))
    everything = np.ones((1, len(encoding.units)), dtype=bool)
    (probabilities,) = metered.probabilities(encoding, everything, settings.erasure)
    target = target_of(model.name, model.labels, int(probabilities.argmax()), label, versus)
    share = metered.share_of_words(encoding)
    decision = Decision(card_of(model, used), encoding, target.label, settings, target.versus, share)
    return Prediction(decision, tuple(float(p) for p in probabilities))


def checked_encoding(model: FrozenModel, example: Example, settings: Settings) -> Encoding:
    """What the model reads, with all warnings. Raises `ExplanationError` if it needs another kind of input."""
    requirements.check_image(model.name, example, multimodal=model.multimodal)
    requirements.check_text_count(model.name, model.input_names, example)
    encoding = encode_units(model, example, settings)
    words = encoding if settings.by_word else model.encode(example, windows=True)
    requirements.check_words_present(model.name, model.input_names, example, {unit.segment for unit in words.units})
    foreign = model.english_only and requirements.looks_foreign(words, model.unknown)
    warning = requirements.input_warnings(model.name, words, foreign=foreign)
    return replace(encoding, warning=warning, unlike_training=encoding.unlike_training or foreign)


def encode_units(model: FrozenModel, example: Example, settings: Settings) -> Encoding:
    """Return the input in the units of the settings. Raises `ExplanationError` for sentences that cannot be opened."""
    if not settings.opened:
        return model.encode(example, settings.unit, windows=True)
    if model.multimodal:
        raise ExplanationError("The sentences of a text with an image are not opened. Choose the unit word.")
    encoding = model.encode(example, "word", windows=True)
    count = len(encoding.sentences)
    unknown = next((number for number in settings.opened if not 0 <= number < count), None)
    if unknown is not None:
        has = f"The input has {count} sentence{'' if count == 1 else 's'}"
        raise ExplanationError(f"{has}, and no number {unknown}. Numbers begin at 0.")
    within = encoding.within_sentences(settings.opened)
    if not within.units:
        raise ExplanationError("The model has read none of these sentences: the text was cut before them.")
    return within


def ablated_inputs(model: FrozenModel, decision: Decision, meter: calls.Meter) -> AblatedInputs | None:
    """Three predictions for a pair, two for an image with text, each without the removed units; None for one text, for
    the examples of a prompt, and where only the words of some sentences are explained."""
    model, encoding, settings = model.metered(meter), decision.encoding, decision.settings
    if encoding.examples or settings.opened or (len(encoding.texts) == 1 and not encoding.multimodal):
        return None
    segments = np.asarray([unit.segment for unit in encoding.units])
    alone = model.probabilities(encoding, [segments == 0, segments == 1], settings.erasure)
    names = part_names(model.input_names, encoding)
    if encoding.multimodal:
        return AblatedInputs(model.labels, names, _tuples(alone), multimodal=True)
    swapped = encode_units(model, Example(encoding.texts[1], encoding.texts[0]), settings)
    left = {(1 - unit.segment, unit.start, unit.end) for unit in encoding.units}
    removed = [at for at, unit in enumerate(swapped.units) if (unit.segment, unit.start, unit.end) not in left]
    swapped = model.without(swapped, removed, settings.erasure)
    exact = model.in_precision("float32")  # a check would take longer than one mask
    both = exact.probabilities(swapped, np.ones((1, len(swapped.units))), settings.erasure)
    return AblatedInputs(model.labels, names, _tuples(np.vstack([alone, both])))


def _tuples(probabilities: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(p) for p in row) for row in probabilities)
