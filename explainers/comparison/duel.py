"""The duel: the smallest experiment that separates two attributions of one decision.

    claims(A | B) = units that A scores above 0 and ranks among its first max(k, 20 %), and B in its lower half;
                    where either has fewer than k of these: not among B's first
    a side        = the first k of its claims
    lead(k)       = |p without B's side − p without A's side|, in multiples of what random sides lead by on average
    p             = (1 + #{pairs of random sides with a larger lead of k = 1, 2, 3}) / (1 + #{pairs of random sides})
    k             = the first of 1, 2, 3 whose lead alone reaches p ≤ .05

The test is `Null`, as for the answer. Random sides are the first and the last k units of random orders; pairs have no
unit in common, as those of a duel. The sides follow from the ranks alone; nothing is chosen by what the model answers.
A side wins if p without its units is also lower than without random units on average. Where the logit is a sum of
effects with heavy tails (t, 2 df), two random orders get a winner in 4, 7 and 6 % of trials with 10, 20 and 40 units;
the true order wins against a random one in 28, 53 and 68 %, and never loses (tests/comparison/test_duel_rates.py).
Units with equal scores share the mean of their ranks.

The results of a comparison already tell the answers about many masks of its input; only the others are asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.controls import control_orders
from explainers.methods.registry import method_spec
from explainers.metrics.erasure import MaskedPredictor, erasure_masks
from explainers.results.answer import Null, Units
from explainers.results.attribution import Attribution, ErasureCurves, ranking, top_count
from explainers.results.events import Duel, DuelSide

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

MOST_UNITS = 3  # per side
SMALLEST = 0.02  # of p; a smaller lead separates nothing
Sides = tuple[Units, Units]
Floats = NDArray[np.float64]
Pair = tuple[str, str]  # ids of two methods
HIGH = 20  # percent


@dataclass(frozen=True)
class Chance:
    """What random sides reach: p(label) without their first 1, 2, 3 units (sides, sizes), by size the usual lead, and
    the null of the largest lead of a pair in multiples of the usual ones."""

    sides: tuple[Units, ...]
    removed: Floats
    usual: tuple[float, ...]
    null: Null

    @classmethod
    def of(cls, sides: Sequence[Units], removed: Floats) -> "Chance":
        """Only pairs of sides without a common unit count."""
        pairs = [pair for pair in combinations(range(len(sides)), 2) if not set(sides[pair[0]]) & set(sides[pair[1]])]
        leads = np.abs(np.asarray([removed[one] - removed[other] for one, other in pairs]))  # (pairs, sizes)
        usual = np.maximum(SMALLEST, leads.mean(axis=0)) if pairs else np.full(removed.shape[1], np.inf)
        largest = (leads / usual).max(axis=1) if pairs else np.empty(0)
        return cls(tuple(sides), removed, tuple(usual.tolist()), Null(tuple(largest.tolist())))

    def draws(self, size: int) -> dict[Units, float]:
        """Return p(label) without each set of `size` random units."""
        return {
            tuple(sorted(side[:size])): float(p) for side, p in zip(self.sides, self.removed[:, size - 1], strict=True)
        }

    def lead(self, removed: tuple[float, float], size: int) -> float:
        """Return by how much p without two sides differs, in multiples of the usual lead."""
        return abs(removed[0] - removed[1]) / self.usual[size - 1]

    def winner(self, removed: tuple[float, float], size: int) -> int | None:
        """Return 0 or 1 for the side that wins by the rule above, p without either side given; None where the
        experiment does not separate them."""
        better = int(np.argmin(removed))
        real = abs(removed[0] - removed[1]) > SMALLEST and self.null.beaten_by(self.lead(removed, size))
        return better if real and removed[better] < float(np.mean([*self.draws(size).values()])) else None


@dataclass(frozen=True)
class _Removal:
    """p(label) without the units of either side."""

    sides: Sides
    removed: tuple[float, float]

    @property
    def size(self) -> int:
        return len(self.sides[0])


def duel(comparison: "Comparison", methods: Pair, answers: MaskedPredictor) -> Duel | None:
    """Return the smallest experiment, even if none separates the methods; the model is asked what is not known yet.

    None where the methods make no opposite claims. `answers` are about the comparison's input, to be shared.
    """
    claims = _claims(comparison, methods)
    if not claims:
        return None
    experiment = _Experiment.about(comparison, answers)
    return _fought(experiment, experiment.chance(comparison.decision.settings.seed), methods, claims)


def separable_duel(comparison: "Comparison", answers: MaskedPredictor) -> Duel | None:
    """Return the first duel that has a winner, of the methods that are better than chance; None if there is none.

    Pairs that ask least come first; then those in which the first method has more in common with the others.
    """
    possible = {pair: _claims(comparison, pair) for pair in duel_candidates(comparison)}
    if not any(possible.values()):
        return None
    experiment = _Experiment.about(comparison, answers)
    chance = experiment.chance(comparison.decision.settings.seed)
    cost = {
        pair: sum(experiment.is_new(side) for sides in claims for side in sides) for pair, claims in possible.items()
    }
    for pair in sorted((pair for pair in possible if possible[pair]), key=lambda pair: cost[pair]):
        fought = _fought(experiment, chance, pair, possible[pair])
        if fought.winner is not None:
            return fought
    return None


def known_answers(comparison: "Comparison") -> dict[bytes, float]:
    """Return p(class) by mask (bytes of booleans, true = kept), from all erasure curves and from occlusion's scores."""
    decision, known = comparison.decision, dict[bytes, float]()
    control = comparison.random_control
    if control is not None:
        orders = control_orders(len(decision.encoding.units), decision.settings.seed)
        for scores, curves in zip(orders, control.curves, strict=False):
            known |= _along(scores, curves, decision.label)
    for result in comparison.results:
        known |= _along(result.attribution.scores, result.curves, decision.label)
    for result in comparison.results:
        attribution = result.attribution
        if method_spec(attribution.method).kind == "one by one" and attribution.label == decision.label:
            alone = ~np.eye(len(attribution.scores), dtype=bool)
            falls = zip(alone, attribution.scores, strict=True)
            known = {mask.tobytes(): result.curves.full - score for mask, score in falls} | known
    return known


def _fought(experiment: "_Experiment", chance: Chance, methods: Pair, claims: Sequence[Sides]) -> Duel:
    removals = experiment.removals(claims)
    winners = [chance.winner(removal.removed, removal.size) for removal in removals]
    at = next((number for number, winner in enumerate(winners) if winner is not None), 0)
    p = chance.null.p(max(chance.lead(removal.removed, removal.size) for removal in removals))
    winner = winners[at]
    return experiment.completed(methods, removals[at], chance, p, None if winner is None else methods[winner])


@dataclass(frozen=True)
class _Experiment:
    """Asks for p(label) without sets of units, and with only them. `known` are answers by mask."""

    answers: MaskedPredictor
    label: int
    known: dict[bytes, float]

    @classmethod
    def about(cls, comparison: "Comparison", answers: MaskedPredictor) -> "_Experiment":
        return cls(answers, comparison.decision.label, known_answers(comparison))

    def chance(self, seed: int) -> Chance:
        """Return what random sides reach, those of the random control."""
        orders = [ranking(order).tolist() for order in control_orders(len(self.answers.encoding.units), seed)]
        sides = [tuple(ranked[:MOST_UNITS]) for order in orders for ranked in (order, order[::-1])]
        sizes = range(1, MOST_UNITS + 1)
        p = self.probabilities([side[:size] for side in sides for size in sizes], kept=False)
        return Chance.of(sides, np.reshape(p, (len(sides), len(sizes))))

    def removals(self, claims: Sequence[Sides]) -> list[_Removal]:
        """Return what happens without each pair of sides, the smaller ones first."""
        p = iter(self.probabilities([side for sides in claims for side in sides], kept=False))
        return [_Removal(sides, (next(p), next(p))) for sides in claims]

    def completed(self, methods: Pair, removal: _Removal, chance: Chance, p: float, winner: str | None) -> Duel:
        """Return the duel, with p of either side's units alone, and of random ones alone."""
        draws = chance.draws(len(removal.sides[0]))
        kept = self.probabilities([*removal.sides, *draws], kept=True)
        (full,) = self.probabilities([()], kept=False)
        first, second = (
            DuelSide(method, tuple(sorted(units)), without, only)
            for method, units, without, only in zip(methods, removal.sides, removal.removed, kept[:2], strict=True)
        )
        return Duel((first, second), full, tuple(draws.values()), tuple(kept[2:]), winner, p)

    def probabilities(self, sets: Sequence[Units], *, kept: bool) -> list[float]:
        """Return p(label) without each of the sets, or with only it."""
        masks = np.asarray([self._mask(units, kept=kept) for units in sets])
        new = np.asarray([mask.tobytes() not in self.known for mask in masks])
        if new.any():
            asked = self.answers.probabilities(masks[new])[:, self.label]
            self.known.update(zip((mask.tobytes() for mask in masks[new]), map(float, asked), strict=True))
        return [self.known[mask.tobytes()] for mask in masks]

    def is_new(self, units: Units) -> bool:
        """Return whether the model has to be asked about the input without these units."""
        return self._mask(units, kept=False).tobytes() not in self.known

    def _mask(self, units: Units, *, kept: bool) -> NDArray[np.bool_]:
        mask = np.full(len(self.answers.encoding.units), not kept)
        mask[list(units)] = kept
        return mask


def _along(scores: tuple[float, ...], curves: ErasureCurves, label: int) -> dict[bytes, float]:
    kept = len(curves.kept) > 0
    masks = erasure_masks(scores, curves.counts, kept=kept)
    probabilities = np.vstack([curves.removed, curves.kept]) if kept else curves.removed
    return {mask.tobytes(): float(p) for mask, p in zip(masks, probabilities[:, label], strict=True)}


def _claims(comparison: "Comparison", methods: Pair) -> list[Sides]:
    """The opposite claims of 1, 2 and 3 units as far as there are any."""
    pair = _attributions(comparison, methods)
    if pair is None:
        return []
    claims = [opposite_claims(*pair, size) for size in range(1, MOST_UNITS + 1)]
    return [sides for sides in claims if sides is not None]


def _attributions(comparison: "Comparison", methods: Pair) -> tuple[Attribution, Attribution] | None:
    if methods[0] == methods[1] or not all(can_duel(comparison, method) for method in methods):
        return None
    attributions = {result.method: result.attribution for result in comparison.results}
    return attributions[methods[0]], attributions[methods[1]]


def can_duel(comparison: "Comparison", method: str) -> bool:
    """Return whether it ranks units by what it read off the model, or by a person's order, for the explained class."""
    spec, label = method_spec(method), comparison.decision.label
    labels = {result.attribution.method: result.attribution.label for result in comparison.results}
    return labels.get(method) == label and not (spec.is_random or spec.is_single_part or spec.is_joint)


def duel_candidates(comparison: "Comparison") -> Iterator[Pair]:
    """Yield the pairs of methods that are better than chance and may duel."""
    answer = comparison.answer
    named = answer.better_than_chance if answer is not None else ()
    yield from combinations([method for method in named if can_duel(comparison, method)], 2)


def opposite_claims(first: Attribution, second: Attribution, size: int) -> tuple[Units, Units] | None:
    """The first `size` claims of either side, its highest ones first; None where one of them has fewer.

    First those that the other side ranks in its lower half, then those that it does not rank among its first.
    """
    units = len(first.scores)
    high = max(size, top_count(units, HIGH))
    for low in (max(high, units / 2), high):
        claims = _claims_of(first, second, high, low), _claims_of(second, first, high, low)
        if min(map(len, claims)) >= size:
            return claims[0][:size], claims[1][:size]
    return None


def _claims_of(ours: Attribution, theirs: Attribution, high: float, low: float) -> Units:
    rank, other = mean_ranks(ours.scores), mean_ranks(theirs.scores)
    positive = np.asarray(ours.scores) > 0
    claimed = np.flatnonzero(positive & (rank < high) & (other >= low))
    return tuple(int(unit) for unit in sorted(claimed, key=lambda unit: (rank[unit], -other[unit])))


def mean_ranks(scores: Sequence[float]) -> NDArray[np.float64]:
    """0 for the highest score; equal scores share the mean of their ranks."""
    from scipy.stats import rankdata  # takes a while, and the page does not need it

    ranks: NDArray[np.float64] = rankdata(-np.asarray(scores, dtype=float), method="average") - 1
    return ranks
