"""Fitted narrators, from the disk to a module that generates. Importing this module does not import torch.

Beside the weights of a narrator with a small language model lies its vocabulary, <method>.words.json.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from explainers.errors import ModelUnavailable
from explainers.methods.narrator_specs import narrator_spec
from explainers.training.artifacts import Artifact, Untrained, find_artifact, load_artifact, read_artifact

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from explainers.models.frozen_model import FrozenModel
    from explainers.narrative.language import Language
    from explainers.narrative.narrator import Narrator
    from explainers.narrative.recipe import NarratorRecipe


def load_narrator(model: "FrozenModel", method: str) -> "tuple[NarratorRecipe, Narrator]":
    """Recipe and trained module, read once per model and file. Raises `ExplanationError` for an unknown narrator."""
    artifact = find_artifact(model.name, model.version, narrator_spec(method).id)
    return load_artifact(artifact, model, untrained)


def read_narrator(artifact: Artifact, model: "FrozenModel") -> "tuple[NarratorRecipe, Narrator]":
    """As `load_narrator`, from any folder and without keeping it."""
    return read_artifact(artifact, model, untrained)


def untrained(artifact: Artifact, model: "FrozenModel") -> "Untrained[NarratorRecipe, Narrator]":
    """The recipe of the card and a fresh module."""
    from explainers.models.internals import classifier_head
    from explainers.narrative.narrator import Narrator
    from explainers.narrative.recipe import NarratorRecipe

    values: dict[str, Any] = artifact.card["recipe"]
    recipe = NarratorRecipe(**values)
    phi, language = language_model(recipe, artifact.path)
    module = Narrator(classifier_head(model), phi, language, recipe.losses, recipe.leak, recipe.layer, recipe.reads)
    module.points_once = recipe.point_once
    return Untrained(recipe, module, module.kept_names)


def language_model(recipe: "NarratorRecipe", path: Path) -> "tuple[PreTrainedModel, Language]":
    """An untrained small language model with the vocabulary beside `path`, or a pretrained one by name."""
    from tokenizers import Tokenizer

    from explainers.narrative.language import (
        LANGUAGE_MODELS,
        language_of,
        new_language_model,
    )
    from explainers.narrative.pretrained import pretrained_language_model

    name, reads_tokens = recipe.language, recipe.layer > 0
    if name not in LANGUAGE_MODELS:
        return pretrained_language_model(name, reads_tokens=reads_tokens, rank=recipe.adapter_rank)
    vocabulary = path.with_suffix(".words.json")
    try:
        language = language_of(Tokenizer.from_file(str(vocabulary)))
    except Exception as error:  # tokenizers raises nothing more precise
        raise ModelUnavailable(f"{vocabulary.name}, its vocabulary, is missing or damaged. Fit it again.") from error
    return new_language_model(language.size, name, reads_tokens=reads_tokens), language
