"""Which units carry a decision, and how far to believe that: what a comparison answers."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from explainers.models.inputs.encoding import Erasure

Status = Literal["pending", "supported", "open"]
Group = Literal["consensus", "supported", "differs", "random", ""]  # of a method; "": it takes no part
Units = tuple[int, ...]  # numbers among the explained units
CONSENSUS = "consensus"  # id of the row of the joint order
ORDER_OF_TESTS = "first those that sample, such as LIME and KernelSHAP, then the others, each group by agreement"
LEVEL = 0.05
DECIDING = round(1 / LEVEL) - 1  # random orders: the fewest that an order can beat at this level
LEAST = 0.05  # of probability: what moves it less is no effect
SAME = 1e-7  # differences in T that are rounding


@dataclass(frozen=True)
class Null:
    """T = AOPC-C − AOPC-S of random orders, or with `exact` of every possible order; NaN is not among them."""

    values: tuple[float, ...]
    exact: bool = False

    def p(self, value: float) -> float:
        """Return how often an order is at least as good as one with T = `value`; 1 where T is not defined."""
        if math.isnan(value):
            return 1.0
        better = sum(other >= value - SAME for other in self.values)
        return better / len(self.values) if self.exact else (1 + better) / (len(self.values) + 1)

    def beaten_by(self, value: float) -> bool:
        """Return whether T = `value` is better than chance at `LEVEL`."""
        return bool(self.values) and self.p(value) <= LEVEL


@dataclass(frozen=True)
class ErasureEffect:
    """p(class) of the whole input, without and with only some units, and the means for as many random ones.

    `changes_class` tells whether another class is predicted without these units.
    """

    full: float
    removed: float
    kept: float
    random_removed: float
    random_kept: float
    changes_class: bool = False

    @property
    def shows_by_removing(self) -> bool:
        """Return whether the units differ from random ones by removing at least half as much as by keeping."""
        return 2 * (self.random_removed - self.removed) >= self.kept - self.random_kept

    @property
    def shown(self) -> tuple[float, float]:
        """Return p(class) after that experiment, with these units and with random ones."""
        if self.shows_by_removing:
            return self.removed, self.random_removed
        return self.kept, self.random_kept

    @property
    def is_small(self) -> bool:
        """Return whether these units move p hardly more than random ones, by removing and by keeping."""
        gains = self.random_removed - self.removed, self.kept - self.random_kept
        return max(gains) < LEAST

    def as_dict(self) -> dict[str, float]:
        return {
            "full": self.full,
            "removed": self.removed,
            "kept": self.kept,
            "random_removed": self.random_removed,
            "random_kept": self.random_kept,
        }


@dataclass(frozen=True)
class Confidence:
    """How often the consensus found exactly the planted units where the truth is known: a share in [0, 1] with
    the 95 % interval over so many `inputs`.

    Without `by_agreement` it does not depend on how much they agree, because that predicted no better.
    """

    share: float
    low: float
    high: float
    inputs: int = 0
    by_agreement: bool = False


@dataclass(frozen=True)
class Answer:
    """The decisive `words` of an input, the evidence for them, and the methods in three groups.

    `status`: pending before there is a consensus; supported if the consensus is better than chance; open otherwise,
    with the reason in `refusal`. `p` is how often a random order is as good as the consensus, `orders` the number of
    random orders, or with `exact` of all orders. `agreement` is the mean share of their first units that two methods
    have in common (`compared` methods, `cut` units each), `naming` the number of methods that have all of `words` among
    those; `members` are the methods of the consensus, which are compared. `holds` tells for every other erasure
    operator that was tried whether the consensus is better than chance there too. `supported` methods are better than
    chance and share most of the consensus' first units; `differs` are better than chance and have other ones, listed by
    method; `random` are not shown to be better than random orders: the first that was tested without success, and those
    after it. `single` is the one method that is ahead of all others, if there is one. `abstaining` methods did not
    answer for the asked class. `provisional` while methods are still to come.
    """

    status: Status
    words: Units = ()
    effect: ErasureEffect | None = None
    p: float | None = None
    orders: int = 0
    exact: bool = False
    agreement: float | None = None
    compared: int = 0
    members: tuple[str, ...] = ()
    cut: int = 0
    naming: int = 0
    holds: tuple[tuple[Erasure, bool], ...] = ()
    confidence: Confidence | None = None
    no_confidence: str = ""
    supported: tuple[str, ...] = ()
    differs: tuple[tuple[str, Units], ...] = ()
    random: tuple[str, ...] = ()
    abstaining: tuple[str, ...] = ()
    single: str | None = None
    refusal: str = ""
    provisional: bool = False

    @property
    def undecided(self) -> bool:
        """Return whether no order is better than random so far, and methods that may change that are still to come."""
        return self.status == "open" and self.provisional and not self.refusal

    @property
    def leading(self) -> bool:
        """Return whether no random order is as good so far, of none or too few to decide."""
        best = self.p is None or self.p == 1 / (self.orders + 1)
        return self.undecided and bool(self.words) and best and self.orders < DECIDING and not self.exact

    @property
    def marked(self) -> Units:
        """Return the words that carry the decision, or lead so far; none where other orders do as well."""
        return self.words if self.status == "supported" or self.leading else ()

    @property
    def robust(self) -> bool:
        """Return whether the consensus is better than chance under every operator that was tried."""
        return self.status == "supported" and all(holds for _, holds in self.holds)

    def group(self, method: str) -> Group:
        """Return the group in which a row stands."""
        if method == CONSENSUS:
            return "consensus"
        if method in self.supported:
            return "supported"
        if method in dict(self.differs):
            return "differs"
        return "random" if method in self.random else ""

    @property
    def order(self) -> tuple[str, ...]:
        """Return the consensus and the methods that were tested, group by group; methods that differ in the same words
        stand together."""
        units = list(dict.fromkeys(units for _, units in self.differs))
        differing = sorted(self.differs, key=lambda entry: units.index(entry[1]))
        return (CONSENSUS, *self.supported, *(method for method, _ in differing), *self.random)

    @property
    def better_than_chance(self) -> tuple[str, ...]:
        """The methods whose orders are better than chance; those that agree with the consensus first."""
        return (*self.supported, *(method for method, _ in self.differs))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; units by their numbers."""
        return {
            "status": self.status,
            "provisional": self.provisional,
            "words": list(self.words),
            "effect": self.effect.as_dict() if self.effect else None,
            "p": self.p,
            "orders": self.orders,
            "exact": self.exact,
            "agreement": self.agreement,
            "methods_compared": self.compared,
            "first_units": self.cut,
            "methods_naming_all": self.naming,
            "operators": dict(self.holds),
            "confidence": None if self.confidence is None else vars(self.confidence),
            "no_confidence": self.no_confidence or None,
            "supported": list(self.supported),
            "differs": {method: list(units) for method, units in self.differs},
            "random": list(self.random),
            "abstaining": list(self.abstaining),
            "single": self.single,
            "refusal": self.refusal or None,
        }
