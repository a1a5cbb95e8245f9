"""How learned scores do on validation texts: metrics, and whether they beat random orders."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from explainers.attribution.controls import random_scores
from explainers.learned.batches import LearningExample, batch
from explainers.learned.recipe import Recipe, Select
from explainers.metrics.bootstrap import Interval
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import measured, validated_metrics
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.internals import forward_with_internals, mean_states
from explainers.results.attribution import floats

VALIDATED = 32  # texts whose scores are computed at once


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


def chance_warning(select: Select, difference: Interval) -> tuple[str, ...]:
    """A sentence if scores are not clearly better than random orders by the criterion, `difference` per text."""
    if difference.low > 0:
        return ()
    name = {"comp": "AOPC-C", "suff": "AOPC-S"}.get(select, "AOPC-C minus AOPC-S")
    return (
        f"No better than random orders: on {difference.texts} validation texts, the gain by {name} is "
        f"{difference.mean:.3f} [{difference.low:.3f}, {difference.high:.3f}]. Train longer, or choose another rate.",
    )
