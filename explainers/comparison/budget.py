"""What a comparison costs, and how long it may compute: what does not fit into the budget is postponed, and told.

A run asks its budget before each part. The pace is that of the passes so far, so that nothing is postponed before it is
known. Parts that improve step by step end with the estimate that they have when their share of the time is over.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

from explainers.attribution import controls, mask_samples
from explainers.methods.registry import SLOW, MethodSpec
from explainers.metrics.faithfulness import DRAWS, METRICS, SEARCHED_ORDERS
from explainers.models.calls import Meter
from explainers.results.attribution import curve_counts, first_counts, metric_counts
from explainers.results.decision import RANDOM_ORDERS, SETTLED_BY, Settings

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

FEWEST, EARLIEST = 20, 1.0  # passes and seconds after which the speed is known
WITH_GRADIENTS = 3  # passes forward that one with its gradients costs
ASK_MASKS = ("sampled", "one by one")  # kinds of methods that ask about masks, as the metrics do
FEWEST_ORDERS, ORDERS_AT_ONCE = 4, 5  # random orders that say something, and those between two looks at the time
OVERHEAD = 1.2  # the time of the passes with that of what lies between them


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


def measuring_passes(orders: int, units: int) -> int:
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


@dataclass(eq=False)
class Budget:
    """`seconds` of work from `began` (time.perf_counter()) on, without those for which the meter's run waited. They may
    change while a run computes."""

    seconds: float
    meter: Meter = field(repr=False)
    began: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began - self.meter.waited

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def takes(self, passes: float, *, fewest: int = FEWEST) -> float:
        """Return about how many seconds so many passes take; 0 as long as the pace is not known from the `fewest`."""
        meter = self.meter
        if meter.calls < fewest:
            return 0.0
        return OVERHEAD * passes * meter.passes_per_answer * meter.seconds / meter.calls

    def allows(self, passes: float, *, fewest: int = FEWEST) -> bool:
        """Return whether so many passes fit into what is left; none always do."""
        return not passes or self.takes(passes, fewest=fewest) <= self.left

    def seconds_left(self, expected: int) -> float | None:
        """Return about how many seconds the run takes from here on, where it needs so many passes in all and has the
        time for them; None before that is known."""
        left = seconds_left(expected, self.meter, self.spent)
        return None if left is None else min(left, max(self.left, 0.0))

    def until(self, seconds: float) -> Callable[[], bool]:
        """Return a function that tells whether so many seconds from now, or the budget, are over."""
        end = self.spent + seconds
        return lambda: self.spent >= min(end, self.seconds)

    def overrun(self) -> bool:
        """Return whether the run has taken one and a half times its budget: a method that cannot end early is broken
        off then."""
        return self.spent >= 1.5 * self.seconds

    def allows_answer(self, passes: float, *, fewest: int = FEWEST) -> bool:
        """Return whether so many passes are made without which there is no answer: they may take half as long as the
        budget beyond it."""
        return self.takes(passes, fewest=fewest) <= self.left + self.seconds / 2

    def next_orders(self, done: int, orders: int, units: int) -> int:
        """Return how many random orders are measured before the next look at the time, after so many of them: of all,
        where the answer may take that long, else of those that fit into what is left, and in any case of a few. The
        pace is that of any passes so far: a few at an unknown pace may take longer than the budget."""
        missing = orders - done
        if self.allows_answer(measuring_passes(missing, units), fewest=1):
            quick = self.takes(measuring_passes(ORDERS_AT_ONCE, units), fewest=1) <= self.seconds / 10
            return min(ORDERS_AT_ONCE if quick else 1, missing)
        one = measuring_passes(1, units)
        allowed = self.allows(one, fewest=1) or (done < FEWEST_ORDERS and self.allows_answer(one, fewest=1))
        return int(allowed)

    def for_slow(self, slow: int, methods: int, units: int, operators: int, unasked: int) -> float:
        """Return the seconds for one of so many slow methods that are left: an equal share of what the other operators
        do not need, or of everything where they need more than half of it. So many `methods` are measured in all."""
        reserved = self.takes(measuring_passes(methods + RANDOM_ORDERS + 1, units) * operators)
        left = self.left - (reserved if 2 * reserved <= self.left else 0)
        return left / slow - self.takes(min(curve_passes(units, unasked) + measuring_passes(DRAWS, units), unasked))


UNLIMITED = Budget(math.inf, Meter())


def postponed_passes(comparison: "Comparison", specs: Sequence[MethodSpec]) -> int:
    """Return about how many passes the parts take that did not fit into the comparison's budget."""
    units, settings = len(comparison.decision.encoding.units), comparison.decision.settings
    operators = len(set(comparison.decision.card.erasures).intersection(comparison.postponed))
    missing = operators * measuring_passes(len(specs) + RANDOM_ORDERS, units)
    control = comparison.random_control
    orders = RANDOM_ORDERS - (len(control.curves) if control is not None else 0)
    missing += measuring_passes(orders, units) if controls.RANDOM.id in comparison.postponed else 0
    if any(metric in METRICS.ids for metric in comparison.postponed):
        missing += SEARCHED_ORDERS * len(curve_counts(units))
    for spec in specs:
        result = comparison.result(spec.id)
        whole = spec.passes(units, settings.samples or SETTLED_BY, settings.steps)
        whole = min(whole, masks_of(units)) if spec.kind in ASK_MASKS else whole
        if result is not None and result.attribution.ended_early:
            missing += max(whole - result.attribution.model_calls, 0) + curve_passes(units, masks_of(units))
        elif spec.id in comparison.postponed:
            missing += whole + measuring_passes(1, units)
    return missing


def first_passes(spec: MethodSpec, settings: Settings, units: int, unasked: int) -> int:
    """Return how many passes a method takes until it has something to show, and to measure that. So many masks of the
    units are `unasked`; the answers about all others are known."""
    passes = spec.passes(units, settings.samples or SETTLED_BY, settings.steps)
    if spec.kind == "sampled":
        passes = min(passes, mask_samples.batch_ends(passes, units)[0])
    elif spec.kind in SLOW:
        passes = 0  # it improves from its first step on
    if spec.kind in ASK_MASKS:
        return min(passes + curve_passes(units, unasked), unasked)
    return max(passes * (WITH_GRADIENTS if spec.kind == "gradients" else 1) + curve_passes(units, unasked), 1)


def curve_passes(units: int, unasked: int) -> int:
    """Return about how many passes the curves of one order take as they are drawn, with the search for a flip."""
    return min(2 * len(first_counts(units)) + len(curve_counts(units)) // 4, unasked)
