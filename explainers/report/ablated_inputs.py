"""The predictions for ablated inputs as one line."""

import numpy as np

from explainers.report.text import decimals, one_line
from explainers.results.ablated_inputs import AblatedInputs


def ablated_inputs_line(ablated: AblatedInputs) -> str:
    """ "Premise alone: neutral 0.62 · hypothesis alone: … · swapped: …"."""
    names = (f"{ablated.names[0]} alone", f"{ablated.names[1].lower()} alone", "swapped")
    pairs = zip(names, ablated.predictions, strict=False)
    return " · ".join(f"{name}: {_top_class(ablated.labels, probabilities)}" for name, probabilities in pairs)


def _top_class(labels: tuple[str, ...], probabilities: tuple[float, ...]) -> str:
    best = int(np.argmax(probabilities))
    return f"{one_line(labels[best])} {decimals(probabilities[best])}"
