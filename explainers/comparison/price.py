"""What a comparison costs: the passes that it takes at most, and the seconds that are left."""

from collections.abc import Sequence

from explainers.methods.spec import MethodSpec
from explainers.models.meter import Meter
from explainers.results.attribution import metric_counts
from explainers.results.settings import RANDOM_ORDERS, SETTLED_BY, Settings

FEWEST = 20  # answers after which the speed is known


def expected_passes(specs: Sequence[MethodSpec], settings: Settings, units: int, operators: int) -> int:
    """Return how many inputs go through the model at most to explain and measure one input with so many units.

    Every order, random ones and the consensus among them, is measured at the counts of the metrics, by removing and by
    keeping, under every operator. Sampling that settles early and masks that were asked before make it fewer.
    """
    samples = settings.samples or SETTLED_BY
    orders = len(specs) + 2 + RANDOM_ORDERS
    explaining = sum(spec.passes(units, samples, settings.steps) for spec in specs)
    return explaining + orders * 2 * len(metric_counts(units)) * operators


def seconds_left(expected: int, meter: Meter, elapsed: float) -> float | None:
    """Return the seconds that the rest takes at most, after `elapsed` seconds of work; None before that is known."""
    if meter.used < FEWEST:
        return None
    return max(expected - meter.used, 0) * elapsed / meter.used
