"""LIME and KernelSHAP on games of which everything is known: their error, and whether the spread they show is as large.

Three settings: as in the stored evaluations, shared masks of the same number, and the default, which stops by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.attribution.surrogate import fit
from explainers.evaluation import sampling_error
from explainers.evaluation.exact_values import Floats, Game, Masks, all_masks, exact_shapley
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure, Unit
from explainers.results.sampling import Sampling
from explainers.results.settings import SETTLED_BY, UNTIL_SETTLED

Name = Literal["LIME", "KernelSHAP"]
SETTINGS: tuple[tuple[Sampling, int], ...] = (
    ("captum", SETTLED_BY),
    ("shared", SETTLED_BY // 5),
    ("shared", SETTLED_BY),
    ("shared", UNTIL_SETTLED),
)
BOUND = 1.96  # standard deviations


@dataclass(frozen=True)
class DefaultError:
    """`error` is ‖s - t‖ / ‖t‖ with t from all masks; `asked` counts different masks, with those of the looks.

    `square_error` and `square_spread` are means over units of (s - t)² and of the variance shown; `inside` is the share
    of the units with |s - t| ≤ 1.96 of the standard deviation shown.
    """

    method: Name
    sampling: Sampling
    samples: int
    error: float
    drawn: int
    asked: int
    square_error: float
    square_spread: float
    inside: float


class GameModel:
    """As much of a model as a method that only asks masks needs; class 1 is the explained one."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def probabilities(self, _encoding: Encoding, keeps: Masks, _erasure: Erasure = "mask") -> Floats:
        p = self.game.probabilities(keeps)
        return np.stack([1 - p, p], axis=1)


def default_errors(games: Sequence[Game]) -> Iterator[DefaultError]:
    """Of both methods, every setting, game and seed."""
    for game in games:
        everything = all_masks(game.units)
        limits: dict[Name, Floats] = {
            "KernelSHAP": exact_shapley(game),
            "LIME": fit(
                everything.astype(float), game.values, Lime(samples=SETTLED_BY).shared_weights(everything), Lime.ridge
            ),
        }
        for sampling, samples in SETTINGS:
            for seed in range(sampling_error.SEEDS):
                for method, limit in limits.items():
                    yield _measured(game, method, limit, sampling, samples, seed)


def _measured(game: Game, name: Name, limit: Floats, sampling: Sampling, samples: int, seed: int) -> DefaultError:
    method = Lime() if name == "LIME" else KernelShap(per_unit=1)
    played = game.played_again()
    attribution = replace(method, samples=samples, seed=seed, sampling=sampling).attribute(
        cast(FrozenModel, GameModel(played)), _encoding(game.units), 1
    )
    difference, spread = np.subtract(attribution.scores, limit), np.asarray(attribution.spread)
    return DefaultError(
        name,
        sampling,
        samples,
        float(np.linalg.norm(difference) / np.linalg.norm(limit)),
        attribution.samples,
        len(played.asked),
        float((difference**2).mean()),
        float((spread**2).mean()),
        float((np.abs(difference) <= BOUND * spread + 1e-9).mean()),
    )


def _encoding(units: int) -> Encoding:
    """Of a text with so many words of one letter."""
    words = tuple(Unit("w", 2 * place, 2 * place + 1) for place in range(units))
    positions = tuple(range(units))
    return Encoding((" ".join("w" * units),), words, positions, (0,) * units, positions)
