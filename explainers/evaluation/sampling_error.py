"""How far KernelSHAP is from the exact Shapley values, by how it draws its masks and how many it asks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from captum import attr

from explainers.attribution.kernel_shap import KernelShap, kernel_weights
from explainers.attribution.shared_masks import control_masks, single_masks
from explainers.attribution.surrogate import fit
from explainers.comparison.question import ask
from explainers.datasets.example import Example
from explainers.evaluation.exact_values import Floats, Game, Masks, exact_shapley, game_of
from explainers.models.frozen_model import FrozenModel
from explainers.results.sampling import Sampling

SENTENCES = (  # of 10 to 13 words
    "The plot is thin but the acting is simply superb",
    "What a dull and lifeless mess this sequel turned out to be",
    "The jokes are old but the cast makes them feel new",
    "A slow and muddled story that never finds its heart",
    "Not once does this charming little film lose its nerve",
    "It looks gorgeous yet says nothing that we have not heard before",
    "Hardly anyone will regret the two hours spent with these warm foolish people",
    "I laughed twice and then waited for it to end",
)
SEEDS = 6
COUNTS = (100, 200, 500)
UNITS = (10, 11, 12, 13)
Sampler = Literal["Captum's KernelSHAP", "sampling=captum", "sampling=shared", "without the control", "control alone"]
Scorer = Callable[[Game, int, int], Floats]  # of a game, a seed and a number of masks


@dataclass(frozen=True)
class SamplingError:
    """`error` is ‖s - φ‖ / ‖φ‖; `asked` counts different masks, `new` those of them that the control does not ask."""

    sampler: Sampler
    units: int
    count: int
    error: float
    asked: int
    new: int


def sampling_errors(games: Sequence[Game]) -> Iterator[SamplingError]:
    """Of every sampler, game, count and seed; the control has one count only."""
    for game in games:
        exact = exact_shapley(game)
        for sampler, scores in SCORERS.items():
            for count in COUNTS if sampler != "control alone" else COUNTS[-1:]:
                for seed in range(SEEDS):
                    own, control = game.played_again(), game.played_again()
                    error = np.linalg.norm(scores(own, seed, count) - exact) / np.linalg.norm(exact)
                    control.probabilities(control_masks(game.units, seed))
                    new = len(own.asked - control.asked)
                    yield SamplingError(sampler, game.units, count, float(error), len(own.asked), new)


def games_of(model: FrozenModel, texts: Sequence[Example], most: int, progress: Callable[[str], None]) -> list[Game]:
    """About the first `most` texts that have as many units as `UNITS` say."""
    games: list[Game] = []
    for text in texts:
        if len(games) < most and len(model.encode(text).units) in UNITS:
            question, _ = ask(model, text)
            games.append(game_of(model, question.encoding, question.label))
            progress(f"text {len(games)} of at most {most}: {2 ** games[-1].units:,} masks")
    return games


def captums(game: Game, seed: int, count: int) -> Floats:
    """As Captum draws and fits."""
    captum = attr.KernelShap(lambda masks: torch.from_numpy(game.probabilities(masks.bool().numpy())))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        present = torch.ones(1, game.units)
        scores = captum.attribute(present, n_samples=count, perturbations_per_eval=count)
    return np.asarray(scores.reshape(-1), dtype=float)


def ours(sampling: Sampling) -> Scorer:
    def scores(game: Game, seed: int, count: int) -> Floats:
        sample = KernelShap(samples=count, per_unit=1, seed=seed, sampling=sampling).sample(game.units)
        return fitted(game, sample.masks, sample.weights(len(sample.masks)))

    return scores


def fitted(game: Game, masks: Masks, weights: Floats) -> Floats:
    return fit(masks.astype(float), game.probabilities(masks), weights, ridge=0.0)


def without_control(game: Game, seed: int, count: int) -> Floats:
    masks = single_masks(game.units, seed, count)
    return fitted(game, masks, kernel_weights(masks))


def control_alone(game: Game, seed: int, _count: int) -> Floats:
    masks = control_masks(game.units, seed)
    return fitted(game, masks, kernel_weights(masks))


SCORERS: dict[Sampler, Scorer] = {
    "Captum's KernelSHAP": captums,
    "sampling=captum": ours("captum"),
    "sampling=shared": ours("shared"),
    "without the control": without_control,
    "control alone": control_alone,
}
