"""What a learned method is: a recipe whose fields are its hyperparameters, from which weights are fitted.

Each method's file gives one frozen dataclass that answers to this protocol; `fitting.fit` trains what it describes and
`method.Learned` explains with the result. The frozen model never changes, and no label is ever read.
"""

from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from explainers.learned.batches import Batch
from explainers.models.classifier import FrozenModel

Select = Literal["difference", "comp", "suff", "last"]


class Recipe(Protocol):
    """`method` is the id in the registry, `distribution` says that a text's scores sum to 1 instead of being a mask."""

    @property
    def method(self) -> str: ...
    @property
    def distribution(self) -> bool: ...
    @property
    def epochs(self) -> int: ...
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
        """The figure on validation texts by which the best epoch is kept."""
        ...

    def rate(self, done: float) -> float:
        """The factor on the learning rate when this share of the steps is done."""
        ...

    def module(self, model: FrozenModel) -> nn.Module:
        """What is trained, freshly drawn from torch's generator; only parameters that learn require a gradient."""
        ...

    def terms(self, module: nn.Module, model: FrozenModel, batch: Batch, chance: torch.Generator) -> dict[str, Tensor]:
        """The loss by the paper's terms; `total` is what is minimised."""
        ...

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        """One score per unit, (B, U)."""
        ...


@runtime_checkable
class Memory(Protocol):
    """A module that carries more from step to step than what it learns; a checkpoint keeps it."""

    def kept(self) -> dict[str, Tensor]: ...
    def restore(self, kept: dict[str, Tensor]) -> None: ...


def learned(module: nn.Module) -> dict[str, Tensor]:
    """What learns, and is kept."""
    return {name: weight.detach() for name, weight in module.named_parameters() if weight.requires_grad}
