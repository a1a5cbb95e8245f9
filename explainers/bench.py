"""How fast this is on this machine, measured in one run: `python -m explainers bench`.

The reference is Captum as its documentation shows it: token ids as input, words as features, one perturbation per
call; for integrated gradients `LayerIntegratedGradients` with its default of all steps in one batch.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from captum.attr import FeatureAblation, KernelShap, LayerIntegratedGradients, Lime
from torch import Tensor

from explainers.api import ask
from explainers.comparison import Measured, Question, run
from explainers.datasets.example import Example
from explainers.datasets.scenes.generator import items
from explainers.methods import DEFAULT, chosen
from explainers.models.batching import rows_per_batch
from explainers.models.catalog import load
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import FIXED
from explainers.models.meter import Meter
from explainers.models.scenes.making import SEEDS
from explainers.settings import Settings

SENTENCE = (
    "A charming and often affecting journey through a small seaside town, although the ending feels rushed "
    "and the villain is never more than a cartoon"
)
PAIR = Example(
    "A woman in a red coat buys apples and pears from an old farmer at a busy market beside the harbour",
    "Somebody pays for fruit outdoors",
)
SAMPLES, STEPS, REPEATS = 500, 50, 3
PERTURBING = ("lime", "kernel_shap", "occlusion")


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """The median of `repeats` runs."""
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def measure(name: str, threads: int, *, browser: bool) -> dict[str, Any]:
    """All figures by name; times in seconds. `browser` also starts the app and opens it in Chromium."""
    if threads:
        torch.set_num_threads(threads)
    model = load(name)
    example = example_for(model)
    question, _ = ask(model, example, settings=Settings(samples=SAMPLES, steps=STEPS))
    list(run(question, chosen(DEFAULT), Meter()))  # once to warm up
    found: dict[str, Any] = {
        "model": name,
        "words": sum(len(text.split()) for text in question.encoding.texts),
        "units": len(question.encoding.units),
        "tokens": len(question.encoding.ids),
        "threads": torch.get_num_threads(),
        "device": str(model.device),
        "whole comparison": whole(question),
        "each method": each_method(question),
    }
    if question.encoding.canvas is None:  # elsewhere words and patches do not go through one stack of layers
        found["arithmetic"] = arithmetic(question)
    if not model.pictured:  # Captum's own way needs token ids
        found["ours"], found["captum as documented"] = ours(question), captum(question)
        mine, theirs = found["ours"], found["captum as documented"]
        found["times faster"] = {
            "perturbing methods together": sum(map(theirs.get, PERTURBING)) / sum(map(mine.get, PERTURBING)),
            **{method: theirs[method] / mine[method] for method in theirs},
        }
    if browser:
        from explainers.cold_start import cold_start

        found["app"] = cold_start()
    return found


def example_for(model: FrozenModel) -> Example:
    """The sentence, the pair, or the first scene of the test."""
    if model.pictured:
        return next(items(SEEDS["test"], held_out=True)).example()
    return PAIR if len(model.asks) == 2 else Example(SENTENCE)


def each_method(question: Question) -> dict[str, float]:
    """Seconds of each method within the whole comparison, its figures not counted; those that were fitted."""
    found = run(question, chosen(DEFAULT), Meter())
    return {event.attribution.method: event.attribution.seconds for event in found if isinstance(event, Measured)}


def whole(question: Question) -> dict[str, float]:
    """Until the first and the last column with its curves, and how much of that the model took."""
    meter, started, first = Meter(), time.perf_counter(), 0.0
    for event in run(question, chosen(DEFAULT), meter):
        if isinstance(event, Measured) and not first:
            first = time.perf_counter() - started
    total = time.perf_counter() - started
    return {
        "first column": first,
        "all columns": total,
        "model calls": meter.calls,
        "share of time in the model": meter.seconds / total,
    }


def ours(question: Question) -> dict[str, float]:
    """Each method alone."""
    settings = question.settings
    found = {}
    for entry in chosen(("integrated_gradients", *PERTURBING)):
        method = entry.make(
            erasure=settings.erasure, seed=settings.seed, samples=settings.samples, steps=settings.steps
        )
        found[entry.id] = seconds(partial(method.attribute, question.model, question.encoding, question.label), REPEATS)
    return found


def captum(question: Question) -> dict[str, float]:
    """The same methods with Captum's defaults."""
    model, encoding, label = question.model, question.encoding, question.label
    ids = torch.tensor([encoding.ids], device=model.device)
    owners = torch.tensor([encoding.owners])
    words = torch.where(owners == FIXED, len(encoding.units), owners).to(model.device)  # special tokens: one more
    blank = torch.where(owners.to(model.device) == FIXED, ids, model.filler)

    def differentiable(inputs: Tensor) -> Tensor:
        return torch.softmax(model.logits(inputs, encoding.segments), dim=-1)[:, label]

    def probability(inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return differentiable(inputs)

    table = model.base.get_input_embeddings()  # type: ignore[operator]
    return {
        "integrated_gradients": seconds(
            lambda: LayerIntegratedGradients(differentiable, table).attribute(ids, baselines=blank, n_steps=STEPS),
            REPEATS,
        ),
        "lime": seconds(
            lambda: Lime(probability).attribute(ids, baselines=blank, feature_mask=words, n_samples=SAMPLES)
        ),
        "kernel_shap": seconds(
            lambda: KernelShap(probability).attribute(ids, baselines=blank, feature_mask=words, n_samples=SAMPLES)
        ),
        "occlusion": seconds(
            lambda: FeatureAblation(probability).attribute(ids, baselines=blank, feature_mask=words), REPEATS
        ),
    }


def arithmetic(question: Question) -> dict[str, float]:
    """GFLOP/s of full perturbation batches through the door, and of bare matrix products of the same shapes."""
    model, encoding = question.model, question.encoding
    rows = rows_per_batch(len(encoding.ids), model.device.type)
    config: Any = model.base.config
    width, layers, heads = int(config.hidden_size), int(config.num_hidden_layers), int(config.num_attention_heads)
    inner = int(config.intermediate_size)
    masks = np.random.default_rng(0).random((rows, len(encoding.units))) < 0.5
    length = len(encoding.ids)
    operations = layers * 2 * rows * length * (4 * width * width + 2 * width * inner + 2 * length * width)
    through_model = seconds(lambda: model.probabilities(encoding, masks), 10)
    bare = layers * seconds(_products(rows * length, length, rows * heads, width, inner, width // heads), 10)
    return {
        "rows in a batch": rows,
        "model, GFLOP/s": operations / through_model / 1e9,
        "bare products, GFLOP/s": operations / bare / 1e9,
        "share of bare products": bare / through_model,
    }


def _products(tokens: int, length: int, batches: int, width: int, inner: int, head: int) -> Callable[[], None]:
    """The matrix products of one encoder layer, and nothing else."""
    x, wide = torch.randn(tokens, width), torch.randn(tokens, inner)
    square, up, down = torch.randn(width, width), torch.randn(width, inner), torch.randn(inner, width)
    queries, keys = torch.randn(batches, length, head), torch.randn(batches, head, length)
    weights, values = torch.randn(batches, length, length), torch.randn(batches, length, head)

    def once() -> None:
        with torch.inference_mode():
            for _ in range(4):
                x @ square
            x @ up
            wide @ down
            queries @ keys
            weights @ values

    return once


def report(found: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = []
    for name, value in found.items():
        if isinstance(value, dict):
            lines.append(f"{name}")
            lines += [f"  {key:34} {shown(each)}" for key, each in value.items()]
        else:
            lines.append(f"{name:36} {shown(value)}")
    return "\n".join(lines)


def shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
