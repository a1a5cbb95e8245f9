"""`python -m explainers fit ivra --full`: a new embedded model beside the one that it was made from."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file

from explainers.errors import ExplanationError
from explainers.learned.batches import encode_for_learning
from explainers.learned.fit import read_examples, recipe_for, write_weights
from explainers.learned.ivra import Ivra
from explainers.learned.ivra_full import FIXED, RANK, adapters, fit_full, full_name, full_recipe
from explainers.learned.recipe import trained_parameters
from explainers.models.accuracy import accuracy
from explainers.models.bundle_cards import BUNDLES, CARD, bundle_names, read_card
from explainers.models.catalog import fingerprint, load_bundle
from explainers.models.frozen_model import FrozenModel
from explainers.models.tasks import TASKS
from explainers.models.text.base_weights import sha256
from explainers.models.text.bundle import WEIGHTS
from explainers.training.fit_spec import FitSpec


def make_full(spec: FitSpec, model: FrozenModel, folder: Path, out: Path | None) -> dict[str, Any]:
    """Trains, writes the bundle to `out` or beside the others, and returns its card with the accuracy that was lost."""
    if model.name not in bundle_names() or model.name not in TASKS:
        raise ExplanationError(f"IvRA-full makes a new embedded model, and {model.name} is not one. Choose sst2.")
    if ignored := sorted(FIXED.keys() & dict(spec.settings).keys()):
        fixed = ", ".join(f"{name}={FIXED[name]}" for name in ignored)
        raise ExplanationError(f"A training of the classifier itself always has {fixed}. Omit it from --set.")
    recipe = full_recipe(cast(Ivra, recipe_for(spec)))
    target = out or BUNDLES / full_name(model, recipe)
    _check_target(target, model)
    if spec.images or (spec.data_path is not None and spec.data_path.is_file()):
        raise ExplanationError(f"The new model is measured on the data of {model.name}. Give their folder, not a file.")
    splits = TASKS[model.name].read(spec.data_path)  # errors of the data come before the long training
    before = fingerprint(model)
    texts, validation = read_examples(spec.model, spec.data_path, spec.seed, spec.image_files)
    encoded = encode_for_learning(model, texts), encode_for_learning(model, validation)
    tuned = fit_full(model, *encoded, folder, recipe)
    if fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    below = read_card(BUNDLES / model.name)
    shutil.rmtree(target / "learned", ignore_errors=True)  # of the model that stood there before
    target.mkdir(parents=True, exist_ok=True)
    save_file({name: each.detach().half() for name, each in adapters(tuned.model.module).items()}, target / WEIGHTS)
    card: dict[str, Any] = {
        "name": target.name,
        "labels": below["labels"],
        "texts": list(model.input_names),
        "base": below["base"],
        "on": {"name": model.name, "sha256": below["sha256"]},
        "data": below["data"],
        "splits": below["splits"],
        "recipe": {**asdict(recipe), "rank": RANK, "full": True},
        "command": f"{spec.command} --full",
        "seconds": round(tuned.seconds, 1),
        "machine": {"device": str(model.device), "threads": torch.get_num_threads(), "torch": torch.__version__},
        "sha256": sha256(target / WEIGHTS),
    }
    (target / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    loaded = load_bundle(target, model.device)
    accuracies = {
        name: accuracy(loaded, part) for name, part in (("validation", splits.validation), ("test", splits.test))
    }
    card["accuracy"] = accuracies
    card["accuracy_loss"] = {name: below["accuracy"][name] - value for name, value in accuracies.items()}
    card["validation"] = tuned.metrics
    (target / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    weights = {name: each.half() for name, each in trained_parameters(tuned.module.requires_grad_(True)).items()}
    about: dict[str, Any] = {
        "texts": {"learned from": len(texts), "watched": len(validation)},
        "validation": tuned.metrics,
        "alarms": list(tuned.warnings),
        "recipe": asdict(recipe),
        "command": card["command"],
    }
    write_weights(spec, loaded, weights, target / "learned", about)
    return card


def _check_target(folder: Path, model: FrozenModel) -> None:
    """Raises `ExplanationError` where a new model must not be written."""
    if folder.parent.resolve() != BUNDLES.resolve():
        raise ExplanationError(f"A bundle that stands on {model.name} must lie beside it, in {BUNDLES}.")
    if (folder / CARD).is_file() and read_card(folder).get("on", {}).get("name") != model.name:
        raise ExplanationError(f"{folder.name} is another model. Choose another folder for --out.")
