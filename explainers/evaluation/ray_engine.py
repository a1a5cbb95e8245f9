"""Rows explained by the workers of a Ray cluster (extra `ray`), as one process explains them.

Ray Data distributes the rows over a pool of actors, each with the model and one thread, or one GPU; it starts an actor
anew that dies, and gives its rows to another one. The records come back to this process, which stores them, so that an
evaluation that was interrupted goes on as without Ray.
"""

import json
from collections.abc import Generator, Sequence
from dataclasses import asdict
from typing import Any

from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan, explain_batch
from explainers.evaluation.record_file import Record
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.ray_cluster import OTHER_WORKER, WORKER_FAILED, connected, map_with_actors


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
            self.problem = WORKER_FAILED.format(error)
            return
        differs = sorted(name for name in expected if own.get(name) != expected[name])
        if differs:
            self.problem = OTHER_WORKER.format(", ".join(differs))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """From rows to records, both as JSON."""
        if self.problem:
            return {"result": [json.dumps({"problem": self.problem}) for _ in batch["item"]]}
        rows = [InputRow(**json.loads(row)) for row in batch["item"]]
        return {"result": [json.dumps(record) for record in explain_batch(self.model, self.plan, rows)]}


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
        device = model.device.type
        arguments = (name, plan, plain(plan.as_dict(model)), device, model.precision)
        items = [json.dumps(asdict(row)) for row in rows]
        for record in map(json.loads, map_with_actors(ray, RowExplainer, arguments, items, workers, device)):
            if "problem" in record:
                raise ExplanationError(record["problem"])
            yield [record]


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a file."""
    again: dict[str, Any] = json.loads(json.dumps(value))
    return again
