"""How long a comparison may compute: what does not fit into the budget is postponed, and told.

A run asks its budget before each part. The pace is that of the passes so far, so that nothing is postponed before it is
known. Parts that improve step by step end with the estimate that they have when their share of the time is over.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explainers.attribution.controls import RANDOM
from explainers.attribution.mask_samples import batch_ends
from explainers.comparison.price import FEWEST, masks_of, measuring, seconds_left
from explainers.methods.spec import SLOW, MethodSpec
from explainers.metrics.faithfulness import METRICS, SEARCHED_ORDERS
from explainers.models.meter import Meter
from explainers.results.attribution import curve_counts, first_counts
from explainers.results.settings import RANDOM_ORDERS, SETTLED_BY, Settings

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

WITH_GRADIENTS = 3  # passes forward that one with its gradients costs
ASK_MASKS = ("sampled", "one by one")  # kinds of methods that ask about masks, as the metrics do
OVERHEAD = 1.2  # the time of the passes with that of what lies between them


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

    def takes(self, passes: float) -> float:
        """Return about how many seconds so many passes take; 0 as long as the pace is not known."""
        meter = self.meter
        if meter.calls < FEWEST:
            return 0.0
        return OVERHEAD * passes * meter.passes_per_answer * meter.seconds / meter.calls

    def allows(self, passes: float) -> bool:
        """Return whether so many passes fit into what is left."""
        return self.takes(passes) <= self.left

    def seconds_left(self, expected: int) -> float | None:
        """Return about how many seconds the run takes from here on, where it needs so many passes in all and has the
        time for them; None before that is known."""
        left = seconds_left(expected, self.meter, self.spent)
        return None if left is None else min(left, max(self.left, 0.0))

    def until(self, seconds: float) -> Callable[[], bool]:
        """Return a function that tells whether so many seconds from now, or the budget, are over."""
        end = self.spent + seconds
        return lambda: self.spent >= min(end, self.seconds)

    def allows_control(self, orders: int, units: int) -> bool:
        """Return whether so many random orders are measured: there is no answer without them, so they may take half as
        long as the budget beyond it."""
        return self.takes(measuring(orders, units)) <= self.left + self.seconds / 2


UNLIMITED = Budget(math.inf, Meter())


def postponed_passes(comparison: "Comparison", specs: Sequence[MethodSpec]) -> int:
    """Return about how many passes the parts take that did not fit into the comparison's budget."""
    units, settings = len(comparison.decision.encoding.units), comparison.decision.settings
    operators = len(set(comparison.decision.card.erasures).intersection(comparison.postponed))
    missing = operators * measuring(len(specs) + RANDOM_ORDERS, units)
    missing += measuring(RANDOM_ORDERS, units) if RANDOM.id in comparison.postponed else 0
    if any(metric in METRICS.ids for metric in comparison.postponed):
        missing += SEARCHED_ORDERS * len(curve_counts(units))
    for spec in specs:
        result = comparison.result(spec.id)
        whole = spec.passes(units, settings.samples or SETTLED_BY, settings.steps)
        whole = min(whole, masks_of(units)) if spec.kind in ASK_MASKS else whole
        if result is not None and result.attribution.ended_early:
            missing += max(whole - result.attribution.model_calls, 0)
        elif spec.id in comparison.postponed:
            missing += whole + measuring(1, units)
    return missing


def first_passes(spec: MethodSpec, settings: Settings, units: int, unasked: int) -> int:
    """Return how many passes a method takes until it has something to show, and to measure that. So many masks of the
    units are `unasked`; the answers about all others are known."""
    passes = spec.passes(units, settings.samples or SETTLED_BY, settings.steps)
    if spec.kind == "sampled":
        passes = min(passes, batch_ends(passes, units)[0])
    elif spec.kind in SLOW:
        passes = 0  # it improves from its first step on
    if spec.kind in ASK_MASKS:
        return min(passes + curve_passes(units, unasked), unasked)
    return passes * (WITH_GRADIENTS if spec.kind == "gradients" else 1) + curve_passes(units, unasked)


def curve_passes(units: int, unasked: int) -> int:
    """Return about how many passes the curves of one order take as they are drawn, with the search for a flip."""
    return min(2 * len(first_counts(units)) + len(curve_counts(units)) // 4, unasked)
