"""Which explanation the evidence supports on one input, how surely, and when that cannot be judged."""

from dataclasses import dataclass
from typing import Any, Literal

from explainers.models.inputs.encoding import Erasure

Certainty = Literal["pending", "clear", "tied", "refused"]
Experiment = Literal["removing", "keeping"]


@dataclass(frozen=True)
class Effect:
    """p(class) after `experiment` with the top `percent` % of each of the best methods, and of random orders (mean)."""

    experiment: Experiment
    percent: int
    before: float
    after: tuple[float, ...]
    random: float


@dataclass(frozen=True)
class Verdict:
    """`best` are method ids, `refusal` says why nothing can be judged. `holds` tells for every other erasure operator
    that was tried whether the best methods lead there too. `within_random` are methods no better than random orders,
    `abstaining` those that did not answer for the asked class. `order` has every method, by evidence (AOPC-C - AOPC-S),
    the abstaining and the optimised last. `dissenter` is the method that disagrees most with the first of the best.
    `leading` has, for every experiment that decided, the best methods that lead there; `rivals` who leads in an
    experiment where none of the best does, but is within random orders in the other one. `provisional` while methods
    are still to come."""

    certainty: Certainty
    best: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    refusal: str = ""
    holds: tuple[tuple[Erasure, bool], ...] = ()
    within_random: tuple[str, ...] = ()
    abstaining: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    dissenter: str | None = None
    leading: tuple[tuple[Experiment, tuple[str, ...]], ...] = ()
    rivals: tuple[tuple[Experiment, tuple[str, ...]], ...] = ()
    provisional: bool = False

    @property
    def divided(self) -> bool:
        """Whether the methods that lead by removing are others than those that lead by keeping."""
        methods = [set(each) for _, each in self.leading]
        return self.certainty == "tied" and (len(methods) == 1 or not set.intersection(*methods))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `after` by method."""
        return {
            "certainty": self.certainty,
            "provisional": self.provisional,
            "best": list(self.best),
            "leading": {experiment: list(methods) for experiment, methods in self.leading},
            "rivals": {experiment: list(methods) for experiment, methods in self.rivals},
            "refusal": self.refusal,
            "effects": [
                {
                    "experiment": effect.experiment,
                    "percent": effect.percent,
                    "before": effect.before,
                    "after": dict(zip(self.best, effect.after, strict=True)),
                    "random": effect.random,
                }
                for effect in self.effects
            ],
            "holds": dict(self.holds),
            "within_random": list(self.within_random),
            "abstaining": list(self.abstaining),
            "order": list(self.order),
            "dissenter": self.dissenter,
        }
