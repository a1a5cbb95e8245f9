"""When an input cannot decide between explanations, each reason as a sentence for a person.

Numbers only: what models and people call things is not in these sentences.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.candidates import ranks, spec_of
from explainers.comparison.standings import Standings
from explainers.metrics.faithfulness import verdict_metric

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult

FEWEST_UNITS = 3
FEW_UNITS = 5  # a random order begins with the right unit at least every fifth time
ROOM = 0.05  # of probability: random orders differ by more than that on nearly every input
CONTROLS_ONLY = "Only controls and methods that were optimised on the metrics have been computed. Choose another one."
NOTHING = "No method gave an explanation."


def refused_at_once(comparison: "Comparison") -> str:
    """What is known before any method is finished; empty if nothing speaks against a verdict."""
    p = comparison.probabilities[comparison.question.label]
    if len(comparison.question.encoding.units) < FEWEST_UNITS:
        return f"The input has {_units(comparison)}; a verdict needs at least {FEWEST_UNITS}."
    if p <= ROOM:
        return f"The probability of this class is only {p:.2f}, so erasing units can hardly lower it."
    return ""


def refused_by_results(comparison: "Comparison", candidates: Sequence["MethodResult"], here: Standings) -> str:
    """What the results of the `candidates` and their standings say; empty where there is a verdict."""
    if all(spec_of(each).is_control for each in candidates):
        return _nobody(comparison)
    if not any(ranks(each) for each in candidates):
        return "Every method gives equal scores, so none ranks the input."
    luck = "" if here.best else _within_random(comparison, here)
    return _within_spread(comparison) or _unmoved(comparison, candidates) or luck


def _nobody(comparison: "Comparison") -> str:
    """Why there is no method to judge."""
    if any(spec_of(each).explains_predicted_only and spec_of(each).comparable for each in comparison.results):
        return "The methods that were chosen explain the predicted class only, and this is another one."
    return CONTROLS_ONLY if comparison.results else NOTHING


def _within_spread(comparison: "Comparison") -> str:
    """p itself is the largest AOPC-C that is possible; random orders must not differ by as much."""
    control, p = comparison.random_control, comparison.probabilities[comparison.question.label]
    spread = control.deviations.get(verdict_metric("removing").id, 0.0) if control else 0.0
    if p > spread:
        return ""
    return f"The probability of this class is {p:.2f}, and random orders alone move it by ±{spread:.2f}."


def _unmoved(comparison: "Comparison", candidates: Sequence["MethodResult"]) -> str:
    control, label = comparison.random_control, comparison.question.label
    curves = [each.curves for each in candidates] + list(control.curves if control else ())
    p = np.concatenate([line[:, label] for each in curves for line in (each.removed, each.kept)])
    if np.abs(p - curves[0].full).max() > ROOM:
        return ""
    return f"The probability stays between {p.min():.2f} and {p.max():.2f}, whatever is removed or kept."


def _within_random(comparison: "Comparison", here: Standings) -> str:
    few = len(comparison.question.encoding.units) <= FEW_UNITS
    often = f"; with only {_units(comparison)}, a random order is often right" if few else ""
    if here.beyond_random:
        return (
            f"No method beats every random order both by removing and by keeping; in one alone that may be luck{often}."
        )
    return f"The band of random orders covers every method, by removing and by keeping{often}."


def _units(comparison: "Comparison") -> str:
    """ "1 word", "2 tokens", "4 units" of an image with text."""
    number = len(comparison.question.encoding.units)
    name = "unit" if comparison.question.encoding.multimodal else comparison.question.settings.unit
    return f"{number} {name}{'' if number == 1 else 's'}"
