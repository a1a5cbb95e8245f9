"""All methods on a set of inputs: every faithfulness metric under every erasure operator, and the controls.

An explanation is made once, with the operator of the settings, and is scored under all operators. The records of an
input are written as soon as it and all inputs before it are done. So an interrupted evaluation goes on where it
stopped, and one with more methods, or with a method that was fitted again, computes only what is new.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from explainers.datasets.example import Example
from explainers.evaluation.measurement import measure_input
from explainers.evaluation.plan import Plan
from explainers.evaluation.records import FILE, Record, resume
from explainers.models.frozen_model import FrozenModel
from explainers.models.worker_processes import map_in_processes


def run_evaluation(
    model: FrozenModel, inputs: Sequence[Example], plan: Plan, out: Path, processes: int = 1
) -> Iterator[int]:
    """Measures every input and appends its records to `out`; yields the number of inputs that are done.

    Raises `ExplanationError` if the records in `out` belong to other inputs, another model or other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE
    done = resume(path, plan.signature(model, inputs))

    def work(number: int) -> list[Record]:
        other = inputs[(number + 1) % len(inputs)]
        return list(measure_input(model, inputs[number], other, number, plan, done))

    with path.open("a", encoding="utf-8") as file, closing(map_in_processes(work, len(inputs), processes)) as batches:
        for number, records in enumerate(batches):
            for record in records:
                print(json.dumps(record), file=file, flush=True)
            yield number + 1
