"""A set explained by the workers of a Ray cluster (extra `ray`), into the folder that every measurement of it reads.

A worker explains an input into a folder of its own, and sends what it found there. The process that asks keeps what has
the key that it looks for: a worker with another version, model or weights would have another one.
"""

import json
import pickle
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.data_set import ExplainedSet
from explainers.evaluation.explanation_store import ExplanationStore, explain_set, missing_explanations
from explainers.methods.registry import select
from explainers.models.catalog import load
from explainers.models.ray_cluster import OTHER_WORKER, WORKER_FAILED, connected, map_with_actors
from explainers.results.decision import Settings

OTHER = "model, weights, libraries or version"


class SetExplainer:
    """An actor. It is given inputs, each with the ids of the methods that explain it, and sends explanations by key."""

    def __init__(self, model: str, settings: Settings, device: str, precision: str) -> None:
        import torch

        torch.set_num_threads(1)
        self.settings, self.problem = settings, ""
        try:
            self.model = load(model, device=device, precision=precision)
        except ExplanationError as error:  # such as a model that is not on its machine
            self.problem = WORKER_FAILED.format(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"result": [json.dumps(self._explained(*pickle.loads(item))) for item in batch["item"]]}

    def _explained(self, example: Example, methods: Sequence[str]) -> dict[str, Any]:
        if self.problem:
            return {"problem": self.problem}
        with tempfile.TemporaryDirectory() as folder:
            store = ExplanationStore(Path(folder))
            reasons = explain_set(
                self.model, [example], select(methods), self.settings, store.attribution, lambda _sentence: None
            )
            return {"found": store.contents(), "failed": reasons}


def explain_set_with_ray(
    name: str,
    explained: ExplainedSet,
    store: ExplanationStore,
    workers: int,
    address: str,
    progress: Callable[[str], None],
) -> dict[str, str]:
    """Explain as `explain_set` what the store does not hold yet. `name` is what the workers load; `address` is that of
    a cluster, or empty for one of so many workers on this machine.

    Returns by method why one failed. Raises `ExplanationError` where Ray or the cluster is not there, and where a
    worker has another model, weights or version; `UnusableStore`.
    """
    model, settings = explained.model, explained.settings
    wanted = [missing_explanations(store, model, one, explained.specs, settings) for one in explained.inputs]
    items = [
        pickle.dumps((example, tuple(missing.values())))
        for example, missing in zip(explained.inputs, wanted, strict=True)
        if missing
    ]
    if not items:
        return {}
    keys, reasons = {key for missing in wanted for key in missing}, dict[str, str]()
    with connected(workers, address) as ray:
        arguments = (name, settings, model.device.type, model.precision)
        results = map_with_actors(ray, SetExplainer, arguments, items, workers, model.device.type)
        with closing(results):
            for number, result in enumerate(map(json.loads, results), 1):
                if "problem" in result:
                    raise ExplanationError(result["problem"])
                if not keys.issuperset(result["found"]):
                    raise ExplanationError(OTHER_WORKER.format(OTHER))
                store.add(result["found"])
                reasons |= result["failed"]
                progress(f"{number} of {len(items)} inputs")
    return reasons
