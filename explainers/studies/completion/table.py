"""The prompts side by side, as a document."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from explainers.evaluation.record_file import Record
from explainers.methods.registry import METHODS
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.metrics.faithfulness import METRICS as SPECS
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.report.text import join_names
from explainers.studies.completion.measure import METRICS, SAMPLES, STEPS

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
            methods = sorted(explained[0]["metrics"], key=lambda method: -_mean(explained, method, METRICS[0]))
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
