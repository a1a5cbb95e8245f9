"""How far one part of the input goes alone: predictions with the other text, the image or its text erased."""

import numpy as np

from explainers.datasets.example import Example
from explainers.models.meter import Meter
from explainers.results.ablated_inputs import AblatedInputs
from explainers.results.comparison import Question, part_names


def ablated_inputs(question: Question, meter: Meter) -> AblatedInputs | None:
    """Three predictions for a pair, two for an image with text, each without the removed units; None for one text."""
    model, encoding, settings = question.model.metered(meter), question.encoding, question.settings
    if len(encoding.texts) == 1 and not encoding.multimodal:
        return None
    segments = np.asarray([unit.segment for unit in encoding.units])
    alone = model.probabilities(encoding, [segments == 0, segments == 1], settings.erasure)
    names = part_names(model.input_names, encoding)
    if encoding.multimodal:
        return AblatedInputs(model.labels, names, _tuples(alone), multimodal=True)
    swapped = model.encode(Example(encoding.texts[1], encoding.texts[0]), settings.unit)
    left = {(1 - unit.segment, unit.start, unit.end) for unit in encoding.units}
    removed = [at for at, unit in enumerate(swapped.units) if (unit.segment, unit.start, unit.end) not in left]
    swapped = model.without(swapped, removed, settings.erasure)
    both = model.probabilities(swapped, np.ones((1, len(swapped.units))), settings.erasure)
    return AblatedInputs(model.labels, names, _tuples(np.vstack([alone, both])))


def _tuples(probabilities: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(p) for p in row) for row in probabilities)
