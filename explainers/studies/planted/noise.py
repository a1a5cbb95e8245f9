"""A model without reasons: its answer is a hash of the kept words. How often do explanations of it pass the test?

p(class) of every mask is drawn from U(0, 1), once for all, so that no order of the units explains anything. Methods
that choose the order by the answers themselves may still reach a high metric, because it reads answers that they have
read. The test: T = AOPC-C - AOPC-S above that of all `CONTROLS` random orders, p ≤ 1/(CONTROLS + 1).

Chosen controls have a like advantage: each is the one with the highest T of several random orders, at most of as many
as the answers that the method asked would pay for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from explainers.attribution.controls import control_orders
from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.attribution.occlusion import Occlusion
from explainers.comparison.consensus import consensus_scores
from explainers.metrics import bootstrap, erasure
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import PERCENTS, metric_counts, top_count
from explainers.studies.planted.truth import CONTROLS
from explainers.studies.sampling.measure import Floats, Game, GameModel

GAMES = 150
UNITS = (8, 12)
CHOSEN_OF = (1, 2, 5, 10)  # random orders of which a control is the best; 1 is the plain control
PAID = 0  # in place of a number: as many orders as the method's answers pay for
Scores = tuple[float, ...]
METHODS: dict[str, Any] = {"occlusion": Occlusion(), "lime": Lime(), "kernel_shap": KernelShap(per_unit=1)}


@dataclass(frozen=True)
class Passed:
    """The share of the games in which the method beats all controls, with its interval over games.

    A control is the best of `chosen_of` random orders; `paid` is the mean of what the method's answers pay for.
    """

    units: int
    method: str
    chosen_of: int
    share: bootstrap.Interval
    paid: float


def passed(games: int = GAMES, units: Sequence[int] = UNITS) -> Iterator[Passed]:
    """For every number of units, every method and the consensus of all, and every kind of control."""
    for n in units:
        rows = [_play(n, seed) for seed in range(games)]
        for method in rows[0]:
            paid = float(np.mean([row[method][PAID] for row in rows]))
            for chosen_of in (*CHOSEN_OF, PAID):
                beats = np.array([row[method][1][chosen_of] for row in rows], dtype=float)
                yield Passed(n, method, chosen_of, bootstrap.mean_interval(beats), paid)


def _play(n: int, seed: int) -> dict[str, tuple[int, dict[int, bool]]]:
    """Map each method to how many orders its answers pay for, and whether it beats the controls of every kind."""
    game = Game(n, np.random.default_rng(seed).random(2**n))
    encoding, scores, asked = _encoding(n), dict[str, Scores](), dict[str, int]()
    for method, explainer in METHODS.items():
        played = game.played_again()
        seeded = replace(explainer, seed=seed) if hasattr(explainer, "seed") else explainer
        scores[method] = seeded.attribute(cast(FrozenModel, GameModel(played)), encoding, 1).scores
        asked[method] = len(played.asked)
    scores[CONSENSUS] = consensus_scores(list(scores.values()))
    asked[CONSENSUS] = max(asked.values())
    per_order = 2 * (len(metric_counts(n)) - 2)
    paid = {method: max(1, round(count / per_order)) for method, count in asked.items()}
    random = evidence(game, control_orders(n, seed, CONTROLS * max(*paid.values(), *CHOSEN_OF)))
    own = dict(zip(scores, evidence(game, list(scores.values())), strict=True))
    return {
        method: (
            orders,
            {candidates: bool(own[method] > _best(random, candidates or orders)) for candidates in (*CHOSEN_OF, PAID)},
        )
        for method, orders in paid.items()
    }


def _best(random: Floats, chosen_of: int) -> float:
    """The highest T of all controls, each the best of `chosen_of` orders."""
    return float(random[: CONTROLS * chosen_of].max())


def evidence(game: Game, orders: Sequence[Scores]) -> Floats:
    """T of every order, (orders,)."""
    counts = tuple(top_count(game.units, percent) for percent in PERCENTS)
    masks = np.vstack([erasure.erasure_masks(order, counts, kept=True) for order in orders])
    p = game.probabilities(masks).reshape(len(orders), 2, len(counts)).mean(axis=2)
    values: Floats = p[:, 1] - p[:, 0]
    return values


def _encoding(units: int) -> Encoding:
    words = tuple(Unit("w", 2 * place, 2 * place + 1) for place in range(units))
    positions = tuple(range(units))
    return Encoding((" ".join("w" * units),), words, positions, (0,) * units, positions)
