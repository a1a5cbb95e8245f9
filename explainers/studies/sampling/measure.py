"""How far estimates are from values that are known exactly, and what they ask of the model for it.

A decision about few units with the answer to every mask is a game, of which Shapley values are known exactly. On games
KernelSHAP and LIME are judged by how they draw their masks and how many they ask; for integrated gradients it is the
completeness gap by rule and number of steps, and for a whole comparison the passes of each of its parts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
import torch
from captum import attr
from numpy.typing import NDArray

from explainers.attribution import gradient, mask_samples, surrogate
from explainers.attribution.kernel_shap import KernelShap, kernel_weights
from explainers.attribution.lime import Lime
from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.evaluation.data_set import split_inputs
from explainers.methods.registry import MethodSpec, method_spec
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure, Unit
from explainers.results.attribution import Attribution
from explainers.results.decision import SETTLED_BY, UNTIL_SETTLED, Decision, Sampling
from explainers.results.events import Event, MethodResult, OperatorCheck, RandomControl

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]

MOST_UNITS = 16  # 65,536 masks


def all_masks(units: int) -> Masks:
    """(2^units, units): row r keeps unit u where bit u of r is set. Raises `ValueError` for too many units."""
    if units > MOST_UNITS:
        raise ValueError(f"{units} units have {2**units:,} masks; at most {MOST_UNITS} units are possible.")
    return (np.arange(2**units)[:, None] >> np.arange(units) & 1).astype(bool)


@dataclass(eq=False)
class Game:
    """`values` (2^units,) are p(label) by mask, in the order of `all_masks`; `asked` are those that were looked up."""

    units: int
    values: Floats = field(repr=False)
    asked: set[int] = field(default_factory=set, repr=False)

    def probabilities(self, masks: Masks) -> Floats:
        """p(label) of each mask, (B,)."""
        rows = np.asarray(masks, dtype=bool) @ (1 << np.arange(self.units))
        self.asked |= set(rows.tolist())
        values: Floats = self.values[rows]
        return values

    def played_again(self) -> "Game":
        """The same game, of which nothing was asked yet."""
        return Game(self.units, self.values)


def game_of(model: FrozenModel, encoding: Encoding, label: int, erasure: Erasure = "mask") -> Game:
    """Asks for every mask: 2^units passes."""
    units = len(encoding.units)
    return Game(units, model.probabilities(encoding, all_masks(units), erasure)[:, label])


def exact_shapley(game: Game) -> Floats:
    """φ_u = Σ_S (v(S ∪ u) - v(S)) / (n C(n-1, |S|)) over all sets S without u, (units,)."""
    masks = all_masks(game.units)
    sizes = masks.sum(axis=1)
    scores = np.zeros(game.units)
    for unit in range(game.units):
        without = np.flatnonzero(~masks[:, unit])
        shares = np.array([1 / (game.units * comb(game.units - 1, int(size))) for size in sizes[without]])
        scores[unit] = shares @ (game.values[without | (1 << unit)] - game.values[without])
    return scores


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
    """The error of every sampler, game, count and seed; the control has one count only."""
    for game in games:
        exact = exact_shapley(game)
        for sampler, scores in SCORERS.items():
            for count in COUNTS if sampler != "control alone" else COUNTS[-1:]:
                for seed in range(SEEDS):
                    own, control = game.played_again(), game.played_again()
                    error = np.linalg.norm(scores(own, seed, count) - exact) / np.linalg.norm(exact)
                    control.probabilities(mask_samples.control_masks(game.units, seed))
                    new = len(own.asked - control.asked)
                    yield SamplingError(sampler, game.units, count, float(error), len(own.asked), new)


def games_of(model: FrozenModel, texts: Sequence[Example], most: int, progress: Callable[[str], None]) -> list[Game]:
    """About the first `most` texts that have as many units as `UNITS` say."""
    games: list[Game] = []
    for text in texts:
        if len(games) < most and len(model.encode(text).units) in UNITS:
            decision, _ = decide(model, text)
            games.append(game_of(model, decision.encoding, decision.label))
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
    return surrogate.fit(masks.astype(float), game.probabilities(masks), weights, ridge=0.0)


def without_control(game: Game, seed: int, count: int) -> Floats:
    masks = mask_samples.single_masks(game.units, seed, count)
    return fitted(game, masks, kernel_weights(masks))


def control_alone(game: Game, seed: int, _count: int) -> Floats:
    masks = mask_samples.control_masks(game.units, seed)
    return fitted(game, masks, kernel_weights(masks))


SCORERS: dict[Sampler, Scorer] = {
    "Captum's KernelSHAP": captums,
    "sampling=captum": ours("captum"),
    "sampling=shared": ours("shared"),
    "without the control": without_control,
    "control alone": control_alone,
}


Name = Literal["LIME", "KernelSHAP"]
SETTINGS: tuple[tuple[Sampling, int], ...] = (  # of the stored evaluations, and the default, which stops by itself
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
    """The errors of both methods, for every setting, game and seed."""
    for game in games:
        everything = all_masks(game.units)
        limits: dict[Name, Floats] = {
            "KernelSHAP": exact_shapley(game),
            "LIME": surrogate.fit(
                everything.astype(float), game.values, Lime(samples=SETTLED_BY).shared_weights(everything), Lime.ridge
            ),
        }
        for sampling, samples in SETTINGS:
            for seed in range(SEEDS):
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
    """The encoding of a text with so many words of one letter."""
    words = tuple(Unit("w", 2 * place, 2 * place + 1) for place in range(units))
    positions = tuple(range(units))
    return Encoding((" ".join("w" * units),), words, positions, (0,) * units, positions)


CURVES, CONTROL, OPERATORS, OTHER = (
    "curves, metrics and their noise",
    "random control",
    "other erasure operators",
    "everything else",
)


@dataclass(frozen=True)
class PassCost:
    """The passes of one part of a comparison; who asks first pays for all."""

    part: str
    used: int
    new: int


def pass_costs(model: FrozenModel, decision: Decision, specs: Iterable[MethodSpec]) -> tuple[PassCost, ...]:
    """In the order in which the parts begin; together they are all passes."""
    meter = Meter()
    costs: dict[str, PassCost] = {}
    used = new = 0
    for event in run(model, decision, specs, meter):
        part = part_of(event)
        before = costs.get(part, PassCost(part, 0, 0))
        costs[part] = PassCost(part, before.used + meter.used - used, before.new + meter.calls - new)
        used, new = meter.used, meter.calls
    return tuple(_those_that_ask(costs.values()))


def part_of(event: Event) -> str:
    """Which part asked what was asked before this event."""
    if isinstance(event, Attribution):
        return method_spec(event.method).name
    kinds = {MethodResult: CURVES, RandomControl: CONTROL, OperatorCheck: OPERATORS}
    return kinds.get(type(event), OTHER)


def _those_that_ask(costs: Iterable[PassCost]) -> Iterator[PassCost]:
    return (cost for cost in costs if cost.used)


Rule = Literal["gausslegendre", "riemann_middle", "riemann_trapezoid"]
RULES: tuple[Rule, ...] = get_args(Rule)
TEXTS = 8  # at most
STEPS = (10, 20, 30, gradient.IntegratedGradients.steps)


@dataclass(frozen=True)
class PathGap:
    """`gap` is |Σ scores - (f(x) - f(baseline))|."""

    rule: Rule
    steps: int
    gap: float


def path_gaps(model: FrozenModel, texts: Sequence[Example]) -> Iterator[PathGap]:
    """The gaps of the first texts, for every rule and number of steps, for the probability of the predicted class."""
    for text in texts[:TEXTS]:
        decision, _ = decide(model, text)
        encoding, label = decision.encoding, decision.label

        def probability(masks: torch.Tensor) -> torch.Tensor:
            return model.soft_probabilities(encoding, masks)[:, label]  # noqa: B023  used before the next text

        present = torch.ones(1, len(encoding.units))
        with torch.no_grad():
            difference = float(probability(present) - probability(torch.zeros_like(present)))
        for rule in RULES:
            for steps in STEPS:
                scores = attr.IntegratedGradients(probability).attribute(
                    present, torch.zeros_like(present), n_steps=steps, method=rule, internal_batch_size=steps
                )
                yield PathGap(rule, steps, abs(float(scores.sum()) - difference))


def sampling_texts(name: str, input_names: tuple[str, ...], data: Path | None) -> tuple[Example, ...]:
    """The data's in random order, or a few sentences."""
    if data is None:
        return tuple(Example(sentence) for sentence in SENTENCES)
    return split_inputs(name, data, "test", 0, input_names, seed=0)
