"""What an experiment does to the probability, so that a verdict can be seen in two numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explainers.results.erasure_curves import PERCENTS, ErasureCurves
from explainers.results.verdict import Effect, Experiment

if TYPE_CHECKING:
    from explainers.results.comparison import RandomControl

SHOWN = 20  # percent, unless the lead does not show there


def effect(
    experiment: Experiment,
    best: Sequence[ErasureCurves],
    leading: Sequence[ErasureCurves],
    control: "RandomControl",
) -> Effect:
    """At the top 20 %; where the lead of those `leading` is small there, at the percent with the largest lead.

    The verdict rests on the mean over several percents, of which 20 is only one.
    """
    leads = {percent: _lead(experiment, leading, control, percent) for percent in reversed(PERCENTS)}
    largest = max(leads, key=lambda each: leads[each])
    percent = SHOWN if leads[SHOWN] >= leads[largest] / 2 else largest
    after = tuple(_after(experiment, curves, percent) for curves in best)
    random = float(np.mean([_after(experiment, curves, percent) for curves in control.curves]))
    return Effect(experiment, percent, best[0].full, after, random)


def _after(experiment: Experiment, curves: ErasureCurves, percent: int) -> float:
    return curves.when_removed(percent) if experiment == "removing" else curves.when_kept(percent)


def _lead(experiment: Experiment, leading: Sequence[ErasureCurves], control: "RandomControl", percent: int) -> float:
    """By how much they are better than random orders, in the mean: lower when removing, higher when keeping."""
    own, random = (np.mean([_after(experiment, each, percent) for each in some]) for some in (leading, control.curves))
    return float(random - own if experiment == "removing" else own - random)
