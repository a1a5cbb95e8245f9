"""Fitted weights of a learned method, from the disk to a module that explains."""

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
    """The recipe of the card and a fresh module."""
    from explainers.learned.recipe import trained_parameters

    hyperparameters = with_hyperparameters(recipe, artifact.method, artifact.card["recipe"])
    module = hyperparameters.module(model)
    return Untrained(hyperparameters, module, trained_parameters(module).keys())
