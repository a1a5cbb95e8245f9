"""The joint order of several methods, which of them take part in it, and how far they agree.

    consensus(u) = 1 − mean rank of u / (n − 1)       ranks from 0, equal scores share the mean of their ranks

1: every method ranks the unit first; 0: every method ranks it last. Ranks make scores of any scale and sign count
alike. Scores that differ by less than `ALIKE` of the largest one are equal, so that the last digits of a processor
decide nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.methods.registry import MethodSpec, method_spec
from explainers.metrics.faithfulness import tied_at
from explainers.models.target import Target
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import PERCENTS, Attribution, floats, ranking

if TYPE_CHECKING:
    from explainers.metrics.erasure import MaskedPredictor
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

ALIKE = 1e-5  # of the largest score
FEWEST_METHODS = 2

JOINT_ORDER = MethodSpec(
    id=CONSENSUS,
    name="Consensus",
    group="Consensus",
    kind="joint",
    signed=False,
    idea="The mean rank of each unit over the methods that can be compared: 1 if every method ranks it first, 0 if "
    "every method ranks it last.",
    caution="Do not believe it where the methods hardly agree. It is not the best order by any metric, but it needs no "
    "trust in a single method and changes little with the seed.",
    formula=r"s_u=1-\frac{1}{M\,(n-1)}\sum_{m}\operatorname{rank}_m(u)",
    source="mean rank (Borda, 1781)",
    implementation="explainers.attribution.given:GivenScores",
    colour="#968200",
    passes=lambda _units, _samples, _steps: 0,
    supplied="is computed from the other methods. Omit it.",
)

Scores = tuple[float, ...]
Floats = NDArray[np.float64]


def spec_of(result: "MethodResult") -> MethodSpec:
    """Return what is known about the method of the result."""
    return method_spec(result.method)


def abstains(result: "MethodResult", comparison: "Comparison") -> bool:
    """Return whether the method explains something else than what is asked for, such as the predicted class."""
    return not spec_of(result).can_explain(comparison.decision.target, comparison.predicted)


def comparable_results(comparison: "Comparison") -> list["MethodResult"]:
    """Return the results that may be named: neither optimised on the metrics, nor random, one part or a person's
    order."""
    specs = ((result, spec_of(result)) for result in comparison.displayed_results)
    return [result for result, spec in specs if spec.comparable and not spec.is_random]


def takes_part(attribution: Attribution, target: Target, *, predicted: int) -> bool:
    """Return whether the method is one of the consensus about the target; `predicted` is the number of that class.

    Not if it is optimised on the metrics, a control of one part, a report of the model, a random or a person's order;
    not if it cannot explain the target; and not if it ranks nothing.
    """
    spec = method_spec(attribution.method)
    able = spec.can_explain(target, predicted)
    return spec.comparable and not spec.is_random and able and ranks_units(attribution.scores)


def members(answers: "MaskedPredictor", explained: Iterable[Attribution], target: Target) -> list[Scores]:
    """Return the scores of the attributions that take part in the consensus."""
    whole = answers.probabilities(np.ones((1, len(answers.encoding.units)), dtype=bool))
    return [member.scores for member in explained if takes_part(member, target, predicted=int(whole.argmax()))]


def ranks_units(scores: Scores) -> bool:
    """Return whether the scores order the units: not if all are equal, or if at every cut the position decides."""
    rounded = floats(_rounded(scores))
    return len(set(rounded)) > 1 and len(tied_at(rounded)) < len(PERCENTS)


def consensus_scores(rows: Sequence[Scores]) -> Scores:
    """Return the consensus of one or more score vectors of n units, (n,), each in [0, 1]."""
    from scipy.stats import rankdata  # takes a while, and the page does not need it

    last = max(1, len(rows[0]) - 1)
    ranks = [rankdata(-_rounded(scores), method="average") - 1 for scores in rows]
    return floats(np.round(1 - np.mean(ranks, axis=0) / last, 9))


def agreement(rows: Sequence[Scores], count: int) -> float:
    """Return the mean over pairs of the share of their top `count` units that they have in common; NaN for one row."""
    tops = [top_units(scores, count) for scores in rows]
    shares = [len(one & other) / count for one, other in combinations(tops, 2)]
    return float(np.mean(shares)) if shares else float("nan")


def by_agreement(rows: Mapping[str, Scores], count: int) -> tuple[str, ...]:
    """Return the methods, the one that shares most of its top `count` units with the others first.

    Only scores decide, never what the model answers; ties stay in the order of `rows`.
    """
    tops = {method: top_units(scores, count) for method, scores in rows.items()}
    shared = {
        method: sum(len(top & other) for name, other in tops.items() if name != method) for method, top in tops.items()
    }
    return tuple(sorted(rows, key=lambda method: -shared[method]))


def order_of_tests(methods: Iterable[str]) -> tuple[str, ...]:
    """Return the methods in the order of the tests: those that sample first, within both groups as given. That order
    must not read the metrics that are tested.

    A method is tested only if all those before it have passed. Those that sample pass most often, also where the
    model's answers are noise, since they ask about such masks as judge them (assets/docs/planted.md).
    """
    return tuple(sorted(methods, key=lambda method: method_spec(method).kind != "sampled"))


def top_units(scores: Scores, count: int) -> frozenset[int]:
    """Return the numbers of the `count` units with the highest scores; equal scores in the order of the input."""
    return frozenset(int(unit) for unit in ranking(floats(_rounded(scores)))[:count])


def _rounded(scores: Scores) -> Floats:
    """Return scores in whole multiples of `ALIKE` of the largest one, (n,)."""
    values = np.asarray(scores, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    rounded: Floats = np.round(values / (largest * ALIKE))
    return rounded
