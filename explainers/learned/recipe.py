"""A learned method is a recipe: a frozen dataclass of hyperparameters, from which weights are fitted.

Each method's file holds one; `fitting_loop.fit` trains what it describes, and `method.LearnedAttribution` explains with
the result. The frozen model never changes, and no label is read.
"""

from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from explainers.learned.batches import Batch
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import Precision

Select = Literal["difference", "comp", "suff", "cons", "last"]


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
        """Of the matrix products in the frozen model's passes in training."""
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
class Memory(Protocol):
    """A module with more state than its trained parameters; a checkpoint keeps it."""

    def kept(self) -> dict[str, Tensor]: ...
    def restore(self, kept: dict[str, Tensor]) -> None: ...


def trained_parameters(module: nn.Module) -> dict[str, Tensor]:
    """The trained parameters by name, detached."""
    return {name: weight.detach() for name, weight in module.named_parameters() if weight.requires_grad}
