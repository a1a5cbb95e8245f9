"""The evaluation of one model on a split of its data or on a file of inputs; its results fill the model's card.

All methods on a set of inputs: every faithfulness metric under every erasure operator, and the controls.

An explanation is made once, with the operator of the settings, and is scored under all operators. The records of an
input are written as soon as it and all inputs before it are done. So an interrupted evaluation goes on where it
stopped, and one with more methods, or with a method that was fitted again, computes only what is new.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import measurement, record_file
from explainers.evaluation.data_set import changed_options, check_erasures, evaluated_methods, split_inputs
from explainers.evaluation.explanation_store import explaining, saying_how_many_are_new
from explainers.evaluation.measurement import Explain, final_attribution
from explainers.evaluation.table import Row, summary_rows
from explainers.memoized import memoized
from explainers.methods.registry import MethodSpec, check_applicable, select
from explainers.models import bundle_cards, catalog, worker_processes
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, MULTIMODAL_ERASURES, Erasure
from explainers.models.precision import Precision
from explainers.results.decision import Settings
from explainers.results.manifest import libraries
from explainers.training.artifacts import check_fitted


@dataclass(frozen=True)
class EvaluationSpec:
    """`n` inputs of a split of the model's data, or of the file `data`; 0 takes all. No `methods` stands for all."""

    model: str
    data: Path | None
    split: str
    n: int
    methods: tuple[str, ...]
    erasures: tuple[str, ...]
    against: str = ""  # a method with which every other one is compared, input by input
    processes: int = 1
    precision: Precision = "float32"
    explanations: Path | None = None  # a folder with those that were computed before, and for those to come

    def command(self, model: str, sensitive: int, settings: Settings) -> str:
        """What to type to repeat the evaluation. With several processes, the seconds are those of one thread."""
        words = ["python -m explainers study evaluation", f"--model {model}", f"--split {self.split}", f"--n {self.n}"]
        words.append(f"--sensitive {sensitive}")
        words += [f"--methods {','.join(self.methods)}"] if self.methods else []
        words += [f"--erasures {','.join(self.erasures)}"] if self.erasures != ERASURES else []
        words += changed_options(settings)
        words += [f"--processes {self.processes}"] if self.processes > 1 else []
        words += [f"--precision {self.precision}"] if self.precision != "float32" else []
        words += ["--explanations DIR"] if self.explanations is not None else []
        words += [] if bundle_cards.is_generated(model) and self.data is None else ["--data DIR"]
        return " ".join(words)


@dataclass(frozen=True)
class Evaluation:
    """The records of an evaluation, and what is needed to repeat it."""

    model: FrozenModel
    inputs: tuple[Example, ...]
    specs: tuple[MethodSpec, ...]
    records: list[record_file.Record]
    about: dict[str, Any]

    @memoized
    def rows(self) -> list[Row]:
        return summary_rows(self.records)


def evaluate_data_set(
    spec: EvaluationSpec, settings: Settings, sensitive: int, out: Path, device: str, progress: Callable[[str], None]
) -> Evaluation:
    """Runs the evaluation in the folder `out`, or goes on with the one there; `progress` gets a line now and then."""
    _check_names(spec)
    model = catalog.load(spec.model, device=device, precision=spec.precision)
    check_erasures((*spec.erasures, settings.erasure), model.erasures)
    worker_processes.check_processes(spec.processes, model.device)
    inputs = split_inputs(spec.model, spec.data, spec.split, spec.n, model.input_names, settings.seed)
    specs = select(spec.methods) if spec.methods else evaluated_methods(model)
    check_fitted(model.name, model.version, specs)
    for example in inputs[:1]:
        check_applicable(spec.methods, example)
    plan = measurement.Plan(specs, settings, cast(tuple[Erasure, ...], spec.erasures), sensitive)
    running = run_evaluation(model, inputs, plan, out, spec.processes, explaining(spec.explanations))
    with saying_how_many_are_new(spec.explanations, progress):
        _show_progress(running, len(inputs), progress)
    records = measurement.current_records(out, [spec.id for spec in specs], model)
    about = {
        "model": {
            "name": model.name,
            "version": model.version,
            "devices": measurement.device_counts(records),
            "precisions": measurement.precision_counts((record["text"], record.get("precision")) for record in records),
        },
        "data": {"split": spec.split, "texts": len(inputs), "seed": settings.seed},
        "settings": settings.as_dict(),
        "sensitive": sensitive,
        "command": spec.command(model.name, sensitive, settings),
        "libraries": libraries(),
    }
    return Evaluation(model, inputs, specs, records, about)


def run_evaluation(
    model: FrozenModel,
    inputs: Sequence[Example],
    plan: measurement.Plan,
    out: Path,
    processes: int = 1,
    explain: Explain = final_attribution,
) -> Iterator[int]:
    """Measures every input and appends its records to `out`; yields the number of inputs that are done.

    Raises `ExplanationError` if the records in `out` belong to other inputs, another model or other settings.
    """
    path = out / measurement.FILE
    kept = record_file.resume_records(path, plan.signature(model, inputs), measurement.is_measured)
    done = {(record["text"], record["method"], record["weights"]) for record in kept}

    def work(number: int) -> list[record_file.Record]:
        other = inputs[(number + 1) % len(inputs)]
        return list(measurement.measure_input(model, inputs[number], other, number, plan, done, explain))

    with (
        record_file.appending(path) as append,
        closing(worker_processes.map_in_processes(work, len(inputs), processes)) as batches,
    ):
        for number, records in enumerate(batches):
            for record in records:
                append(record)
            yield number + 1


def _check_names(spec: EvaluationSpec) -> None:
    """What can be checked before the model is loaded."""
    if spec.n < 0:
        raise ExplanationError(f"--n must be 0 (all texts) or more, not {spec.n}.")
    check_erasures(spec.erasures, MULTIMODAL_ERASURES)
    if spec.against and spec.methods and spec.against not in spec.methods:
        raise ExplanationError(f"--against {spec.against}: that method is not among --methods. Add it there.")
    select(id for id in (spec.against, *spec.methods) if id)


def _show_progress(running: Iterator[int], inputs: int, progress: Callable[[str], None]) -> None:
    started, last = time.monotonic(), 0
    for done in running:
        if done == 1 or done - last >= max(1, inputs // 20):
            progress(f"{done} of {inputs} texts, {time.monotonic() - started:.0f} s")
            last = done
