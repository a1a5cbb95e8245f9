"""SolveX (Zhou and Shah, Findings of EACL 2023): the order of words for which the metric is best, found by beam search.

Comprehensiveness and sufficiency are read from the first k words of an order, so that an order can be sought for them
(their Section 4). A set S that is reached by adding its words one after the other is worth

    Σ_k p(label | S_k alone) - p(label | x without S_k),   S_1 ⊂ S_2 ⊂ … ⊂ S

and the best sets of each size are carried on, each with its best order. The order's k-th word scores n + 1 - k, less
one number for all, that for which most signs are those of erasing a word alone (their Section 4.3), divided by n.

The order says how good the metric can be on an input. It is optimised on what judges the methods, so that it is listed
and never leads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.errors import ExplanationError
from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution, Floats, floats

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure

BEAM, MOST_PASSES = 10, 4000
MOST_UNITS = 60  # a beam of one still fits


def beam_of(units: int) -> int:
    """Return how many sets of each size are carried on, so that at most `MOST_PASSES` inputs are asked."""
    return max(1, min(BEAM, MOST_PASSES // (units * (units + 1))))


def search_passes(units: int) -> int:
    """Return the number of inputs at most: both ends, single words, and what each set that is carried on becomes."""
    longer = (
        min(min(beam_of(units), comb(units, size)) * (units - size), comb(units, size + 1)) for size in range(units - 1)
    )
    return 2 + 2 * (units + sum(longer))


SOLVEX = MethodSpec(
    id="solvex",
    name="SolveX",
    group="Perturbation",
    kind="sampled",
    answers_only=True,
    signed=True,
    idea="Searches for the order of words whose comprehensiveness and sufficiency are best: how good these metrics can "
    "be on this input.",
    caution="Do not compare it with the others: it was sought for the numbers that judge them, and may exploit "
    "how the model reacts to incomplete texts.",
    formula=r"\arg\max_{\pi}\sum_k p(y\mid x_{\pi_{1..k}})-p(y\mid x_{\setminus\pi_{1..k}})",
    source="Zhou and Shah, Findings of EACL 2023",
    implementation=f"{__name__}:SolveX",
    colour="#b4643c",
    passes=lambda units, _samples, _steps: search_passes(units),
    default=False,
    optimised=True,
    deviations=(
        f"{BEAM} sets of each size are carried on where that asks at most {MOST_PASSES:,} inputs, and fewer of longer "
        "texts; the paper carries on 100.",
        "The metrics of the table read a few of the sizes; the search sums over all of them, as in the paper.",
    ),
)


Values = Callable[[NDArray[np.bool_]], tuple[Floats, Floats]]  # of sets (N, units), kept and removed, (N,) each


@dataclass(frozen=True)
class SolveX:
    """Costs at most `search_passes` inputs. Raises `ExplanationError` for more than `MOST_UNITS` units."""

    erasure: "Erasure" = "mask"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        *_, last = self.refine(model, encoding, label)
        return last

    def refine(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Iterator[Attribution]:
        """An estimate after each size, in which the words that are not placed yet follow by their effect alone."""
        units = len(encoding.units)
        if units > MOST_UNITS:
            raise ExplanationError(f"SolveX orders at most {MOST_UNITS} units, and this input has {units}.")

        def values(sets: NDArray[np.bool_]) -> tuple[Floats, Floats]:
            asked = model.probabilities(encoding, np.concatenate([sets, ~sets]), self.erasure)[:, label]
            return asked[: len(sets)], asked[len(sets) :]

        (everything,), _ = values(np.ones((1, units), dtype=bool))
        alone = everything - values(np.eye(units, dtype=bool))[1]
        for order in best_orders(values, units, beam_of(units)):
            placed = (*order, *(unit for unit in np.argsort(-alone, kind="stable").tolist() if unit not in order))
            yield Attribution(
                SOLVEX.id,
                encoding,
                label,
                floats(signed(placed, alone)),
                signed=SOLVEX.signed,
                stage="final" if len(order) == units else "estimate",
            )


def best_orders(values: Values, units: int, beam: int) -> Iterator[tuple[int, ...]]:
    """Yield the best beginnings of an order that are found when `beam` sets of each size are carried on, each longer by
    one unit, and at last the whole order.

    It is the best of all orders where `beam` is at least the number of sets of any size.
    """
    kept: dict[tuple[int, ...], float] = {(): 0.0}  # orders of different sets of one size, and what they are worth
    for _ in range(1, units):
        longer: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
        for order, worth in kept.items():
            for unit in set(range(units)).difference(order):
                members = frozenset((*order, unit))
                longer[members] = max(longer.get(members, (-np.inf, ())), (worth, (*order, unit)))
        sets = np.array([[unit in members for unit in range(units)] for members in longer])
        alone, without = values(sets)
        found = [(worth + gain, order) for (worth, order), gain in zip(longer.values(), alone - without, strict=True)]
        kept = {order: worth for worth, order in sorted(found, key=lambda pair: (-pair[0], pair[1]))[:beam]}
        best = next(iter(kept))
        if len(best) + 1 < units:  # else one place is left for one unit
            yield best
    best = next(iter(kept))
    yield (*best, *set(range(units)).difference(best))


def signed(order: tuple[int, ...], alone: Floats) -> Floats:
    """Return the scores (units,) of an order, between the places where most signs are those of `alone`, (units,)."""
    units = len(order)
    scores = np.empty(units)
    scores[list(order)] = np.arange(units, 0, -1)
    shifted = scores - (np.arange(units + 1) + 0.5)[:, None]  # a row for each place that zero can have
    agreeing: NDArray[np.int_] = (np.sign(shifted) == np.sign(alone)).sum(axis=1)
    chosen: Floats = shifted[agreeing.argmax()] / units
    return chosen
