"""How often SmolLM2 is right on SST-2 with each shipped prompt, how faithful the methods are, as a document."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.attribution.self_ranking import SELF_RANKING
from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.record_file import Record, appending, read_signed, resume_records
from explainers.evaluation.set_spec import Shard
from explainers.methods.registry import METHODS, MethodSpec, default_methods, select
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.metrics.faithfulness import METRICS as SPECS
from explainers.models import calls, catalog
from explainers.models.frozen_model import FrozenModel
from explainers.models.prompted.model import PromptedModel
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.report.wording import join_names
from explainers.results.comparison import Comparison
from explainers.results.decision import Settings
from explainers.studies.masking import without_weights
from explainers.training.artifacts import available_artifacts

METRICS = ("aopc_c", "aopc_s")
SAMPLES = 100  # of LIME and KernelSHAP each
STEPS = 20  # of integrated gradients
FILE = "{}.jsonl"  # a row per input, by the name of the prompt
MASKS, REPEATS = 64, 5  # of the comparison with and without the kept prefix

RANDOM = "random"
HEAD = (
    "# A language model that classifies by class words\n\nSmolLM2-135M-Instruct answers sentences of SST-2's dev part "
    "with each [prompt](prompts.md) that comes with Crosslight for it: `sst2` is a template alone, `sst2-examples` has "
    "four reviews with their answers before it, and `completion` is `sst2` with a low-rank adapter that was trained on "
    "it. The answer is the class whose word has the larger probability. Brackets hold 95 % intervals over inputs; the "
    "adapter was trained once."
)
EXPLAINED = (
    "The predicted class, words erased by `delete`; AOPC-C is better when higher, AOPC-S when lower. "
    f"KernelSHAP and LIME drew {SAMPLES} masks each, integrated gradients took {STEPS} steps. KernelSHAP, "
    "LIME and occlusion draw their masks with the operator that judges them. The last columns are the paired "
    "differences to random orders."
)


def answer_row(model: FrozenModel, example: Example, number: int, *, explained: bool) -> Record:
    """Return whether the answer is right, the share of the class words, and by method both metrics."""
    model = model.pooled(calls.PredictionCache())
    settings = Settings(erasure=model.default_erasure, samples=SAMPLES, steps=STEPS)
    decision, probabilities = decide(model, example, settings=settings)
    row: Record = {
        "input": number,
        "units": len(decision.encoding.units),
        "right": int(np.argmax(probabilities) == example.label),
        "positive": int(np.argmax(probabilities) == 1),
        "share": decision.share_of_words,
        "device": catalog.device_name(model.device),
        "metrics": {},
    }
    if explained:
        one_operator = replace(decision, card=replace(decision.card, erasures=(settings.erasure,)))
        compared = Comparison(one_operator, probabilities)
        for specs in (measured_methods(model), (SELF_RANKING,)):  # which takes no part in the consensus
            row["metrics"] = {**_metrics(model, compared, specs), **row["metrics"]}
    return row


def _metrics(model: FrozenModel, comparison: Comparison, specs: Sequence[MethodSpec]) -> dict[str, dict[str, float]]:
    """Return the metrics by method, with those of random orders."""
    for event in run(model, comparison.decision, specs, calls.Meter(), narrators=()):
        comparison = comparison.with_event(event)
    control = comparison.random_control
    results: dict[str, Mapping[str, float]] = {result.method: result.metrics for result in comparison.results}
    results |= {} if control is None else {RANDOM: control.metrics}
    return {method: {metric: metrics[metric] for metric in METRICS} for method, metrics in results.items()}


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
    methods = [spec.id for spec in (*measured_methods(model), SELF_RANKING)]
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


def completion_document(result: Mapping[str, Any]) -> str:
    """Return the Markdown document; `result` has the rows, the prior and the prefix by prompt, the adapter's card and
    the command."""
    prompts: Mapping[str, Mapping[str, Any]] = result["prompts"]
    parts = [HEAD, _answers(prompts).markdown(prompts), _training(result["card"])]
    for name, prompt in prompts.items():
        explained = [row for row in prompt["rows"] if row["metrics"]]
        if explained:
            devices = Counter(row["device"] for row in explained).most_common()
            computed = join_names([f"{device} ({count})" for device, count in devices])
            parts += [
                f"## `smollm2:{name}`, {len(explained)} inputs explained",
                f"{EXPLAINED} Computed on: {computed}.",
            ]
            common = set.intersection(*(set(row["metrics"]) for row in explained))
            methods = sorted(common, key=lambda method: -_mean(explained, method, METRICS[0]))
            parts.append(_methods(explained).markdown(methods))
            parts += _fits(prompt.get("fits", ()))
    return "\n\n".join([*parts, command_block(result["command"])]) + "\n"


def _answers(prompts: Mapping[str, Mapping[str, Any]]) -> Table[str]:
    def mean(field: str) -> TableColumn[str]:
        return TableColumn(TITLES[field], lambda name: _interval(prompts[name]["rows"], field), bounds())

    def prior(name: str) -> str:
        return ", ".join(f"{label} {p:.2f}" for label, p in prompts[name]["prior"].items())

    def ratio(name: str) -> str:
        prefix = prompts[name]["prefix"]
        return f"{prefix['ratio']:.2f} × ({prefix['prefix']} of {prefix['tokens']} tokens)"

    return Table(
        (
            TableColumn("prompt", lambda name: f"`{name}`"),
            mean("right"),
            mean("positive"),
            mean("share"),
            TableColumn("without a text", prior),
            TableColumn("64 masks without the kept prefix, times as long", ratio),
            TableColumn("inputs", lambda name: len(prompts[name]["rows"])),
        )
    )


TITLES = {"right": "accuracy", "positive": "share answered positive", "share": "probability of the class words"}


def _interval(rows: Sequence[Record], field: str) -> Interval:
    return mean_interval(np.array([row[field] for row in rows], dtype=float))


def _training(card: Mapping[str, Any]) -> str:
    recipe, accuracy = card["recipe"], card["accuracy"]["validation"]
    return (
        f"The adapter has rank {recipe['rank']} on every linear layer and was trained once over {recipe['examples']:,} "
        f"texts, with seed {recipe['seed']}. On {card['splits']['validation']} other training sentences, which chose "
        f"nothing, the accuracy is {accuracy['untuned']:.3f} without it and {accuracy['tuned']:.3f} with it.\n\n"
        + command_block(card["command"])
    )


def _fits(cards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the methods that learn were fitted to, and what their cards warn of; nothing where none was."""
    if cards:
        counts: dict[int, list[str]] = {}
        for card in cards:
            counts.setdefault(card["texts"]["learned from"], []).append(METHODS.get(card["method"]).name)
        learned = join_names([f"{join_names(names)} to {count:,}" for count, names in counts.items()])
        yield f"Fitted once each, without labels: {learned} sentences of SST-2's training part."
        absent = join_names([METHODS.get(card["method"]).name for card in cards if not card.get("shipped", True)])
        if absent:
            yield f"The weights of {absent} do not come with Crosslight."
        yield from (
            f"The card of {METHODS.get(card['method']).name}'s fit warns: {warning}"
            for card in cards
            for warning in card.get("warnings", ())
        )
        yield command_block("\n".join(card["command"] for card in cards))


def _methods(rows: Sequence[Record]) -> Table[str]:
    names = {spec.id: spec.name for spec in SPECS}

    def column(metric: str) -> TableColumn[str]:
        return TableColumn(names[metric], lambda method: mean_interval(_values(rows, method, metric)), bounds())

    def difference(metric: str) -> TableColumn[str]:
        return TableColumn(
            f"{names[metric]} − random",
            lambda method: (
                None
                if method == RANDOM
                else difference_interval(_values(rows, method, metric), _values(rows, RANDOM, metric))
            ),
            bounds(sign="+"),
            undefined="",
        )

    columns = (TableColumn[str]("method", lambda method: f"`{method}`"), *map(column, METRICS))
    return Table((*columns, *map(difference, METRICS)))


def _values(rows: Sequence[Record], method: str, metric: str) -> Any:
    return np.array([row["metrics"][method][metric] for row in rows], dtype=float)


def _mean(rows: Sequence[Record], method: str, metric: str) -> float:
    return float(np.mean(_values(rows, method, metric)))
