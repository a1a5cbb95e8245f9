"""IvRA as the paper trains it: a copy of the classifier and the read-out of its attention learn together.

    L = CE(F'(x), F(x)) + the criterion of r on F'

F' starts as F; adapters (LoRA) of its layers and of its head are trained, its word embeddings are not. The result
explains F', so its metrics stand apart. A model whose prediction falls on any deletion has a high COMP, so the AOPC-C
of random words is given beside that of r. Deviations: adapters instead of all weights, F's own class instead of labels,
no dropout, one k per step. COMP and SUFF see the hard cut, as the classifier would learn a soft one itself, and the
last weights are kept.

`python -m explainers fit ivra --full`: a new embedded model beside the one that it was made from.
"""

import json
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any, cast

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.learned import fit, fitting_loop
from explainers.learned.batches import Batch, LearningExample, batch, encode_for_learning, in_random_order
from explainers.learned.ivra import Ivra, cross_entropy
from explainers.learned.recipe import Select, trained_parameters
from explainers.metrics.agreement import consistency
from explainers.metrics.bootstrap import difference_interval
from explainers.models import catalog, optimisation
from explainers.models.bundle_cards import BUNDLES, CARD, bundle_names, read_card
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import forward_with_internals, input_embeddings, passes_in
from explainers.models.tasks import TASKS
from explainers.models.text import base_weights, bundle
from explainers.training.loop import LOG, check_finite, log_line
from explainers.training.spec import FitSpec

MODEL_RATE, RANK = 3e-4, 8
FIXED: dict[str, Any] = {"relaxation": "straight", "select": "last", "validations": 1}


@dataclass(frozen=True)
class Tuned:
    """F', the read-out of its attention, and metrics and warnings on validation texts after the last epoch."""

    model: FrozenModel
    module: nn.Module
    metrics: dict[str, float]
    warnings: tuple[str, ...]
    seconds: float


def fit_full(
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    folder: Path,
    recipe: Ivra,
    *,
    model_rate: float = MODEL_RATE,
) -> Tuned:
    """`texts` and `validation` are as `model` sees them; it stays as it is. Writes FOLDER/log.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    recipe = full_recipe(recipe)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)  # for the adapters
        tuned = copied(model, full_name(model, recipe))
    module = recipe.module(model).to(model.device)
    groups: list[list[Tensor]] = [trainable(tuned), [weight for weight in module.parameters() if weight.requires_grad]]
    optimiser = torch.optim.AdamW(
        [{"params": groups[0], "lr": model_rate}, {"params": groups[1], "lr": recipe.learning_rate}],
        weight_decay=recipe.weight_decay,
    )
    order, generator = random.Random(recipe.seed), torch.Generator().manual_seed(recipe.seed)
    plan = [items for _ in range(recipe.epochs) for items in in_random_order(texts, recipe.batch, order)]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: recipe.rate(step / len(plan)))
    with (folder / LOG).open("w", encoding="utf-8") as log:
        for number, items in enumerate(plan, start=1):
            with passes_in(recipe.precision):
                terms = losses(recipe, module, tuned, batch(model, items, (number - 1) / len(plan)), generator)
            check_finite(terms["total"], number - 1)
            step(optimiser, groups, terms["total"])
            schedule.step()
            line = {"step": number, "terms": {name: float(term.detach()) for name, term in terms.items()}}
            log_line(log, line)
        finished = replace(tuned, version=catalog.fingerprint(tuned)[:12])  # freezes it
        module.requires_grad_(False).eval()
        metrics, warnings = validated(recipe, module, finished, validation)
        log_line(log, {"validation": metrics, "warnings": warnings})
    return Tuned(finished, module, metrics, warnings, time.perf_counter() - started)


def full_recipe(recipe: Ivra) -> Ivra:
    """The recipe with what a full training fixes, `FIXED`."""
    return replace(recipe, **FIXED)


def full_name(model: FrozenModel, recipe: Ivra) -> str:
    """The name of the new model, such as sst2-ivra-comp; the norm is named where it is not softmax."""
    parts = (model.name, "ivra", *recipe.criterion.split("+"), *(() if recipe.norm == "softmax" else (recipe.norm,)))
    return "-".join(parts)


def copied(model: FrozenModel, name: str) -> FrozenModel:
    """The same classifier with adapters that begin at zero; it shares the frozen weights."""
    return replace(model, module=optimisation.adapted(model.module, RANK), name=name, lock=RLock())


def trainable(tuned: FrozenModel) -> list[Tensor]:
    """The adapters, from now on with gradient."""
    weights: list[Tensor] = list(adapters(tuned.module).values())
    for weight in weights:
        weight.requires_grad_(True)
    return weights


def adapters(module: nn.Module) -> dict[str, Tensor]:
    """What F' has besides F, by name."""
    return {name: parameter for name, parameter in module.named_parameters() if name.endswith((".down", ".up"))}


def losses(
    recipe: Ivra, module: nn.Module, tuned: FrozenModel, items: Batch, generator: torch.Generator
) -> dict[str, Tensor]:
    """The criterion and CE against what the frozen model answered, which `items` holds."""
    embeds, _ = input_embeddings(tuned, items.inputs)
    internals = forward_with_internals(
        tuned, items.inputs, embeds=embeds
    )  # the embeddings are given so that the pass has a gradient
    terms = recipe.terms(module, tuned, replace(items, internals=internals), generator)
    error = cross_entropy(tuned, internals.logits, items.predicted).mean()
    return {**terms, "total": terms["total"] + error, "error": error}


def step(optimiser: torch.optim.Optimizer, groups: list[list[Tensor]], loss: Tensor) -> None:
    weights = [weight for group in groups for weight in group]
    gradients = torch.autograd.grad(loss, weights, allow_unused=True)
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient
    for group in groups:
        nn.utils.clip_grad_norm_(group, 1.0)
    optimiser.step()


def validated(
    recipe: Ivra, module: nn.Module, tuned: FrozenModel, items: Sequence[LearningExample]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Faithfulness to the tuned model, of r and of random words, and how often it still answers as the frozen one; CONS
    too where it was trained for. And a warning where COMP or SUFF was trained for and r is no better than random words.
    """
    examples = answered(tuned, items)
    scores = fitting_loop.explained(recipe, module, tuned, examples)
    values, by_chance = (
        fitting_loop.per_text(tuned, examples, scores, "mask"),
        fitting_loop.random_values(tuned, examples),
    )
    agreement = [
        int(a.probabilities.argmax()) == int(b.probabilities.argmax()) for a, b in zip(examples, items, strict=True)
    ]
    criteria = set(recipe.criterion.split("+"))
    cons = consistency(fitting_loop.hidden_means(tuned, examples), scores) if "cons" in criteria else None
    judged = not criteria.isdisjoint(("comp", "suff"))
    metrics = {
        **fitting_loop.means(values),
        "aopc_c_random": fitting_loop.means(by_chance)["aopc_c"],
        "agreement": float(np.mean(agreement)),
        **({} if cons is None else {"cons": cons.mean}),
    }
    select: Select = recipe.criterion if recipe.criterion in ("comp", "suff") else "difference"  # type: ignore[assignment]
    gained = difference_interval(fitting_loop.gains(select, values), fitting_loop.gains(select, by_chance))
    return metrics, fitting_loop.chance_warning(select, gained) if judged else ()


def answered(model: FrozenModel, items: Sequence[LearningExample]) -> list[LearningExample]:
    """The same texts with this model's probabilities."""
    examples: list[LearningExample] = []
    for start in range(0, len(items), fitting_loop.VALIDATED):
        some = items[start : start + fitting_loop.VALIDATED]
        probabilities = forward_with_internals(model, batch(model, some).inputs).probabilities(model)
        examples += [replace(item, probabilities=row) for item, row in zip(some, probabilities, strict=True)]
    return examples


def make_full(spec: FitSpec, model: FrozenModel, folder: Path, out: Path | None) -> dict[str, Any]:
    """Trains, writes the bundle to `out` or beside the others, and returns its card with the accuracy that was lost."""
    if model.name not in bundle_names() or model.name not in TASKS:
        raise ExplanationError(f"IvRA-full makes a new embedded model, and {model.name} is not one. Choose sst2.")
    if ignored := sorted(FIXED.keys() & dict(spec.settings).keys()):
        fixed = ", ".join(f"{name}={FIXED[name]}" for name in ignored)
        raise ExplanationError(f"A training of the classifier itself always has {fixed}. Omit it from --set.")
    recipe = full_recipe(cast(Ivra, fit.recipe_for(spec)))
    target = out or BUNDLES / full_name(model, recipe)
    _check_target(target, model)
    if spec.images or (spec.data_path is not None and spec.data_path.is_file()):
        raise ExplanationError(f"The new model is measured on the data of {model.name}. Give their folder, not a file.")
    splits = TASKS[model.name].read(spec.data_path)  # errors of the data come before the long training
    before = catalog.fingerprint(model)
    texts, validation = fit.read_examples(spec.model, spec.data_path, spec.seed, spec.image_files)
    encoded = encode_for_learning(model, texts), encode_for_learning(model, validation)
    tuned = fit_full(model, *encoded, folder, recipe)
    if catalog.fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    below = read_card(BUNDLES / model.name)
    shutil.rmtree(target / "learned", ignore_errors=True)  # of the model that stood there before
    target.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: adapter.detach().half() for name, adapter in adapters(tuned.model.module).items()},
        target / bundle.WEIGHTS,
    )
    card: dict[str, Any] = {
        "name": target.name,
        "labels": below["labels"],
        "texts": list(model.input_names),
        "base": below["base"],
        "on": {"name": model.name, "sha256": below["sha256"]},
        "data": below["data"],
        "splits": below["splits"],
        "recipe": {**asdict(recipe), "rank": RANK, "full": True},
        "command": spec.command,
        "seconds": round(tuned.seconds, 1),
        "machine": {"device": str(model.device), "threads": torch.get_num_threads(), "torch": torch.__version__},
        "sha256": base_weights.sha256(target / bundle.WEIGHTS),
    }
    (target / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    loaded = catalog.load_bundle(target, model.device)
    accuracies = {
        name: optimisation.accuracy(loaded, part)
        for name, part in (("validation", splits.validation), ("test", splits.test))
    }
    card["accuracy"] = accuracies
    card["accuracy_loss"] = {name: below["accuracy"][name] - value for name, value in accuracies.items()}
    card["validation"] = tuned.metrics
    (target / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    weights = {
        name: parameter.half() for name, parameter in trained_parameters(tuned.module.requires_grad_(True)).items()
    }
    about: dict[str, Any] = {
        "texts": {"learned from": len(texts), "watched": len(validation)},
        "validation": tuned.metrics,
        "warnings": list(tuned.warnings),
        "recipe": asdict(recipe),
        "command": card["command"],
    }
    fit.write_weights(spec, loaded, weights, target / "learned", about)
    return card


def _check_target(folder: Path, model: FrozenModel) -> None:
    """Raises `ExplanationError` where a new model must not be written."""
    if folder.parent.resolve() != BUNDLES.resolve():
        raise ExplanationError(f"A bundle that stands on {model.name} must lie beside it, in {BUNDLES}.")
    if (folder / CARD).is_file() and read_card(folder).get("on", {}).get("name") != model.name:
        raise ExplanationError(f"{folder.name} is another model. Choose another folder for --out.")
