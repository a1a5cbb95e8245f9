"""The training of all learned methods: AdamW, a log line per step, validations and checkpoints, and how scores do.

The loop's rounds are parts of an epoch: the texts between two validations. A validation takes the metrics of the scores
of held-out texts, says whether they beat random orders, and knows the ways in which a learned explanation collapses.
A training whose price has emptied the mask in its first half, so that its scores are no better than random orders,
begins anew without the price, with the steps that are left.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor, nn

from explainers.attribution.controls import random_scores
from explainers.errors import ExplanationError
from explainers.learned.batches import KeptStates, LearningExample, batch, in_random_order
from explainers.learned.recipe import Memory, Priced, Recipe, Select, trained_parameters
from explainers.metrics import agreement, bootstrap
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import measured, validated_metrics
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.internals import forward_with_internals, mean_states, passes_in
from explainers.results.attribution import floats
from explainers.training.loop import TrainingLoop

FEWEST_JUDGED = 10  # validation texts, with fewer of which nothing is said of random orders
VALIDATED = 32  # texts whose scores are computed at once
FLAT, POSITIONAL, UNIFORM, SAME, SATURATED, WHOLE, EMPTY = 0.02, 0.7, 0.995, 0.02, 0.98, 0.85, 0.25


def explained(
    recipe: Recipe, module: nn.Module, model: FrozenModel, examples: Sequence[LearningExample]
) -> list[tuple[float, ...]]:
    """The scores of every text, in the order given."""
    scores: list[tuple[float, ...]] = []
    module.eval()
    for start in range(0, len(examples), VALIDATED):
        some = batch(model, examples[start : start + VALIDATED])
        with torch.no_grad():
            rows = recipe.scores(module, model, some)  # (B, U)
        scores += [floats(row[present].cpu()) for row, present in zip(rows, some.inputs.units, strict=True)]
    return scores


def faithfulness(
    model: FrozenModel,
    examples: Sequence[LearningExample],
    scores: Sequence[tuple[float, ...]],
    erasure: Erasure = "mask",
) -> dict[str, float]:
    """Means over the texts of the validated metrics, by id, for the predicted class and with hard masks."""
    return means(per_text(model, examples, scores, erasure))


def per_text(
    model: FrozenModel, examples: Sequence[LearningExample], scores: Sequence[tuple[float, ...]], erasure: Erasure
) -> NDArray[np.float64]:
    """The validated metrics of every text, AOPC-C and AOPC-S first, (n, metrics)."""
    metrics, values = validated_metrics(), []
    for example, row in zip(examples, scores, strict=True):
        answers = MaskedPredictor(model, example.encoding, erasure)
        values.append([*measured(answers, row, int(example.probabilities.argmax()), metrics).values()])
    return np.asarray(values)


def gain(select: Select, metrics: Mapping[str, float]) -> float:
    """What the kept epoch is best at, by AOPC-C, AOPC-S or CONS; higher is better."""
    if select == "cons":
        return metrics["cons"]
    comp, suff = metrics["aopc_c"], metrics["aopc_s"]
    return {"difference": comp - suff, "comp": comp, "suff": -suff, "last": 0.0}[select]


def gain_of(select: Select, metrics: Mapping[str, float]) -> float:
    """`gain`, or -inf where no epoch could be judged, so that there are no metrics."""
    return gain(select, metrics) if metrics else -float("inf")


def hidden_means(model: FrozenModel, examples: Sequence[LearningExample]) -> NDArray[np.float64]:
    """The mean hidden state of every text, (n, d)."""
    rows = []
    for start in range(0, len(examples), VALIDATED):
        inputs = batch(model, examples[start : start + VALIDATED]).inputs
        rows.append(mean_states(forward_with_internals(model, inputs), inputs).cpu().double().numpy())
    return np.concatenate(rows)


def means(values: NDArray[np.float64]) -> dict[str, float]:
    """The mean of each of the validated metrics (n, metrics), by id."""
    return {metric.id: float(mean) for metric, mean in zip(validated_metrics(), values.mean(axis=0), strict=True)}


def gains(select: Select, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`gain` of every text, (n, metrics) → (n,); where no epoch is selected, AOPC-C minus AOPC-S."""
    comp, suff = values[:, 0], values[:, 1]
    by_criterion: dict[Select, NDArray[np.float64]] = {"comp": comp, "suff": -suff}
    return by_criterion.get(select, comp - suff)


def random_values(model: FrozenModel, examples: Sequence[LearningExample]) -> NDArray[np.float64]:
    """The validated metrics of every text in a random order of its own, (n, metrics)."""
    orders = [random_scores(len(example.encoding.units), seed) for seed, example in enumerate(examples)]
    return per_text(model, examples, orders, "mask")


def chance_warning(select: Select, difference: bootstrap.Interval) -> tuple[str, ...]:
    """A sentence if scores are not clearly better than random orders by the criterion, `difference` per text."""
    if difference.low > 0:
        return ()
    if difference.texts < FEWEST_JUDGED:
        return (
            f"Not known to be better than random orders: {difference.texts} validation texts are too few to tell. Give "
            "more texts, of which a tenth is held out.",
        )
    name = {"comp": "AOPC-C", "suff": "AOPC-S"}.get(select, "AOPC-C minus AOPC-S")
    return (
        f"No better than random orders: on {difference.texts} validation texts, the gain by {name} is "
        f"{difference.mean:.3f} [{difference.low:.3f}, {difference.high:.3f}]. Train longer, or choose another rate.",
    )


@dataclass(frozen=True)
class ScoreShape:
    """Statistics of the scores of a set of texts, logged after every epoch."""

    mean: float  # of all scores
    within: float  # mean standard deviation within a text
    low: float  # share of scores below 0.05
    high: float  # share above 0.95
    position: float  # mean Spearman correlation with the position in the text
    entropy: float  # of scores as a distribution, as a share of the highest possible
    between: float  # how far the profiles of different texts differ, as a share of their spread within a text


def score_shape(scores: Sequence[Sequence[float]]) -> ScoreShape:
    """From the scores of several texts, each of at least one unit."""
    rows = [np.asarray(row, dtype=float) for row in scores]
    long = [row for row in rows if len(row) > 2]
    every = np.concatenate(rows)
    ramps = [
        float(spearmanr(row, np.arange(len(row))).statistic) if np.ptp(row) > 0 else 0.0 for row in long
    ]  # fmt: skip
    profiles = [np.interp(np.linspace(0, 1, 10), np.linspace(0, 1, len(row)), row) for row in long]
    within = float(np.mean([row.std() for row in rows]))
    return ScoreShape(
        mean=float(every.mean()),
        within=within,
        low=float((every < 0.05).mean()),
        high=float((every > 0.95).mean()),
        position=float(np.mean(ramps)) if ramps else 0.0,
        entropy=float(np.mean([_entropy(row) for row in long])) if long else 1.0,
        between=float(np.std(profiles, axis=0).mean() / (within + 1e-12)) if len(profiles) > 1 else 1.0,
    )


def collapse_warnings(shape: ScoreShape, *, distribution: bool) -> tuple[str, ...]:
    """One sentence for each collapse. `distribution`: the scores of a text sum to 1, else they are masks."""
    warnings = []
    if distribution and shape.entropy > UNIFORM:
        warnings.append("Uniform: every word gets nearly the same share, so that chance decides the ranking.")
    if not distribution and shape.within < FLAT:
        warnings.append("Constant mask: the words of a text hardly differ.")
    if not distribution and max(shape.low, shape.high) > SATURATED:
        kind = "0" if shape.low > shape.high else "1"
        warnings.append(f"Saturated mask: nearly every word has {kind}.")
    elif not distribution and shape.mean > WHOLE:
        warnings.append(f"The mask keeps nearly everything: its mean is {shape.mean:.2f}, so it separates little.")
    if abs(shape.position) > POSITIONAL:
        warnings.append("Positional ramp: the score follows the position in the text, whatever the word.")
    if shape.between < SAME:
        warnings.append("The same profile for every text: the explanation does not read the text.")
    return tuple(warnings)


def _entropy(row: np.ndarray) -> float:
    shares = np.clip(row, 0, None) / max(np.clip(row, 0, None).sum(), 1e-12)
    return float(-(shares * np.log(shares + 1e-12)).sum() / np.log(len(row)))


INCONSISTENT = (
    "Texts that the model represents alike are not explained alike: CONS is {0.mean:.3f} [{0.low:.3f}, {0.high:.3f}]. "
    "Train longer, or choose another rate."
)
PRICE_GIVEN_UP = "After {} steps its price had emptied the mask, so that the training began anew without the price."
UNJUDGED = "No epoch could be judged on the validation texts; the last weights were kept."


class LearnedTraining:
    """One training of a learned method. `metrics` and `warnings` are those of the weights that are kept."""

    def __init__(
        self,
        recipe: Recipe,
        model: FrozenModel,
        texts: Sequence[LearningExample],
        validation: Sequence[LearningExample],
        folder: Path,
    ) -> None:
        if recipe.select == "cons" and 0 < len(validation) < agreement.FEWEST:
            raise ExplanationError(
                f"CONS compares at least {agreement.FEWEST} validation texts, and there are {len(validation)}. "
                "Give more texts, or choose another value of select."
            )
        self.recipe, self.model, self.texts, self.validation = recipe, model, texts, validation
        self.module = self._new_module()
        weights = [weight for weight in self.module.parameters() if weight.requires_grad]
        batches = len(in_random_order(texts, recipe.batch, random.Random(0)))
        steps, self.parts = recipe.epochs * batches, max(1, min(recipe.validations, batches))
        optimiser = torch.optim.AdamW(weights, recipe.learning_rate, weight_decay=recipe.weight_decay)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: recipe.rate(step / max(steps, 1)))
        self.loop = TrainingLoop(folder, weights, optimiser, schedule, seed=recipe.seed, steps=steps)
        self.states: KeptStates | None = None  # of the whole texts, from the first step on
        self.best: dict[str, Tensor] = {}
        self.best_gain, self.kept_step, self.metrics = -float("inf"), 0, dict[str, float]()
        self.warnings: tuple[str, ...] = ()
        self.price_until = 0  # the step after which there is no price any more; 0 where it was not given up
        self.random: NDArray[np.float64] | None = None  # what random orders reach on the validation texts
        self.hidden: NDArray[np.float64] | None = None  # their mean hidden states

    def _new_module(self) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(self.recipe.seed)
            return self.recipe.module(self.model).to(self.model.device)

    def losses(self, _order: random.Random) -> Iterator[Mapping[str, Tensor]]:
        epoch, part = divmod(self.loop.epoch, self.parts)
        order = random.Random(self.recipe.seed * 1000 + epoch)  # the same for all parts of an epoch
        batches = in_random_order(self.texts, self.recipe.batch, order)
        for examples in batches[part * len(batches) // self.parts : (part + 1) * len(batches) // self.parts]:
            self.module.train()
            some = batch(self.model, examples, self.loop.step_number / self.loop.steps)
            with passes_in(self.recipe.precision):
                if self.states is None:
                    self.states = KeptStates(self.model, self.texts, self.recipe.reads(self.model))
                some = self.states.added_to(some, examples)
                terms = self.recipe.terms(self.module, self.model, some, self.loop.generator)
            yield terms

    def validate(self) -> dict[str, object]:
        """Metrics, shape of the scores and warnings; keeps the weights if they are the best so far.

        Without validation texts nothing is judged, which fits only a recipe that keeps the last weights.
        """
        if not self.validation:
            return {}
        scores = explained(self.recipe, self.module, self.model, self.validation)
        values = per_text(self.model, self.validation, scores, "mask")
        metrics, scores_shape = means(values), score_shape(scores)
        warnings = collapse_warnings(scores_shape, distribution=self.recipe.distribution)
        if self.recipe.select == "cons":
            cons = self._consistency(scores)
            metrics |= {"cons": cons.mean}
            useless: tuple[str, ...] = () if cons.low > 0 else (INCONSISTENT.format(cons),)
        else:
            useless = self._chance(values)
        warnings += useless
        gained = gain(self.recipe.select, metrics)
        if gained > self.best_gain or self.recipe.select == "last":
            self.best_gain, self.kept_step = gained, self.loop.step_number
            self.metrics, self.warnings = metrics, warnings
            self.best = {name: weight.clone() for name, weight in trained_parameters(self.module).items()}
        epoch = self.loop.epoch / self.parts
        if useless:
            warnings += self._begun_anew(scores_shape)
        return {"epoch": epoch, "validation": metrics, "shape": asdict(scores_shape), "warnings": warnings}

    def _begun_anew(self, shape: ScoreShape) -> tuple[str, ...]:
        """Begin anew without the price that has emptied the mask, and say so; nothing where it has not, or too late."""
        unpriced = self.recipe.without_price() if isinstance(self.recipe, Priced) else None
        empty = shape.mean <= EMPTY and shape.within <= FLAT
        if unpriced is None or not empty or 2 * self.loop.step_number > self.loop.steps:
            return ()
        self.recipe, self.price_until = unpriced, self.loop.step_number
        self.module.load_state_dict(self._new_module().state_dict())
        self.loop.optimiser.state.clear()
        self.best, self.best_gain, self.kept_step = {}, -float("inf"), 0
        self.metrics, self.warnings = {}, ()
        return self._price_warning()

    def _price_warning(self) -> tuple[str, ...]:
        return (PRICE_GIVEN_UP.format(self.price_until),) if self.price_until else ()

    def _consistency(self, scores: Sequence[tuple[float, ...]]) -> bootstrap.Interval:
        if self.hidden is None:
            self.hidden = hidden_means(self.model, self.validation)
        return agreement.consistency(self.hidden, scores) or bootstrap.Interval(0.0, 0.0, 0.0, len(scores))

    def _chance(self, values: NDArray[np.float64]) -> tuple[str, ...]:
        if self.random is None:
            self.random = random_values(self.model, self.validation)
        select = self.recipe.select
        return chance_warning(select, bootstrap.difference_interval(gains(select, values), gains(select, self.random)))

    def state(self) -> dict[str, Any]:
        return {
            "module": trained_parameters(self.module),
            "memory": self.module.kept() if isinstance(self.module, Memory) else {},
            "best": self.best,
            "metrics": self.metrics,
            "warnings": list(self.warnings),
            "numbers": [self.best_gain, self.kept_step],
            "price_until": self.price_until,
            "parts": self.parts,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        if state.get("parts", self.parts) != self.parts:
            raise ExplanationError(
                f"The training to resume is validated {state['parts']} times per epoch, not {self.parts} times. "
                "Set validations to that, or omit --resume."
            )
        self.module.load_state_dict(state["module"], strict=False)
        if isinstance(self.module, Memory):
            self.module.restore(state["memory"])
        self.best, self.metrics, self.warnings = state["best"], state["metrics"], tuple(state["warnings"])
        self.best_gain, self.kept_step = state["numbers"]
        self.price_until = state["price_until"]
        if self.price_until and isinstance(self.recipe, Priced):
            self.recipe = self.recipe.without_price() or self.recipe

    def finish(self) -> None:
        """Puts the kept weights into the module, rounded as they are stored; the states of the texts are given up."""
        self.states = None
        if self.recipe.select != "last" and not self.best:
            self.warnings += (UNJUDGED,)
        self.warnings += self._price_warning()
        if self.recipe.select == "last" or not self.best:
            self.best = trained_parameters(self.module)
        self.best = {name: weight.half() for name, weight in self.best.items()}
        self.module.load_state_dict({name: weight.float() for name, weight in self.best.items()}, strict=False)
        self.module.requires_grad_(False).eval()


def fit(
    recipe: Recipe,
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    folder: Path,
    *,
    resume: bool = False,
) -> LearnedTraining:
    """The finished training, whose module holds the kept weights."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed + 1)  # for dropout; every other random number comes from the loop's generator
        training = LearnedTraining(recipe, model, texts, validation, folder)
        hyperparameters = asdict(recipe)  # type: ignore[call-overload]
        steps = training.loop.steps
        header = {"method": recipe.method, "texts": len(texts), "steps": steps, "recipe": hyperparameters}
        training.loop.run(training, recipe.epochs * training.parts, header=header, resume=resume)
    training.finish()
    return training
