"""A set explained by the workers of a Ray cluster (extra `ray`), into the folder that every measurement of it reads.

A worker sends what it found under the keys of its own model, weights and versions, which are compared before it begins.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from explainers.comparison.decision import card_of
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.data_set import ExplainedSet
from explainers.evaluation.explanation_store import (
    ExplanationStore,
    code_checksum,
    explain_set,
    explanation_content,
    explanation_key,
    is_declared,
    missing_explanations,
)
from explainers.evaluation.measurement import final_attribution, weights_checksum
from explainers.methods.registry import MethodSpec, select
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.ray_cluster import OTHER_WORKER, WORKER_FAILED, check_reachable, connected, map_with_actors
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings

FOREIGN = "It is of another package, so no explanation of it is kept. Every study explains with it anew."
OWN_GPU = "With --engine ray every worker has a GPU of its own, which it calls the first one. Set --device cuda."
Identity = dict[str, Any]  # all that explanations of one version depend on, besides settings and inputs


@dataclass(frozen=True)
class Asked:
    """An input, and the ids of the methods that explain it."""

    example: Example
    methods: tuple[str, ...]


class SetExplainer:
    """An actor. It is given what is `Asked`, which Ray carries, and sends explanations by key, as JSON. `expected` is
    the identity in the process that stores them."""

    def __init__(self, model: str, settings: Settings, device: str, precision: str, expected: Identity) -> None:
        import torch

        torch.set_num_threads(1)
        self.settings, self.problem = settings, ""
        try:
            self.model = load(model, device=device, precision=precision)
            own = identity_of(self.model, expected["weights"])
        except ExplanationError as error:  # such as a model that is not on its machine
            self.problem = WORKER_FAILED.format(error)
            return
        differs = sorted(name for name in expected if own[name] != expected[name])
        if differs:
            self.problem = OTHER_WORKER.format(", ".join(differs))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"result": [json.dumps(self._explained(item)) for item in batch["item"]]}

    def _explained(self, asked: Asked) -> dict[str, Any]:
        if self.problem:
            return {"problem": self.problem}
        found: dict[str, str] = {}

        def explain(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
            attribution = final_attribution(spec, model, decision)
            found[explanation_key(spec, model, decision)] = explanation_content(attribution)
            return attribution

        try:
            failed = explain_set(
                self.model, [asked.example], select(asked.methods), self.settings, explain, lambda _sentence: None
            )
        except ExplanationError as error:  # such as an image that is not on its machine
            return {"problem": WORKER_FAILED.format(error)}
        return {"found": found, "failed": failed}


def identity_of(model: FrozenModel, methods: Sequence[str]) -> Identity:
    """Return what must be the same in every worker, as it comes back from JSON."""
    identity = {
        "version": code_checksum(),
        "model": {name: value for name, value in asdict(card_of(model)).items() if name != "device"},
        "weights": {id: weights_checksum(model, id) for id in methods},
    }
    content: Identity = json.loads(json.dumps(identity))
    return content


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
    worker lacks an input or has another model, weights or version; `UnusableStore`.
    """
    model, started = explained.model, time.monotonic()
    if model.device.index:
        raise ExplanationError(OWN_GPU)
    reasons = {spec.id: FOREIGN for spec in explained.specs if not is_declared(spec)}
    items = _missing(explained, store, address)
    if not items:
        return reasons
    identity = identity_of(model, [spec.id for spec in explained.specs])
    arguments = (name, explained.settings, model.device.type, model.precision, identity)
    with (
        connected(workers, address) as ray,
        closing(map_with_actors(ray, SetExplainer, arguments, items, workers, model.device.type)) as results,
    ):
        for number, result in enumerate(map(json.loads, results), 1):
            if "problem" in result:
                raise ExplanationError(result["problem"])
            store.add(result["found"])
            reasons |= result["failed"]
            if number % 25 == 0:
                progress(f"{number} of {len(items)} inputs, {time.monotonic() - started:.0f} s")
    return reasons


def _missing(explained: ExplainedSet, store: ExplanationStore, address: str) -> list[Asked]:
    """Return the inputs of which an explanation is missing; equal ones once. The cluster is looked for when the first
    one is found."""
    items, seen = list[Asked](), set[str]()
    for example in explained.inputs:
        missing = missing_explanations(store, explained.model, example, explained.specs, explained.settings)
        methods = tuple(method for key, method in missing.items() if key not in seen)
        seen.update(missing)
        if methods and not items:
            check_reachable(address)
        items += [Asked(example, methods)] if methods else []
    return items
