"""What a comparison costs: about how many passes it takes, and the seconds that are left."""

from collections.abc import Sequence
from math import comb

from explainers.methods.spec import MethodSpec
from explainers.models.meter import Meter
from explainers.results.attribution import metric_counts
from explainers.results.settings import RANDOM_ORDERS, SETTLED_BY, Settings

FEWEST, EARLIEST = 20, 1.0  # passes and seconds after which the speed is known


def expected_passes(
    specs: Sequence[MethodSpec], settings: Settings, units: int, operators: int, *, known: int = 0
) -> int:
    """Return about how many answers of the model explain one input with so many units, and measure that.

    Methods that are `known` already are measured only.

    Every order, random ones and the consensus among them, is measured at the counts of the metrics, by removing and by
    keeping, under every operator. Sampling that settles early and masks that were asked before make it fewer, sentences
    and their checks more.
    """
    orders = len(specs) + known + 2 + RANDOM_ORDERS
    return explaining_passes(specs, settings, units) + orders * 2 * len(metric_counts(units)) * operators


def explaining_passes(specs: Sequence[MethodSpec], settings: Settings, units: int) -> int:
    """As `expected_passes`, without measuring."""
    samples = settings.samples or SETTLED_BY
    return sum(spec.passes(units, samples, settings.steps) for spec in specs)


def measuring(orders: int, units: int) -> int:
    """Return how many passes at most measure so many orders under one operator, at the counts of the metrics, by
    removing and by keeping: of few units there are few masks."""
    counts = [count for count in metric_counts(units) if 0 < count < units]
    return min(sum(2 * min(orders, comb(units, count)) for count in counts), masks_of(units))


def masks_of(units: int) -> int:
    """Return how many masks of so many units there are."""
    return 1 << units


def seconds_left(expected: int, meter: Meter, elapsed: float) -> float | None:
    """Return about how many seconds the rest takes, after `elapsed` seconds of work; None before that is known.

    The pace is that of the passes so far: answers that were known already cost next to nothing.
    """
    if meter.calls < FEWEST or elapsed < EARLIEST:
        return None
    return max(expected - meter.answers, 0) * meter.passes_per_answer * elapsed / meter.calls
