"""How long a fit takes, measured before it starts: a step of its very loss, and the metrics, on a few of its own texts.

Texts of about the mean length are timed. On a CPU they are few, because seconds grow with tokens; on a GPU, where they
do not, they are a whole batch.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.learned.batches import ROOM, KeptStates, LearningExample, batch, encode_for_learning
from explainers.learned.recipe import Recipe
from explainers.learned.validation import explained, per_text
from explainers.models.batching import memory_errors
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import passes_in
from explainers.models.meter import Meter
from explainers.models.optimisation import optimiser_step

Result = TypeVar("Result")

SAMPLED = 200  # texts whose lengths are looked at
TIMED = 256  # tokens in a timed step on a CPU
JUDGED = 2  # texts whose metrics are timed


@dataclass(frozen=True)
class FitPace:
    """Seconds on this machine, each per text."""

    predicting: float  # a pass
    learning: float  # its part of a step, without the pass over the whole text where its states can be kept
    keeping: float  # the pass over the whole text; 0 where the method reads none of its states
    kept: float  # bytes of the states
    judging: float  # scores and metrics

    def seconds(self, recipe: Recipe, texts: int, validation: int, seeds: int = 1) -> float:
        """Of a fit to so many texts, judged on so many others, with so many seeds."""
        kept = min(texts, ROOM / self.kept) if self.kept else 0.0
        again = self.keeping * (kept + (texts - kept) * recipe.epochs)
        training = self.learning * texts * recipe.epochs + again + self.validations(recipe, texts, validation)
        return self.predicting * (texts + validation) + training * seeds

    def validations(self, recipe: Recipe, learned: int, texts: int) -> float:
        """Of all validations, on so many texts, of one training that learns from others, and once of random orders."""
        batches = math.ceil(learned / recipe.batch)
        return self.judging * texts * (recipe.epochs * min(recipe.validations, batches) + 1)


def measured_pace(recipe: Recipe, model: FrozenModel, texts: Sequence[Example]) -> FitPace:
    """What other runs of the model take meanwhile does not count. Neither the model nor any random state changes.

    Raises `DataUnavailable` where not even two texts have words, and `ExplanationError` without enough memory.
    """
    meter = Meter()
    with memory_errors():
        return _measured(recipe, model.metered(meter), texts, meter)


def _measured(recipe: Recipe, model: FrozenModel, texts: Sequence[Example], meter: Meter) -> FitPace:
    chosen, ratio = _typical(model, texts, recipe.batch)
    encode_for_learning(model, chosen)  # warms up
    predicting, examples = _timed(lambda: encode_for_learning(model, chosen), meter)
    with torch.random.fork_rng(), passes_in(recipe.precision):
        torch.manual_seed(recipe.seed)
        module = recipe.module(model).to(model.device)
        weights = [weight for weight in module.parameters() if weight.requires_grad]
        optimiser = torch.optim.AdamW(weights, recipe.learning_rate)
        generator = torch.Generator().manual_seed(recipe.seed)
        kept = KeptStates(model, examples, recipe.reads(model))

        def step(some: Sequence[LearningExample]) -> float:
            terms = recipe.terms(module, model, kept.added_to(batch(model, some), some), generator)
            optimiser_step(terms["total"], weights, optimiser)
            return float(weights[0].detach().sum())  # waits for a GPU

        step(examples[:2])
        learning, _ = _timed(lambda: step(examples), meter)
    judged = examples[:JUDGED]
    judging, _ = _timed(lambda: per_text(model, judged, explained(recipe, module, model, judged), "mask"), meter)
    count = len(examples)
    return FitPace(
        predicting / count,
        learning * ratio / count,
        predicting / count if len(kept) else 0.0,
        kept.bytes / count,
        judging / len(judged),
    )


def _typical(model: FrozenModel, texts: Sequence[Example], size: int) -> tuple[list[Example], float]:
    """Texts of about the mean length; and what the mean text of a batch takes, with padding, as a multiple of them."""
    sample = random.Random(0).sample(list(texts), min(SAMPLED, len(texts)))
    lengths = [len(encoding.ids) if encoding.units else 0 for encoding in map(model.encode, sample)]
    readable = sorted((length, place) for place, length in enumerate(lengths) if length)
    if len(readable) < 2:
        raise DataUnavailable("A method learns from two texts or more that have words. Give more texts.")
    mean = sum(length for length, _ in readable) / len(readable)
    rows = max(2, min(size, len(readable), round(TIMED / mean) if model.device.type == "cpu" else size))
    middle = sum(length < mean for length, _ in readable)
    first = max(0, min(middle - rows // 2, len(readable) - rows))
    chosen = readable[first : first + rows]
    batches = [readable[start : start + size] for start in range(0, len(readable), size)]
    padded = sum(len(some) * some[-1][0] for some in batches) / len(readable)
    return [sample[place] for _, place in chosen], padded / chosen[-1][0]


def _timed(action: Callable[[], Result], meter: Meter) -> tuple[float, Result]:
    """Seconds, without those in which another run had the model, and the result."""
    started, waited = time.perf_counter(), meter.waited
    result = action()
    return time.perf_counter() - started - (meter.waited - waited), result
