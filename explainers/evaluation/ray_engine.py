"""Rows explained by the workers of a Ray cluster (extra `ray`), as one process explains them.

Ray Data distributes the rows over a pool of actors, each with the model and one thread, or one GPU; it starts an actor
anew that dies, and gives its rows to another one. The records come back to this process, which stores them, so that an
evaluation that was interrupted goes on as without Ray.
"""

import json
import logging
from collections.abc import Generator, Sequence
from dataclasses import asdict
from typing import Any

from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan, explain_batch
from explainers.evaluation.record_file import Record
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.ray_cluster import connected


class RowExplainer:
    """An actor. `plan` is what decides the numbers; `expected` is that in the process that stores the records."""

    def __init__(self, model: str, plan: SetPlan, expected: dict[str, Any], device: str, precision: str) -> None:
        import torch

        torch.set_num_threads(1)
        self.plan, self.problem = plan, ""
        try:
            self.model = load(model, device=device, precision=precision)
            own = plain(plan.as_dict(self.model))
        except ExplanationError as error:  # such as a model that is not on its machine
            self.problem = f"A worker of the cluster failed: {error}"
            return
        differs = sorted(name for name in expected if own.get(name) != expected[name])
        if differs:
            self.problem = f"A worker of the cluster has another {', '.join(differs)}."

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """From rows to records, both as JSON."""
        if self.problem:
            return {"record": [json.dumps({"problem": self.problem}) for _ in batch["row"]]}
        rows = [InputRow(**json.loads(row)) for row in batch["row"]]
        return {"record": [json.dumps(record) for record in explain_batch(self.model, self.plan, rows)]}


def explain_with_ray(
    name: str, model: FrozenModel, plan: SetPlan, rows: Sequence[InputRow], workers: int, address: str
) -> Generator[list[Record]]:
    """Yield the records of the rows as they are made, in any order. `name` is what the workers load; `address` is that
    of a cluster, or empty for one of so many workers on this machine, which ends with the last record.

    Raises `ExplanationError` where Ray or the cluster is not there, and where a worker has another model or version.
    """
    if not rows:
        return
    with connected(workers, address) as ray:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        kind = model.device.type
        given = ray.data.from_items([{"row": json.dumps(asdict(row))} for row in rows], override_num_blocks=len(rows))
        explained = given.map_batches(
            RowExplainer,
            fn_constructor_args=(name, plan, plain(plan.as_dict(model)), kind, model.precision),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=1,
            num_gpus=1 if kind == "cuda" else None,
        )
        for made in explained.iter_rows():
            record = json.loads(made["record"])
            if "problem" in record:
                raise ExplanationError(f"{record['problem']} All need the same model, weights and version.")
            yield [record]


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a file."""
    again: dict[str, Any] = json.loads(json.dumps(value))
    return again
