"""When LIME and KernelSHAP have asked enough masks: the order of the top units and the metrics no longer change.

After every `BATCH` masks the estimate is looked at: which units are the top 20 %, and AOPC-C and AOPC-S. Sampling ends
where the last `CHECKS` looks agree with the present one: the same units, and both metrics within `VISIBLE`, the
difference below which a verdict sees none. In any case it ends with the last mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, takewhile

from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.results.attribution import ranking
from explainers.results.erasure_curves import metric_counts, top_count

BATCH, CHECKS = 50, 3
TOP = 20  # percent
VISIBLE = 0.02  # as `explainers.comparison.standings.SMALLEST`


@dataclass(frozen=True)
class Look:
    """`top` are the units of the highest scores, `metrics` AOPC-C and AOPC-S."""

    top: frozenset[int]
    metrics: tuple[float, float]

    def agrees(self, other: "Look") -> bool:
        near = all(abs(one - two) <= VISIBLE for one, two in zip(self.metrics, other.metrics, strict=True))
        return near and self.top == other.top


def look(answers: Answers, scores: tuple[float, ...], label: int) -> Look:
    """Asks for the masks of the metrics, which are known where the order is that of another look."""
    curves = erasure_curves(answers, scores, label, metric_counts(len(scores)))
    top = ranking(scores)[: top_count(len(scores), TOP)].tolist()
    return Look(frozenset(top), (aopc_comprehensiveness(curves), aopc_sufficiency(curves)))


def settled(looks: Sequence[Look]) -> bool:
    *before, now = looks
    return len(before) >= CHECKS and all(now.agrees(each) for each in before[-CHECKS:])


def batch_ends(masks: int, units: int) -> list[int]:
    """After how many of so many masks there is a look: every `BATCH`, from 4 masks a unit on so that a fit means much.

    The last one is `masks` itself.
    """
    ends = takewhile(lambda end: end < masks, count(max(BATCH, -(-4 * units // BATCH) * BATCH), BATCH))
    return [*ends, masks]
