"""The evaluation of one model on a split of its data or on a file of inputs: what is evaluated, and the results.

All methods on a set of inputs: every faithfulness metric under every erasure operator, and the controls.

An explanation is made once, with the operator of the settings, and is scored under all operators. The records of an
input are written as soon as it and all inputs before it are done. So an interrupted evaluation goes on where it
stopped, and one with more methods, or with a method that was fitted again, computes only what is new.

What the measurements of whole sets of explanations share: the model, inputs, methods, and the head of the record.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from explainers.datasets import user_texts
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation import measurement, record_file
from explainers.evaluation.explanation_store import explaining, saying_how_many_are_new
from explainers.evaluation.measurement import Explain, final_attribution
from explainers.evaluation.table import Row, summary_rows
from explainers.memoized import memoized
from explainers.methods.registry import METHODS, MethodSpec, check_applicable, select, using_weights_of
from explainers.models import bundle_cards, catalog, tasks, worker_processes
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, MULTIMODAL_ERASURES, Erasure
from explainers.models.precision import Precision
from explainers.results.decision import EVALUATED_SAMPLING, SETTLED_BY, Settings
from explainers.results.manifest import libraries
from explainers.training.artifacts import available_artifacts, check_fitted


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


DEFAULTS = Settings(samples=SETTLED_BY, sampling=EVALUATED_SAMPLING)  # of the commands that measure data sets


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
    inputs = split_inputs(spec, model.input_names, settings.seed)
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


def changed_options(settings: Settings) -> list[str]:
    """The options of a command that measures a data set, where they are not the default ones."""
    defaults = DEFAULTS.as_dict()
    return [f"--{name} {value}" for name, value in settings.as_dict().items() if value != defaults[name]]


def _check_names(spec: EvaluationSpec) -> None:
    """What can be checked before the model is loaded."""
    if spec.n < 0:
        raise ExplanationError(f"--n must be 0 (all texts) or more, not {spec.n}.")
    check_erasures(spec.erasures, MULTIMODAL_ERASURES)
    if spec.against and spec.methods and spec.against not in spec.methods:
        raise ExplanationError(f"--against {spec.against}: that method is not among --methods. Add it there.")
    select(id for id in (spec.against, *spec.methods) if id)


def check_erasures(erasures: Sequence[str], available: Sequence[Erasure]) -> None:
    for erasure in erasures:
        if erasure not in available:
            raise ExplanationError(f"Unknown erasure operator {erasure!r}. Choose one of: {', '.join(available)}.")


def _show_progress(running: Iterator[int], inputs: int, progress: Callable[[str], None]) -> None:
    started, last = time.monotonic(), 0
    for done in running:
        if done == 1 or done - last >= max(1, inputs // 20):
            progress(f"{done} of {inputs} texts, {time.monotonic() - started:.0f} s")
            last = done


def evaluated_methods(model: FrozenModel) -> tuple[MethodSpec, ...]:
    """Every method except single random orders, which are a control anyway; every variant of those that learn."""
    ids = [spec.id for spec in METHODS if not spec.is_random and not spec.learns and spec.suits(model.name)]
    for artifact in available_artifacts(model.name, model.version):
        for spec in using_weights_of(artifact.method):
            default = artifact.variant == spec.default_variant
            ids.append(spec.id if default else f"{spec.id}:{artifact.variant}")
    return select(ids)


def split_inputs(spec: EvaluationSpec, input_names: tuple[str, ...], seed: int) -> tuple[Example, ...]:
    """`n` inputs at random, from a file or from a split of the model's data. Raises `DataUnavailable`."""
    if spec.data is not None and not spec.data.exists():
        raise DataUnavailable(f"The file or folder {spec.data} does not exist.")
    if spec.data is not None and spec.data.is_file():
        inputs = list(user_texts.read_texts(spec.data, input_names, user_texts.logged))
    else:
        inputs = list(tasks.split_of(spec.model, spec.data, spec.split))
    random.Random(seed).shuffle(inputs)
    return tuple(inputs[: spec.n] if spec.n > 0 else inputs)


@dataclass(frozen=True)
class ExplainedSet:
    model: FrozenModel
    inputs: tuple[Example, ...]
    specs: tuple[MethodSpec, ...]
    settings: Settings
    record: dict[str, Any]  # which model, data and settings these are, and the command
    explain: Explain


def explained_set(
    command: str,
    model: str,
    data: Path | None,
    split: str,
    n: int,
    ids: Sequence[str],
    settings: Settings,
    device: str,
    explanations: Path | None = None,
    *,
    costly: bool = False,
) -> ExplainedSet:
    """Return the model, the inputs, the methods, and how they explain: with the explanations of a folder, or anew.

    By default the methods are those that are repeatable and need few passes, or with `costly` all.

    Raises `ExplanationError` for what cannot be explained.
    """
    frozen = catalog.load(model, device=device)
    check_erasures((settings.erasure,), frozen.erasures)
    specs = select(ids) if ids else tuple(spec for spec in evaluated_methods(frozen) if costly or spec.repeatable)
    check_fitted(frozen.name, frozen.version, specs)
    inputs = split_inputs(EvaluationSpec(model, data, split, n, tuple(ids), ()), frozen.input_names, settings.seed)
    words = [f"python -m explainers study {command} --model {frozen.name} --split {split} --n {n}"]
    words += [f"--methods {','.join(ids)}"] if ids else []
    words += changed_options(settings)
    words += ["--explanations DIR"] if explanations is not None else []
    record = {
        "model": {"name": frozen.name, "version": frozen.version},
        "data": {"split": split, "inputs": len(inputs), "seed": settings.seed},
        "settings": settings.as_dict(),
        "command": " ".join([*words, *([] if data is None else ["--data DIR"])]),
        "libraries": libraries(),
    }
    return ExplainedSet(frozen, tuple(inputs), tuple(specs), settings, record, explaining(explanations))
