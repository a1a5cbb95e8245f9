"""Owen values (Owen, 1977): Shapley values between the sentences of an input, and then within each of them.

A sentence enters or leaves as a whole while another one is taken apart, so that the words of a sentence share exactly
what the sentence has as a unit:

    φ_s = Σ_T P(T) [p(T ∪ s) − p(T)]          T: sets of other sentences, P: uniform over sizes, then over sets
    φ_i for i in s: Shapley value of the game v_s(S) = Σ_T P(T) [p(T ∪ S) − p(T)],   v_s(s) = φ_s

Both levels are weighted regressions on masks, as in KernelSHAP. Within a sentence every mask of its words is asked
beside some of the sets T; what a set differs from the mean, α (p(T ∪ s) − p(T) − φ_s) with α = |S| / |s|, is taken off,
which changes no expectation and leaves only how the words share it. An image is one more coalition, of its patches;
of a single sentence Owen values are Shapley values.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.kernel_shap import KernelShap, kernel_weights
from explainers.attribution.mask_samples import DRAWS, Floats, Masks, inclusion, shared_masks
from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution, floats
from explainers.results.decision import SETTLED_BY

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure

PER_UNIT, MOST = 20, 2000  # masks within the sentences: for each of their units, and in all
CONTEXTS = 8  # sets of other sentences beside which a sentence is taken apart

OWEN = MethodSpec(
    id="owen",
    name="Owen values",
    group="Perturbation",
    kind="sampled",
    answers_only=True,
    signed=True,
    idea="Shapley values between sentences, then within each: the words of a sentence share what the sentence has.",
    caution="Do not believe single scores when the spread is as large as they are. Words that act together across "
    "sentences are told apart less than by KernelSHAP, because other sentences come and go as a whole.",
    formula=r"\phi_i=\sum_{S\subseteq s\setminus i}\frac{|S|!\,(|s|-|S|-1)!}{|s|!}\,(v_s(S\cup i)-v_s(S)),\quad "
    r"v_s(S)=\sum_T P(T)\,(p(T\cup S)-p(T))",
    source="Owen, 1977; for explanations: Lundberg's partition explainer in shap",
    implementation=f"{__name__}:Owen",
    colour="#7a6ff0",
    default=False,
    brief=(("per_unit", 10),),
    brief_passes=lambda units, samples, _steps: (
        max(samples or SETTLED_BY, min(20 * units, 2000)) + min(10 * units, MOST) + 2 * CONTEXTS * units
    ),
    passes=lambda units, samples, _steps: (
        max(samples or SETTLED_BY, min(20 * units, 2000)) + min(PER_UNIT * units, MOST) + 2 * CONTEXTS * units
    ),
    deviations=(
        "The coalitions are the sentences, both texts of a pair, and the image; shap's partition explainer halves a "
        "tree of the words again and again.",
    ),
)


@dataclass(frozen=True)
class Owen:
    """Costs what KernelSHAP costs for so many units as there are sentences, and 20 passes for each word of a sentence
    with several, at most 2,000, and 16 for each such sentence."""

    samples: int = 500
    per_unit: int = PER_UNIT
    erasure: "Erasure" = "mask"
    seed: int = 0

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        from explainers.metrics.erasure import MaskedPredictor

        coalitions, answers = coalitions_of(encoding), MaskedPredictor(model, encoding, self.erasure)
        between = KernelShap(samples=self.samples).count(int(coalitions.max()) + 1)
        scores, draws = owen_values(
            lambda masks: answers.probabilities(masks)[:, label], coalitions, between, self.seed, self.per_unit
        )
        return Attribution(
            OWEN.id,
            encoding,
            label,
            floats(scores),
            signed=OWEN.signed,
            spread=floats(np.std(draws, axis=0)),
            draws=tuple(map(floats, draws)),
            samples=len(answers.answers),
        )


def coalitions_of(encoding: "Encoding") -> NDArray[np.int64]:
    """The number of each unit's coalition, (units,): that of its sentence in order, and one for all patches. Each
    example of a prompt is one of its own."""
    if encoding.examples:
        return np.arange(len(encoding.units))
    sentences = [-1 if unit.box is not None else encoding.sentence_of(unit) for unit in encoding.units]
    numbers: NDArray[np.int64] = np.unique(sentences, return_inverse=True)[1].astype(np.int64)
    return numbers


def owen_values(
    answer: Callable[[Masks], Floats],
    coalitions: NDArray[np.int64],
    between: int,
    seed: int,
    per_unit: int = PER_UNIT,
) -> tuple[Floats, Floats]:
    """Estimates (units,), and `DRAWS` times what other samples might have given, (DRAWS, units).

    `answer` gives p for masks (B, units); `coalitions` (units,) number the units' sentences from 0; at most `between`
    masks are asked of whole sentences, and within them `per_unit` for each unit, `MOST` in all.
    """
    rng = np.random.default_rng([seed, len(coalitions), between])
    outer = Regression.between(answer, coalitions, between, seed)
    several = [number for number, size in enumerate(np.bincount(coalitions)) if size > 1]
    units_of_several = int(np.isin(coalitions, several).sum())
    share = min(1.0, MOST / max(per_unit * units_of_several, 1))  # of the masks a unit
    inner = {number: Regression.within(answer, coalitions, number, per_unit, share, rng) for number in several}

    def combined(totals: Floats, fitted: Callable[[Regression, float], Floats]) -> Floats:
        scores = totals[coalitions]
        for number, level in inner.items():
            scores[coalitions == number] = fitted(level, float(totals[number]))
        return scores

    draws = [
        combined(totals, lambda level, total: level.fit(total, level.redrawn(rng)))
        for totals in (outer.fit(0.0, outer.redrawn(rng)) for _ in range(DRAWS))
    ]
    return combined(outer.fit(0.0, outer.weights), lambda level, total: level.fit(total, level.weights)), np.array(
        draws
    )


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression: `masks` (N, players), of which the first two are nothing and everything and the others pairs of
    complements; `values` (N,), in which a total of the players counts by its `shares` (N,)."""

    masks: Masks
    values: Floats
    shares: Floats
    weights: Floats
    chance: Floats  # (N,): 0 where no other sample could have been drawn

    @classmethod
    def between(
        cls, answer: Callable[[Masks], Floats], coalitions: NDArray[np.int64], most: int, seed: int
    ) -> "Regression":
        """The sentences as players."""
        players = int(coalitions.max()) + 1
        masks = shared_masks(players, seed, most)
        weights = kernel_weights(masks) if players > 1 else np.ones(len(masks))
        chance = np.sqrt(1 - inclusion(masks))
        return cls(masks, answer(masks[:, coalitions]), np.zeros(len(masks)), weights, chance)

    @classmethod
    def within(
        cls,
        answer: Callable[[Masks], Floats],
        coalitions: NDArray[np.int64],
        number: int,
        per_unit: int,
        share: float,
        rng: np.random.Generator,
    ) -> "Regression":
        """The units of a sentence as players, each pair of their masks beside a set of other sentences."""
        inside = coalitions == number
        players = int(inside.sum())
        rows = max(int(per_unit * players * share), 4)
        pairs = shared_masks(players, int(rng.integers(2**31)), rows)
        sets = rng.permutation(list(contexts_of(int(coalitions.max()) + 1, number, rng)))  # (C, sentences)
        contexts = sets[:, coalitions]  # (C, units)
        places = list(turns(len(pairs) // 2 - 1, len(contexts)))[: max(rows // 2 - 1, 1)]
        own = np.vstack([pairs[2 + 2 * pair : 4 + 2 * pair] for pair, _ in places])  # (N - 2, players)
        beside = np.repeat([context for _, context in places], 2)
        masks = contexts[beside]
        masks[:, inside] = own
        without, whole = contexts & ~inside, contexts | inside
        asked = answer(np.vstack([masks, without, whole]))
        values, low, high = np.split(asked, [len(masks), len(masks) + len(contexts)])
        shares = own.mean(axis=1)
        own = np.vstack([np.zeros((1, players), dtype=bool), np.ones((1, players), dtype=bool), own])
        others = len(np.unique(coalitions[~inside]))
        possible = (2.0 ** min(players - 1, 500) - 1) * 2.0 ** min(others, 500)  # below the largest number
        about_mean = values - low[beside] - shares * (high - low)[beside]
        return cls(
            own,
            np.concatenate([[0.0, 0.0], about_mean]),
            np.concatenate([[0.0, 1.0], shares]),
            kernel_weights(own),
            np.full(len(own), np.sqrt(max(0.0, 1 - len(places) / possible))),
        )

    def fit(self, total: float, weights: Floats) -> Floats:
        """The players' values (players,), which sum to `total` where it counts."""
        from explainers.attribution.surrogate import quick_fit

        return quick_fit(self.masks.astype(float), self.values + self.shares * total, weights, 0.0)

    def redrawn(self, rng: np.random.Generator) -> Floats:
        """Bayesian bootstrap of the pairs (Rubin, 1981), (N,)."""
        pairs = np.arange(len(self.masks)) // 2
        drawn = rng.exponential(size=pairs[-1] + 1)
        drawn[0] = 1  # nothing and everything are in any sample
        weights: Floats = self.weights * (1 + self.chance * (drawn[pairs] - 1))
        return weights


def contexts_of(sentences: int, number: int, rng: np.random.Generator) -> Iterator[Masks]:
    """Sets of the other sentences, (sentences,) each: of sizes spread evenly over all, each with its complement."""
    others = np.flatnonzero(np.arange(sentences) != number)
    for place in range(CONTEXTS // 2):
        size = int((place + rng.random()) / (CONTEXTS // 2) * sentences)  # 0 … sentences - 1, each as likely
        chosen = np.zeros(sentences, dtype=bool)
        chosen[rng.permutation(others)[:size]] = True
        yield chosen
        complement = ~chosen
        complement[number] = False
        yield complement


def turns(pairs: int, contexts: int) -> Iterator[tuple[int, int]]:
    """Every pair of masks with every context, in rounds in which each pair comes once."""
    for later in range(contexts):
        for pair in range(pairs):
            yield pair, (pair + later) % contexts
