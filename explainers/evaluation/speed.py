"""Speed on this machine, measured in one run: of our methods, of Captum's, and of the app.

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
from captum import attr
from torch import Tensor

from explainers.comparison.question import ask
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.evaluation.cold_start import cold_start
from explainers.methods.registry import default_methods, select
from explainers.models.batching import rows_per_batch
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import NO_UNIT
from explainers.models.meter import Meter
from explainers.models.tasks import TASKS
from explainers.results.comparison import MethodResult, Question
from explainers.results.settings import Settings

SAMPLES, STEPS, REPEATS = 500, 50, 3
PERTURBING = ("lime", "kernel_shap", "occlusion")


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """The median of `repeats` runs."""
    durations = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def benchmark(name: str, threads: int, *, browser: bool) -> dict[str, Any]:
    """All measurements by name; times in seconds. `browser` also starts the app and opens it in Chromium."""
    if threads:
        torch.set_num_threads(threads)
    model = load(name)
    question, _ = ask(model, example_for(model), settings=Settings(samples=SAMPLES, steps=STEPS))
    list(run(question, select(default_methods()), Meter()))  # warms up
    results: dict[str, Any] = {
        "model": name,
        "words": sum(len(text.split()) for text in question.encoding.texts),
        "units": len(question.encoding.units),
        "tokens": len(question.encoding.ids),
        "threads": torch.get_num_threads(),
        "device": str(model.device),
        "whole comparison": whole_comparison(question),
        "each method": each_method(question),
    }
    if question.encoding.canvas is None:  # otherwise words and patches do not share one stack of layers
        results["arithmetic"] = arithmetic(question)
    if not model.multimodal:  # Captum's own way needs token ids
        results |= compare_with_captum(question)
    if browser:
        results["app"] = cold_start()
    return results


def example_for(model: FrozenModel) -> Example:
    """The benchmark example of the first task with inputs of the model's kind: a text, a pair, or image and text."""
    pair = len(model.input_names) == 2 and not model.multimodal
    kind = (model.multimodal, pair)
    return next(task.example() for task in TASKS.values() if (task.multimodal, len(task.input_names) == 2) == kind)


def each_method(question: Question) -> dict[str, float]:
    """Seconds of each finished method within a whole comparison, without its metrics."""
    events = run(question, select(default_methods()), Meter())
    return {event.attribution.method: event.attribution.seconds for event in events if isinstance(event, MethodResult)}


def whole_comparison(question: Question) -> dict[str, float]:
    """Seconds to the first and to the last column with its curves, and the model's share of them."""
    meter, started, first = Meter(), time.perf_counter(), 0.0
    for event in run(question, select(default_methods()), meter):
        if isinstance(event, MethodResult) and not first:
            first = time.perf_counter() - started
    total = time.perf_counter() - started
    return {
        "first column": first,
        "all columns": total,
        "model calls": meter.calls,
        "share of time in the model": meter.seconds / total,
    }


def compare_with_captum(question: Question) -> dict[str, dict[str, float]]:
    """Seconds here and with Captum, and their ratios."""
    ours, captum = our_seconds(question), captum_seconds(question)
    ratios = {method: captum[method] / ours[method] for method in captum}
    together = sum(map(captum.__getitem__, PERTURBING)) / sum(map(ours.__getitem__, PERTURBING))
    times_faster = {"perturbing methods together": together, **ratios}
    return {"ours": ours, "captum as documented": captum, "times faster": times_faster}


def our_seconds(question: Question) -> dict[str, float]:
    """Each method alone."""
    settings, durations = question.settings, {}
    for spec in select(("integrated_gradients", *PERTURBING)):
        method = spec.made_with(settings)
        action = partial(method.attribute, question.model, question.encoding, question.label)
        durations[spec.id] = seconds(action, REPEATS)
    return durations


def captum_seconds(question: Question) -> dict[str, float]:
    """The same methods with Captum's defaults."""
    model, encoding, label = question.model, question.encoding, question.label
    ids = torch.tensor([encoding.ids], device=model.device)
    owners = torch.tensor([encoding.owners])
    words = torch.where(owners == NO_UNIT, len(encoding.units), owners).to(model.device)  # special tokens: one more
    blank = torch.where(owners.to(model.device) == NO_UNIT, ids, model.mask_token)

    def differentiable(inputs: Tensor) -> Tensor:
        return torch.softmax(model.logits(inputs, encoding.segments), dim=-1)[:, label]

    def probability(inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return differentiable(inputs)

    table = model.base.get_input_embeddings()  # type: ignore[operator]
    return {
        "integrated_gradients": seconds(
            lambda: attr.LayerIntegratedGradients(differentiable, table).attribute(ids, baselines=blank, n_steps=STEPS),
            REPEATS,
        ),
        "lime": seconds(
            lambda: attr.Lime(probability).attribute(ids, baselines=blank, feature_mask=words, n_samples=SAMPLES)
        ),
        "kernel_shap": seconds(
            lambda: attr.KernelShap(probability).attribute(ids, baselines=blank, feature_mask=words, n_samples=SAMPLES)
        ),
        "occlusion": seconds(
            lambda: attr.FeatureAblation(probability).attribute(ids, baselines=blank, feature_mask=words), REPEATS
        ),
    }


def arithmetic(question: Question) -> dict[str, float]:
    """GFLOP/s of full perturbation batches through the model, and of bare matrix products of the same shapes."""
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
