"""Fitted weights of a learned method, from the disk to a module that explains."""

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING

from explainers.training.artifacts import Artifact, Untrained, find_artifact, load_artifact
from explainers.training.hyperparameters import with_hyperparameters

if TYPE_CHECKING:
    from torch import nn

    from explainers.learned.recipe import Recipe
    from explainers.models.frozen_model import FrozenModel


def load_learned(model: "FrozenModel", recipe: "type[Recipe]", method: str, variant: str) -> "tuple[Recipe, nn.Module]":
    """Recipe and trained module of one variant, by default the method's own; read once per model and file."""
    artifact = find_artifact(model.name, model.version, method, variant)
    return load_artifact(artifact, model, partial(untrained, recipe))


def untrained(recipe: "type[Recipe]", artifact: Artifact, model: "FrozenModel") -> "Untrained[Recipe, nn.Module]":
    """The recipe of the card and a fresh module. Settings that there are no more were about the training only."""
    from explainers.learned.recipe import trained_parameters

    known = {each.name for each in fields(recipe)}  # type: ignore[arg-type]
    settings = {name: value for name, value in artifact.card["recipe"].items() if name in known}
    hyperparameters = with_hyperparameters(recipe, artifact.method, settings)
    module = hyperparameters.module(model)
    return Untrained(hyperparameters, module, trained_parameters(module).keys())
