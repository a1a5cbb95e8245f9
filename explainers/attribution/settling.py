"""When LIME and KernelSHAP have asked enough masks: the order of the top units and the metrics no longer change.

After every `BATCH` masks the estimate is looked at: which units are the top 20 %, and AOPC-C and AOPC-S. Sampling ends
where the last `CHECKS` looks agree with the present one: the same units, and both metrics within `VISIBLE`, the
difference below which a verdict sees none. In any case it ends with the last mask. The metrics need masks of their own,
so that they are read only where the units agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, takewhile

from explainers.memoized import memoized
from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.results.attribution import ranking
from explainers.results.erasure_curves import metric_counts, top_count

BATCH, CHECKS = 50, 3
TOP = 20  # percent
VISIBLE = 0.02  # as `explainers.comparison.standings.SMALLEST`


@dataclass(eq=False)
class Look:
    """At scores for class `label`. `top` are the units of the highest ones, `metrics` AOPC-C and AOPC-S."""

    answers: Answers
    scores: tuple[float, ...]
    label: int

    @memoized
    def top(self) -> frozenset[int]:
        return frozenset(ranking(self.scores)[: top_count(len(self.scores), TOP)].tolist())

    @memoized
    def metrics(self) -> tuple[float, float]:
        """Asks for the masks of the metrics."""
        curves = erasure_curves(self.answers, self.scores, self.label, metric_counts(len(self.scores)))
        return aopc_comprehensiveness(curves), aopc_sufficiency(curves)

    def near(self, other: "Look") -> bool:
        return all(abs(one - two) <= VISIBLE for one, two in zip(self.metrics, other.metrics, strict=True))


def settled(looks: Sequence[Look]) -> bool:
    """Whether the last look agrees with the `CHECKS` before it."""
    *before, now = looks
    last = before[-CHECKS:]
    return len(last) == CHECKS and all(now.top == each.top for each in last) and all(map(now.near, last))


def batch_ends(masks: int, units: int) -> list[int]:
    """After how many of so many masks there is a look: every `BATCH`, from 4 masks a unit on so that a fit means much.

    The last one is `masks` itself.
    """
    ends = takewhile(lambda end: end < masks, count(max(BATCH, -(-4 * units // BATCH) * BATCH), BATCH))
    return [*ends, masks]
