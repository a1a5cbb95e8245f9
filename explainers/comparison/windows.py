"""What a method gives for a text that the model reads in several windows."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from explainers.methods.spec import Method, MethodSpec
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution, floats


def attributions(
    spec: MethodSpec, method: Method, model: FrozenModel, encoding: Encoding, label: int
) -> Iterator[Attribution]:
    """Yield one attribution, or several that improve.

    A learned method whose network is told the class explains every window as an input of its own; each unit's score
    is then weighted by the window's share of the answer. Other methods explain the whole input.
    """
    if not (encoding.windows and spec.reads_class):
        yield from _steps(method, model, encoding, label)
        return
    parts, meter, used = [part for part in encoding.window_inputs if part.units], model.meter, model.meter.used
    for estimates in zip(*(_steps(method, model, part.encoding, label) for part in parts), strict=True):
        meter.asked += (meter.used - used) // len(parts)  # as if they were answers to the whole text
        used, scores = meter.used, np.zeros(len(encoding.units))
        for part, estimate in zip(parts, estimates, strict=True):
            scores[list(part.units)] += part.share * np.asarray(estimate.scores)
        yield replace(estimates[0], encoding=encoding, scores=floats(scores))


def _steps(method: Method, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
    refine = getattr(method, "refine", None)
    if refine is None:
        yield method.attribute(model, encoding, label)
    else:
        yield from refine(model, encoding, label)
