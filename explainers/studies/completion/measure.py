"""How often SmolLM2 is right on SST-2 with each shipped prompt of its two classes, and how faithful the methods are."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.record_file import Record, appending, read_signed, resume_records
from explainers.evaluation.set_spec import Shard
from explainers.methods.registry import default_methods, select
from explainers.methods.spec import MethodSpec
from explainers.models.catalog import device_name
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.models.prediction_cache import PredictionCache
from explainers.models.prompted.model import PromptedModel
from explainers.results.comparison import Comparison
from explainers.results.settings import Settings
from explainers.studies.masking import without_weights
from explainers.training.artifacts import available_artifacts

METRICS = ("aopc_c", "aopc_s")
SAMPLES = 100  # of LIME and KernelSHAP each
STEPS = 20  # of integrated gradients
FILE = "{}.jsonl"  # a row per input, by the name of the prompt
MASKS, REPEATS = 64, 5  # of the comparison with and without the kept prefix


def answer_row(model: FrozenModel, example: Example, number: int, *, explained: bool) -> Record:
    """Return whether the answer is right, the share of the class words, and by method both metrics."""
    model = model.pooled(PredictionCache())
    settings = Settings(erasure=model.default_erasure, samples=SAMPLES, steps=STEPS)
    decision, probabilities = decide(model, example, settings=settings)
    row: Record = {
        "input": number,
        "units": len(decision.encoding.units),
        "right": int(np.argmax(probabilities) == example.label),
        "positive": int(np.argmax(probabilities) == 1),
        "share": decision.share_of_words,
        "device": device_name(model.device),
        "metrics": {},
    }
    if explained:
        one_operator = replace(decision, card=replace(decision.card, erasures=(settings.erasure,)))
        comparison = Comparison(one_operator, probabilities)
        for event in run(model, one_operator, measured_methods(model), Meter(), narrators=()):
            comparison = comparison.with_event(event)
        row["metrics"] = {
            result.method: {metric: result.metrics[metric] for metric in METRICS} for result in comparison.results
        }
        control = comparison.random_control
        if control is not None:
            row["metrics"]["random"] = {metric: control.metrics[metric] for metric in METRICS}
    return row


def measured_methods(model: FrozenModel) -> tuple[MethodSpec, ...]:
    """Return the comparable default methods that need no fit, then those that were fitted to the model."""
    fitted = {artifact.method for artifact in available_artifacts(model.name, model.version)}
    return (*without_weights(), *(spec for spec in select(default_methods()) if spec.id in fitted))


def record_answers(
    model: PromptedModel,
    prompt: str,
    inputs: Sequence[Example],
    explained: int,
    out: Path,
    shard: Shard | None = None,
) -> Iterator[int]:
    """Append the rows of the shard that are missing in `out`, also where more inputs are to be `explained` than before;
    yield how many inputs are done.

    Raises `ExplanationError` if the rows there belong to another run.
    """
    path = out / (FILE.format(prompt) if shard is None else f"{prompt}-{shard.file}")
    methods = [spec.id for spec in measured_methods(model)]
    signature = {"model": model.version, "methods": methods, "inputs": [example.text for example in inputs]}

    def is_whole(row: Record) -> bool:
        return bool(row["metrics"]) or row["input"] >= explained

    resume_records(path, signature, is_whole)
    done = {row["input"] for row in rows_of(out, prompt) if is_whole(row)}
    with appending(path) as append:
        for place, (number, example) in enumerate((shard or Shard()).of(list(enumerate(inputs))), start=1):
            if number not in done:
                append(answer_row(model, example, number, explained=number < explained))
            yield place


def rows_of(out: Path, prompt: str) -> list[Record]:
    """Return the rows of a prompt, from all shards, in the order of the inputs: of an input that is there twice the one
    with metrics.

    Raises `ExplanationError` if the shards are of different runs.
    """
    paths = sorted((*out.glob(FILE.format(prompt)), *out.glob(f"{prompt}-part-*.jsonl")))
    files = [read_signed(path) for path in paths]
    for path, (signature, _) in zip(paths, files, strict=True):
        if signature != files[0][0]:
            raise ExplanationError(
                f"{path} and {paths[0]} belong to different runs. Choose another folder or delete one."
            )
    rows = [row for _, records in files for row in records]
    best = {row["input"]: row for row in sorted(rows, key=lambda row: bool(row["metrics"]))}
    return [best[number] for number in sorted(best)]


def prefix_ratio(model: PromptedModel, example: Example) -> Record:
    """Return how long the same masks take without the kept prefix, as a multiple of the time with it; the median of
    pairs, one after the other.

    Raises `ExplanationError` if the answers differ.
    """
    encoding = model.encode(example)
    keeps = np.random.default_rng(0).random((MASKS, len(encoding.units))) > 0.5
    prefix, ratios = model.cache.prefix, []
    for _ in range(REPEATS):
        seconds, answers = [], []
        for kept in (prefix, ()):
            model.cache.prefix = kept
            started = time.perf_counter()
            answers.append(model.probabilities(encoding, keeps, "delete"))
            seconds.append(time.perf_counter() - started)
        ratios.append(seconds[1] / seconds[0])
        if not np.allclose(answers[0], answers[1], atol=1e-4):
            raise ExplanationError("The answers with the kept prefix differ from those without.")
    model.cache.prefix = prefix
    return {
        "prompt": model.prompt.key,
        "prefix": len(prefix),
        "tokens": len(encoding.ids),
        "ratio": float(np.median(ratios)),
    }
