"""A learned method is a recipe: a frozen dataclass of hyperparameters, from which weights are fitted.

Each method's file holds one; `fitting_loop.fit` trains what it describes, and `recipes.LearnedAttribution` explains
with the result. The frozen model never changes, and no label is read. Hyperparameters that several methods have are
typed here with their bounds and their meaning.
"""

from functools import partial
from typing import Annotated, Literal, Protocol, runtime_checkable

import torch
from pydantic import Field
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.learned.batches import Batch, StatesRead
from explainers.models.frozen_model import FrozenModel
from explainers.models.precision import Precision
from explainers.training.artifacts import Artifact, Untrained, find_artifact, load_artifact
from explainers.training.spec import recipe_on_card

Select = Literal["difference", "comp", "suff", "cons", "last"]

Weight = Annotated[float, Field(ge=0)]  # of a term of the loss
Width = Annotated[int, Field(ge=1, title="Hidden width", description="Width of the network that is trained.")]
Epochs = Annotated[int, Field(ge=1, description="How often every text is read.")]
Validations = Annotated[
    int, Field(ge=1, description="How often in an epoch the metrics are measured on held-out texts.")
]
PassPrecision = Annotated[
    Precision,
    Field(
        description="Of the model's passes in training. bfloat16 is quicker on processors and GPUs that compute in it."
    ),
]
BatchSize = Annotated[int, Field(ge=1, title="Batch size", description="Texts per step.")]
LearningRate = Annotated[
    float, Field(ge=0, description="Size of the steps. If the loss jumps or is not a number, make it smaller.")
]
WeightDecay = Annotated[float, Field(ge=0, description="How strongly weights are pulled to zero.")]
Seed = Annotated[int, Field(ge=0, description="Of everything random. The same seed gives the same weights.")]
KeptWeights = Annotated[
    Select,
    Field(
        title="Weights that are kept",
        description="The weights that are kept: the best by AOPC-C minus AOPC-S, by one of them or by CONS, or the "
        "last.",
    ),
]
TrainingErasure = Annotated[Literal["zero", "mask"], Field(description="What replaces an erased word in training.")]


class Recipe(Protocol):
    """`method` is the id in the registry; with `distribution`, the scores of a text sum to 1, else they are a mask."""

    @property
    def method(self) -> str: ...
    @property
    def distribution(self) -> bool: ...
    @property
    def epochs(self) -> int: ...
    @property
    def validations(self) -> int:
        """Validations per epoch, evenly spread over its steps."""
        ...

    @property
    def precision(self) -> Precision:
        """The precision of the matrix products in the frozen model's passes in training."""
        ...

    @property
    def batch(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def select(self) -> Select:
        """The criterion on validation texts by which the best epoch is kept."""
        ...

    def rate(self, done: float) -> float:
        """The factor on the learning rate after this share of the steps, 0…1."""
        ...

    def reads(self, model: FrozenModel) -> StatesRead:
        """What `terms` reads of `batch.internals_of`."""
        ...

    def module(self, model: FrozenModel) -> nn.Module:
        """A new module, initialised by torch's generator; only the parameters that are trained require a gradient."""
        ...

    def terms(
        self, module: nn.Module, model: FrozenModel, batch: Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """The terms of the loss, as in the paper; `total` is minimised."""
        ...

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        """One score per unit, (B, U)."""
        ...


@runtime_checkable
class Priced(Protocol):
    """A recipe with a price for the mean of the mask."""

    def without_price(self) -> Recipe | None:
        """The same recipe without the price; None where it has none."""


@runtime_checkable
class Memory(Protocol):
    """A module with more state than its trained parameters; a checkpoint keeps it."""

    def kept(self) -> dict[str, Tensor]: ...
    def restore(self, kept: dict[str, Tensor]) -> None: ...


def trained_parameters(module: nn.Module) -> dict[str, Tensor]:
    """The trained parameters by name, detached."""
    return {name: weight.detach() for name, weight in module.named_parameters() if weight.requires_grad}


def states_read(recipe: Recipe, model: FrozenModel) -> dict[str, str]:
    """What a card says of the states that the recipe's network reads; nothing where the model leaves them so."""
    return {"states": "standardised"} if recipe.reads(model).standardised else {}


def load_learned(model: FrozenModel, recipe: type[Recipe], method: str, variant: str) -> tuple[Recipe, nn.Module]:
    """Recipe and trained module of one variant, by default the method's own; read once per model and file."""
    artifact = find_artifact(model.name, model.version, method, variant)
    made, module = load_artifact(artifact, model, partial(untrained, recipe))
    if not states_read(made, model).items() <= artifact.card.items():
        raise ExplanationError(
            f"These weights of {method} were fitted to states of {model.name} that were not standardised. Fit them "
            f"again: `{artifact.card.get('command', f'python -m explainers fit {method}')}`."
        )
    return made, module


def untrained(recipe: type[Recipe], artifact: Artifact, model: FrozenModel) -> Untrained[Recipe, nn.Module]:
    """The recipe of the card and a fresh module."""
    hyperparameters = recipe_on_card(recipe, artifact.method, artifact.card["recipe"])
    module = hyperparameters.module(model)
    return Untrained(hyperparameters, module, trained_parameters(module).keys())
