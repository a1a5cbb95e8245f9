"""The duel: the smallest experiment that separates two attributions of one decision.

    claims(A | B) = units that A scores above 0 and ranks among its first max(k, 20 %), and B in its lower half;
                    where either has fewer than k of these: not among B's first
    a side        = the first k of its claims
    k             = the first of 1, 2, 3 for which one side wins

The sides follow from the ranks alone; nothing is chosen by what the model answers. A side wins if p without its units
is lower than without random units on average, and lower than without the other's by more than random sides of the same
sizes lie apart (`random_sides.needed_leads`). Where the logit is a sum of effects with heavy tails (t, 2 df), two
random orders get a winner in 6-7 % of trials; the true order wins against a random one in 34, 55 and 69 % of trials
with 10, 20 and 40 units, and never loses (tests/comparison/test_duel_rates.py). With few units luck is often as good.
Units with equal scores share the mean of their ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.claims import Units, can_duel, opposite_claims
from explainers.comparison.known_answers import known_answers
from explainers.comparison.random_sides import needed_leads, random_sides
from explainers.metrics.erasure import Answers
from explainers.results.attribution import Attribution
from explainers.results.duel import Duel, DuelSide

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

MOST_UNITS = 3  # per side
ROUNDING = 1e-6  # of p; sides that differ by less are equal


def duel(comparison: "Comparison", methods: tuple[str, str], answers: Answers | None = None) -> Duel | None:
    """Asks the model what the comparison does not tell. The smallest experiment, even if none separates the methods.

    None where the methods make no opposite claims. `answers` are about the comparison's input, to be shared.
    """
    question = comparison.question
    pair = _attributions(comparison, methods)
    if pair is None:
        return None
    claims = [opposite_claims(*pair, size) for size in range(1, MOST_UNITS + 1)]
    possible = [sides for sides in claims if sides is not None]
    if not possible:
        return None
    answers = answers or Answers(question.model, question.encoding, question.settings.erasure)
    experiment = _Experiment(answers, question.label, question.settings.seed, known_answers(comparison))
    removals = experiment.removals(possible)
    separating = [removal for removal in removals if removal.leading is not None]
    return experiment.completed(methods, (separating or removals)[0])


@dataclass(frozen=True)
class _Removal:
    """p(label) with all units, without those of either side, and without the random `draws`."""

    sides: tuple[Units, Units]
    draws: tuple[Units, ...]
    full: float
    removed: tuple[float, float]
    random: tuple[float, ...]
    needed: float

    @property
    def leading(self) -> int | None:
        return leading_side(self.removed, self.random, self.needed)


@dataclass(frozen=True)
class _Experiment:
    """Asks for p(label) without sets of units, and with only them. `known` are answers by mask."""

    answers: Answers
    label: int
    seed: int
    known: dict[bytes, float]

    def removals(self, claims: Sequence[tuple[Units, Units]]) -> list[_Removal]:
        """Without each pair of sides, the smaller ones first, and without as many random units."""
        sizes = [len(first) for first, _ in claims]
        random = random_sides(self.answers, sizes[-1], self.seed)
        asked = [side for sides in claims for side in sides]
        firsts = [side[:size] for side in random for size in sizes]
        full, *removed = self.probabilities([(), *asked, *firsts], kept=False)
        by_side = np.reshape(removed[len(asked) :], (len(random), len(sizes)))
        needed = needed_leads(random, by_side)
        removals = []
        for at, (sides, size) in enumerate(zip(claims, sizes, strict=True)):
            draws = {tuple(sorted(side[:size])): float(p) for side, p in zip(random, by_side[:, at], strict=True)}
            values = (removed[2 * at], removed[2 * at + 1])
            removals.append(_Removal(sides, tuple(draws), full, values, tuple(draws.values()), float(needed[at])))
        return removals

    def completed(self, methods: tuple[str, str], removal: _Removal) -> Duel:
        """With p of either side's units alone, and of random ones alone."""
        kept = self.probabilities([*removal.sides, *removal.draws], kept=True)
        first, second = (
            DuelSide(method, tuple(sorted(units)), without, only)
            for method, units, without, only in zip(methods, removal.sides, removal.removed, kept[:2], strict=True)
        )
        winner = None if removal.leading is None else methods[removal.leading]
        return Duel((first, second), removal.full, removal.random, tuple(kept[2:]), winner)

    def probabilities(self, sets: Sequence[Units], *, kept: bool) -> list[float]:
        """p(label) without each of the sets, or with only it."""
        masks = np.full((len(sets), len(self.answers.encoding.units)), not kept)
        for row, units in enumerate(sets):
            masks[row, list(units)] = kept
        new = np.asarray([mask.tobytes() not in self.known for mask in masks])
        if new.any():
            asked = self.answers.probabilities(masks[new])[:, self.label]
            self.known.update(zip((mask.tobytes() for mask in masks[new]), map(float, asked), strict=True))
        return [self.known[mask.tobytes()] for mask in masks]


def leading_side(removed: tuple[float, float], random: Sequence[float], needed: float) -> int | None:
    """0 or 1 for the side that wins by the rule above, p without either side's units and without random ones given."""
    better = int(np.argmin(removed))
    real = removed[1 - better] - removed[better] > needed + ROUNDING
    return better if real and removed[better] < float(np.mean(random)) else None


def _attributions(comparison: "Comparison", methods: tuple[str, str]) -> tuple[Attribution, Attribution] | None:
    if methods[0] == methods[1] or not all(can_duel(comparison, method) for method in methods):
        return None
    attributions = {result.attribution.method: result.attribution for result in comparison.results}
    return attributions[methods[0]], attributions[methods[1]]
