"""The records on which verdicts rest, for many inputs: explained once, and where a method samples with another seed.

The file verdicts.jsonl has a signature and then records. An interrupted run goes on where it stopped.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.plan import Plan
from explainers.evaluation.verdict_records import Record, comparison_of, verdict_record
from explainers.methods.registry import applicable, default_methods, select
from explainers.methods.spec import SLOW, MethodSpec
from explainers.models.frozen_model import FrozenModel
from explainers.results.comparison import Comparison

FILE = "verdicts.jsonl"


def judged_methods() -> tuple[str, ...]:
    """The default methods without those that never decide a verdict: optimised on the metrics, or a random order."""
    return tuple(spec.id for spec in select(default_methods()) if not spec.optimised and not spec.is_random)


def sampling(spec: MethodSpec) -> bool:
    """Whether the scores depend on the seed."""
    return spec.kind in SLOW


def record_verdicts(model: FrozenModel, inputs: Sequence[Example], plan: Plan, out: Path) -> Iterator[int]:
    """Appends what is missing to `out`; yields the number of inputs that are done.

    Raises `ExplanationError` if the records there belong to other inputs, another model or other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    done = _resume(out / FILE, signature(model, inputs, plan))
    seed = plan.settings.seed
    with (out / FILE).open("a", encoding="utf-8") as file:
        for number, example in enumerate(inputs):
            specs = applicable(plan.specs, example)
            again = tuple(spec for spec in specs if sampling(spec))
            for each, chosen in ((seed, specs), (seed + 1, again)):
                if (number, each) not in done:
                    settings = replace(plan.settings, seed=each)
                    record = verdict_record(model, example, number, chosen, settings, operators=each == seed)
                    print(json.dumps(record), file=file, flush=True)
            yield number + 1


def recorded_pairs(
    model: FrozenModel, inputs: Sequence[Example], plan: Plan, out: Path, progress: Callable[[str], None]
) -> list[tuple[Comparison, Comparison]]:
    """Of every input the comparison, and the same with another seed; what is not recorded is computed first."""
    for done in record_verdicts(model, inputs, plan, out):
        if done % 10 == 0 or done == len(inputs):
            progress(f"{done} of {len(inputs)} inputs")
    records, settings = read_verdict_records(out), plan.settings
    pairs = []
    for number, example in enumerate(inputs):
        record, again = (records[number, seed] for seed in (settings.seed, settings.seed + 1))
        both = (record, with_other_seed(record, again))
        first, second = (comparison_of(each, model, example, settings) for each in both)
        pairs.append((first, second))
    return pairs


def with_other_seed(record: Record, again: Record) -> Record:
    """The record with the random orders of `again`, and with its methods, which are those that sample."""
    return {**record, "methods": {**record["methods"], **again["methods"]}, "random": again["random"]}


def signature(model: FrozenModel, inputs: Sequence[Example], plan: Plan) -> dict[str, Any]:
    return {**plan.signature(model, inputs), "methods": [spec.id for spec in plan.specs]}


def read_verdict_records(out: Path) -> dict[tuple[int, int], Record]:
    """By number of the input and seed."""
    lines = list(_whole_lines(out / FILE))[1:]
    return {(record["text"], record["seed"]): record for record in lines}


def _resume(path: Path, wanted: dict[str, Any]) -> set[tuple[int, int]]:
    """Drops a line that was not written to its end; returns the keys of the records."""
    lines = list(_whole_lines(path)) if path.is_file() else []
    if lines and lines[0] != wanted:
        raise ExplanationError(f"{path} belongs to another run. Choose another folder or delete it.")
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(line) + "\n" for line in (wanted, *lines[1:])), encoding="utf-8")
    fresh.replace(path)
    return {(record["text"], record["seed"]) for record in lines[1:]}


def _whole_lines(path: Path) -> Iterator[Record]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
