"""`python -m explainers fit ivra --full`: a new embedded model beside the one that it was made from."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file

from explainers.errors import ExplanationError
from explainers.learned.batches import seen
from explainers.learned.command import Order, parts, write_weights
from explainers.learned.ivra import Ivra
from explainers.learned.ivra_full import RANK, adapters, fit_full
from explainers.learned.recipe import learned
from explainers.models.base import sha256
from explainers.models.bundle import WEIGHTS, load_bundle
from explainers.models.cards import BUNDLES, CARD, bundled, card
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.tasks import TASKS, measured


def make_full(order: Order, model: FrozenModel, folder: Path, out: Path | None) -> dict[str, Any]:
    """Trains, writes the bundle to `out` or beside the others, and returns its card with the accuracy that was lost."""
    if model.name not in bundled() or model.name not in TASKS:
        raise ExplanationError(f"IvRA-full makes a new embedded model, and {model.name} is not one. Choose sst2.")
    recipe = cast(Ivra, order.recipe)
    if out is not None and out.parent.resolve() != BUNDLES.resolve():
        raise ExplanationError(f"A bundle that stands on {model.name} must lie beside it, in {BUNDLES}.")
    before = fingerprint(model)
    texts, watched = parts(order.model, order.data, order.seed, order.pictures)
    tuned = fit_full(model, seen(model, texts), seen(model, watched), folder, recipe)
    if fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    target, below = out or BUNDLES / tuned.model.name, card(BUNDLES / model.name)
    target.mkdir(parents=True, exist_ok=True)
    save_file({name: each.detach().half() for name, each in adapters(tuned.model.module).items()}, target / WEIGHTS)
    made: dict[str, Any] = {
        "name": target.name,
        "labels": below["labels"],
        "texts": list(model.asks),
        "base": below["base"],
        "on": {"name": model.name, "sha256": below["sha256"]},
        "data": below["data"],
        "splits": below["splits"],
        "recipe": {**asdict(recipe), "rank": RANK, "full": True},
        "command": f"{order.command} --full",
        "seconds": round(tuned.seconds, 1),
        "machine": {"device": str(model.device), "threads": torch.get_num_threads(), "torch": torch.__version__},
        "sha256": sha256(target / WEIGHTS),
    }
    (target / CARD).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    loaded = load_bundle(target, model.device)
    splits = TASKS[model.name].read(order.data)
    found = {name: measured(loaded, part) for name, part in (("validation", splits.validation), ("test", splits.test))}
    made["accuracy"] = found
    made["accuracy_loss"] = {name: below["accuracy"][name] - value for name, value in found.items()}
    made["validation"] = tuned.figures
    (target / CARD).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    weights = {name: each.half() for name, each in learned(tuned.module.requires_grad_(True)).items()}
    about = {"texts": {"learned from": len(texts), "watched": len(watched)}, "validation": tuned.figures, "alarms": []}
    about["command"] = made["command"]
    write_weights(order, loaded, weights, target / "learned", about)
    return made
