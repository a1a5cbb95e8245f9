"""`python -m explainers fit cause`: from a model and pairs with human explanations to a narrator with a card."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from explainers.methods.narrator_specs import narrator_spec
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative.cause import Narrator, NarratorRecipe
from explainers.narrative.language import (
    LANGUAGE_MODELS,
    SMALL,
    Language,
    language_of,
    new_language_model,
    pretrained_language_model,
    vocabulary,
)
from explainers.narrative.reason_sources import ReasonSource, reason_source
from explainers.narrative.sentences import NarratorItem, class_means, narrator_items, sentence
from explainers.narrative.training import NarratorTraining, train, warm_up
from explainers.training.artifacts import own_folder, write_artifact
from explainers.training.fit_spec import FitSpec
from explainers.training.hyperparameters import with_hyperparameters
from explainers.training.model_cache import ModelCache

WARM_UP_EPOCHS = 2
RUNS = Path("runs/narrative")

Items = Sequence[NarratorItem]

_items = ModelCache(4)


def recipe_for(spec: FitSpec) -> NarratorRecipe:
    """Raises `ExplanationError` for an unknown narrator or setting."""
    losses = narrator_spec(spec.check().method).losses
    return with_hyperparameters(
        NarratorRecipe, spec.method, {**dict(spec.settings), "losses": losses, "seed": spec.seed}
    )


def run_folder(spec: FitSpec) -> Path:
    """The default folder for log and checkpoint."""
    suffix = "".join(f"-{name}-{value}" for name, value in spec.settings)
    suffix += f"-{spec.format}" if spec.format else ""
    return RUNS / f"{own_folder(spec.model, '').name}{spec.method}{suffix}-{spec.seed}".replace("/", "_")


def read_items(spec: FitSpec, model: FrozenModel) -> tuple[Items, Items]:
    """Examples with reasons for training and for validation, never of the test split."""

    def read() -> tuple[Items, Items]:
        source = reason_source(model, spec.data_path, spec.image_files)
        return narrator_items(model, source.training), narrator_items(model, source.validation)

    return _items.get(model, (spec.data, spec.format, spec.images), read)  # a fifth of a short training's time


def warmed_up_language_model(spec: FitSpec, model: FrozenModel) -> tuple[PreTrainedModel, Language, Path | None]:
    """The language model to start from, its language and the file of its vocabulary.

    A small one is warmed up once for all narrators; a pretrained one has no file here.
    """
    name = recipe_for(spec).language
    if name not in LANGUAGE_MODELS:
        return *pretrained_language_model(name), None
    source = reason_source(model, spec.data_path, spec.image_files)
    base = f"language-{source.name}{'' if name == SMALL else f'-{name}'}"
    weights, words = RUNS / f"{base}.safetensors", RUNS / f"{base}.words.json"
    if not weights.is_file():
        _warm_up(source, model.labels, name, weights, words)
    language = language_of(Tokenizer.from_file(str(words)))
    phi = new_language_model(language.size, name)
    phi.load_state_dict(load_file(weights), strict=False)
    return phi, language, words


def _warm_up(source: ReasonSource, labels: Sequence[str], name: str, weights: Path, words: Path) -> None:
    """On all texts and reasons of the source; for e-SNLI also on those of e-SNLI-VE; never of the test split."""
    texts = source.sentences()
    weights.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = vocabulary([sentence(labels[len(labels) // 2], text) for text in texts], labels)
    tokenizer.save(str(words))
    language = language_of(tokenizer)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        phi = new_language_model(language.size, name)
    with (weights.parent / "language.jsonl").open("w", encoding="utf-8") as log:
        warm_up(phi, language, texts, epochs=WARM_UP_EPOCHS, seed=0, log=log)
    fresh = weights.with_suffix(".new")
    save_file(
        {name: tensor.contiguous() for name, tensor in phi.state_dict().items() if name != "lm_head.weight"}, fresh
    )
    fresh.replace(weights)


def make(spec: FitSpec, model: FrozenModel, folder: Path, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Fits, writes weights, vocabulary and card to `out` or to the store, and returns the card."""
    before, began, recipe = fingerprint(model), time.perf_counter(), recipe_for(spec)
    items, validation = read_items(spec, model)  # errors of model or data come before the long warm-up
    phi, language, words = warmed_up_language_model(spec, model)
    head = classifier_head(model)
    with model.lock, torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        narrator = Narrator(head, phi, language, recipe.losses, recipe.leak).to(model.device)
    if recipe.leak == "closed":
        narrator.initialise_aggregator(
            [language.pieces_within(label) for label in model.labels], class_means(items, len(model.labels))
        )
    training = train(recipe, narrator, head, model.labels, (items, validation), folder, resume=resume)
    if fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    seconds = {"training": round(training.loop.seconds, 1), "all": round(time.perf_counter() - began, 1)}
    card = _card(spec, model, training, seconds)
    path = (out or own_folder(model.name, model.version, "narrative")) / f"{spec.method}.safetensors"
    if words is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".words.json").write_bytes(words.read_bytes())
    kept = {name: tensor.half() for name, tensor in narrator.state_dict().items() if name not in narrator.tied_names}
    return write_artifact(path, kept, card)


def _card(spec: FitSpec, model: FrozenModel, training: NarratorTraining, seconds: dict[str, float]) -> dict[str, Any]:
    items = training.items
    return {
        "method": spec.method,
        "model": {"name": model.name, "version": model.version},
        "recipe": asdict(training.recipe),
        "command": spec.command,
        "items": {"learned from": len(items), "with a reason": sum(each.right for each in items)},
        "language": {"warm-up epochs": WARM_UP_EPOCHS, "pieces": training.narrator.language.size},
        "validation": training.metrics,
        "seconds": seconds,
    }
