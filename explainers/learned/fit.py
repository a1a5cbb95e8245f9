"""`python -m explainers fit`: from a method's name, a model and texts to weights with a card."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from explainers.datasets.example import Example
from explainers.datasets.images.sets import ImageFiles
from explainers.datasets.user_texts import logged, read_texts
from explainers.errors import DataUnavailable
from explainers.learned.batches import encode_for_learning
from explainers.learned.fit_pace import measured_pace
from explainers.learned.fitting_loop import fit
from explainers.learned.recipe import Recipe, Select, states_read
from explainers.learned.recipes import SHIPPED, recipe_of
from explainers.learned.validation import gain_of
from explainers.models.bundle_cards import input_names_of_bundle
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.training.artifacts import own_folder, write_artifact
from explainers.training.fit_spec import FitSpec
from explainers.training.loop import CHECKPOINT

FEWEST = 20
VALIDATION = 200  # texts at most that are held out for validation

Examples = tuple[Example, ...]


def recipe_for(spec: FitSpec) -> Recipe:
    """The settings of the shipped variant of this name, if any, overridden by those of the spec."""
    spec.check()
    shipped = SHIPPED.get(spec.method, {}).get(spec.name, {})
    return recipe_of(spec.method, {**shipped, **dict(spec.settings), "seed": spec.seed})


def read_examples(
    model: str, data: Path | None, seed: int, images: ImageFiles | None = None
) -> tuple[Examples, Examples]:
    """Examples for training and for validation, without labels."""
    from explainers.models.tasks import task_of

    if data is not None and not data.exists():
        raise DataUnavailable(f"The file or folder {data} does not exist.")
    if images is not None or (data is not None and data.is_file()):
        return _split(_read(model, data, images), seed)
    task = task_of(model)
    if task is None:
        raise DataUnavailable(f"Give a file with texts for {model}: one per line, or a table, as pairs always need.")
    splits = task.read(data)
    if not splits.explainer:
        raise DataUnavailable(
            f"The data of {model} hold no texts for learning to explain it. "
            "Give a folder that also has the texts named in its card, or a file of your own."
        )
    return _unlabelled(splits.explainer), _unlabelled(splits.validation)[:VALIDATION]


def _read(model: str, data: Path | None, images: ImageFiles | None) -> Examples:
    if images is not None:
        return images.read(data).examples
    return read_texts(cast(Path, data), input_names_of_bundle(model), logged)


def _split(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    if len(examples) < FEWEST:
        raise DataUnavailable(f"A method learns from {FEWEST} examples or more; {len(examples)} given.")
    shuffled = list(_unlabelled(examples))
    random.Random(seed).shuffle(shuffled)
    first = held_out(len(shuffled))
    return tuple(shuffled[first:]), tuple(shuffled[:first])


def held_out(count: int) -> int:
    """How many of a person's examples are held out for validation."""
    return min(VALIDATION, max(2, count // 10))


def _unlabelled(examples: Iterable[Example]) -> Examples:
    return tuple(Example(example.text, example.pair, image=example.image) for example in examples)


def make(
    spec: FitSpec,
    model: FrozenModel,
    folder: Path,
    out: Path | None,
    *,
    resume: bool,
    announce: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Fits, writes weights and card to `out` or to the store, and returns the card. What starts anew is timed first, to
    `announce` its seconds."""
    texts, validation = read_examples(spec.model, spec.data_path, spec.seed, spec.image_files)
    recipe = recipe_for(spec)
    _check_images(recipe, model, texts)
    if announce is not None and not (resume and any(folder.glob(f"**/{CHECKPOINT}"))):
        announce(measured_pace(recipe, model, texts).seconds(recipe, len(texts), len(validation), spec.seeds))
    return fit_to(spec, model, texts, validation, folder, out, resume=resume)


def _check_images(recipe: Recipe, model: FrozenModel, texts: Examples) -> None:
    """Raises `ExplanationError` for a model that the method cannot read, before all images are read."""
    if texts[0].image is not None:
        recipe.module(model)


def fit_to(
    spec: FitSpec,
    model: FrozenModel,
    texts: Examples,
    validation: Examples,
    folder: Path,
    out: Path | None = None,
    *,
    resume: bool,
) -> dict[str, Any]:
    """Fits to `texts`, writes weights and card to `out` or to the store, and returns the card."""
    recipe, before, began = recipe_for(spec), fingerprint(model), time.perf_counter()
    _check_images(recipe, model, texts)
    encoded = encode_for_learning(model, texts), encode_for_learning(model, validation)
    trainings = [
        fit(seeded_recipe, model, *encoded, run, resume=resume)
        for seeded_recipe, run in seeded(recipe, spec.seeds, folder)
    ]
    judge: Select = "difference" if recipe.select == "last" else recipe.select
    training = max(trainings, key=lambda training: gain_of(judge, training.metrics))
    if fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    entries: dict[str, Any] = {
        "recipe": asdict(training.recipe),  # type: ignore[call-overload]
        "texts": {"learned from": len(texts), "watched": len(validation)},
        "validation": training.metrics,
        "warnings": list(training.warnings),
        "steps": {"kept": training.kept_step, "all": training.loop.steps},
        "seconds": {
            "training": round(sum(training.loop.seconds for training in trainings), 1),
            "all": round(time.perf_counter() - began, 1),
        },
    }
    if spec.seeds > 1:
        entries["seeds"] = [
            {"seed": training.recipe.seed, "steps": training.kept_step, "validation": training.metrics}
            for training in trainings
        ]
    return write_weights(spec, model, training.best, out or own_folder(model.name, model.version), entries)


def seeded(recipe: Recipe, seeds: int, folder: Path) -> Iterator[tuple[Recipe, Path]]:
    """The recipe with each seed from its own on, and the folder for log and checkpoint of its training."""
    for seed in range(recipe.seed, recipe.seed + seeds):
        yield replace(recipe, seed=seed), folder / f"seed-{seed}" if seeds > 1 else folder  # type: ignore[type-var]


def write_weights(
    spec: FitSpec, model: FrozenModel, weights: dict[str, Tensor], target: Path, entries: dict[str, Any]
) -> dict[str, Any]:
    """Writes the weights and their card, in which `entries` add or replace, and returns the card."""
    card = {
        "method": spec.method,
        "variant": spec.name,
        "model": {"name": model.name, "version": model.version},
        "recipe": asdict(recipe_for(spec)),  # type: ignore[call-overload]
        "command": spec.command,
        **states_read(recipe_for(spec), model),
        **entries,
    }
    return write_artifact(target / f"{spec.method}-{spec.name}.safetensors", weights, card)


def make_all(spec: FitSpec, model: FrozenModel, out: Path | None) -> list[dict[str, Any]]:
    """Every shipped variant of every method, one after the other; returns their cards."""
    specs = [
        replace(spec, method=method, variant=variant, model=model.name, settings=())
        for method, variants in SHIPPED.items()
        for variant in variants
    ]
    return [make(spec, model, run_folder(spec), out, resume=False) for spec in specs]


def run_folder(spec: FitSpec) -> Path:
    """The default folder for log and checkpoint."""
    return Path("runs") / f"{own_folder(spec.model, '').name}{spec.method}-{spec.name}"
