"""Who leads under one erasure operator, by removing (AOPC-C) and by keeping (AOPC-S)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

from explainers.comparison.leaders import leaders
from explainers.metrics.faithfulness import verdict_metric
from explainers.results.verdict import Experiment

EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)
SMALLEST = 0.02  # difference in AOPC; with a smaller one another seed changes more verdicts (assets/docs/verdicts.md)
Values = Mapping[str, Mapping[str, float]]  # by method id and metric id


@dataclass(frozen=True)
class Standings:
    """By experiment: the methods that lead, and those beyond the 95 % band of the random orders.

    Clear: a method leads in both experiments, or one leads and in the other nobody does. Otherwise tied: different
    methods lead in the two, or some beat random orders and none is ahead.
    """

    leading: Mapping[Experiment, frozenset[str]]
    beating: Mapping[Experiment, frozenset[str]]

    @property
    def best(self) -> frozenset[str]:
        """Those of the foremost that beat random orders in both experiments; in one of them, several methods often do
        so by luck."""
        return self.foremost & frozenset.intersection(*self.beating.values())

    @property
    def foremost(self) -> frozenset[str]:
        """The methods that lead; where nobody does, those that beat random orders, if possible in both experiments."""
        removing, keeping = (self.leading[each] for each in EXPERIMENTS)
        if removing or keeping:
            return (removing & keeping) or (removing | keeping)
        beating = [self.beating[each] for each in EXPERIMENTS if self.beating[each]]
        everywhere = frozenset.intersection(*beating) if beating else frozenset[str]()
        return everywhere or self.beyond_random

    @property
    def clear(self) -> bool:
        removing, keeping = (self.leading[each] for each in EXPERIMENTS)
        return bool(removing & keeping) or bool(removing) != bool(keeping)

    @property
    def ahead(self) -> Mapping[Experiment, frozenset[str]]:
        """Who leads; where nobody leads in either experiment, who beats random orders."""
        return self.leading if any(self.leading.values()) else self.beating

    @property
    def reasons(self) -> tuple[Experiment, ...]:
        """The experiments in which one of the best is ahead."""
        return tuple(each for each in EXPERIMENTS if self.best & self.ahead[each])

    @property
    def beyond_random(self) -> frozenset[str]:
        """The methods that beat random orders in one of the experiments."""
        return frozenset[str]().union(*self.beating.values())


def standings(
    methods: Iterable[str],
    values: Values,
    noise: Values,
    random: Mapping[str, Sequence[float]],
    *,
    smallest: float = SMALLEST,
) -> Standings:
    """Of `methods`. `random` has by metric id the value of each random order; a lead below `smallest` is none."""
    chosen = [method for method in methods if method in values]
    leading, beating = {}, {}
    for experiment in EXPERIMENTS:
        metric = verdict_metric(experiment)
        scores = {method: values[method].get(metric.id, math.nan) for method in chosen}
        spread = {method: noise[method].get(metric.id, math.nan) for method in chosen}
        higher = metric.higher_is_better
        drawn = random.get(metric.id, (math.nan,))
        ahead = partial(leaders, noise=spread, random_scores=drawn, higher=higher, smallest=smallest)
        beating[experiment] = frozenset[str]().union(*(ahead({each: scores[each]}) for each in chosen))
        leading[experiment] = ahead(scores) & beating[experiment]
    return Standings(leading, beating)


def evidence(values: Mapping[str, float]) -> float:
    """AOPC-C - AOPC-S; NaN where one of them is not defined."""
    return sum(metric.sign * values.get(metric.id, math.nan) for metric in map(verdict_metric, EXPERIMENTS))
