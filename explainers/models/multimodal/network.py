"""What all architectures for an image and a text share: an encoder, a fusion, and a head that reads c.

    image, text → encoder (frozen) → features → fusion → c → head → logits

Each architecture is one file beside this one. The hooks of this file exist only inside their `with`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.models.multimodal.preprocessing import Preparation, Size, compared, preparation
from explainers.models.text.bundle import mlp_head


@dataclass(frozen=True)
class MultimodalBatch:
    """B inputs of L text tokens; the model's own patches are in rows and columns."""

    ids: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    attention: Tensor  # (B, L), true where there is a token
    pixels: Tensor  # (B, 3, h, w), prepared
    kept: Tensor | None = None  # (B, rows, columns), false where a patch is dropped


@dataclass(frozen=True)
class JointStates:
    """The states where words and patches attend to each other: T tokens."""

    hidden: tuple[Tensor, ...]  # (B, T, d) each
    attentions: tuple[Tensor, ...]  # (B, heads, T, T) each: row = the token that attends
    words: slice  # positions of the text's tokens
    patches: slice  # positions of the patches, row by row
    reads: int | None = 0  # the token from which the class is read; None: the mean


Block = Literal["words", "patches", "other"]  # of a stream's tokens; "other" is a single one, such as an image token


@dataclass(frozen=True)
class Stream:
    """Layers through which tokens go together, in the order of their blocks; `config` is the library's."""

    layers: Sequence[nn.Module]
    config: Any
    order: tuple[Block, ...]


@dataclass(frozen=True)
class FusionShape:
    """Options of some architectures; stored on the head's card."""

    factors: int = 256  # K, summed in bilinear pooling: CAuSE's number; Yu et al. take 5, which trains much faster
    outputs: int = 512  # O, the width of c after bilinear pooling
    reads: Literal["last", "mean"] = "last"  # which hidden state of a decoder is c


class FusionNetwork(nn.Module, ABC):
    """`base_model` is the library's encoder, `vision` a second one, `head` reads the class from c."""

    drops = False  # whether patches can be dropped; if not, "delete" replaces them by the mean colour
    needs_vision = False  # whether images are read by an encoder of another model
    ends = False  # whether the text needs an end token that its tokenizer does not write
    causal = False  # whether words and patches attend only to what stands before them
    unused: tuple[str, ...] = ()  # parts of the encoder that are not used, so that files may lack them

    def __init__(
        self, base_model: nn.Module, classes: int, shape: FusionShape, vision: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.config: Any = base_model.config
        self.base_model, self.vision, self.shape = base_model, vision, shape
        self.fusion: nn.Module = nn.Identity()
        self.head: nn.Module = mlp_head(self.width(), classes)

    @abstractmethod
    def width(self) -> int:
        """The number of components of c."""

    @property
    def table(self) -> nn.Embedding:
        """The word embeddings."""
        return cast(nn.Embedding, self.base_model.get_input_embeddings())  # type: ignore[operator]

    @staticmethod
    def prepared(processor: Any) -> Preparation:
        """How images are prepared, from the library's image processor."""
        return compared(preparation(processor), processor)

    @abstractmethod
    def grid(self, size: Size) -> Size:
        """Rows and columns of the model's own patches in a prepared image."""

    @abstractmethod
    def features(self, batch: MultimodalBatch) -> Tensor:
        """(B, f): the output of the frozen encoder, below everything that is trained."""

    @abstractmethod
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> AbstractContextManager[None]:
        """During the block word embeddings are multiplied by (B, L), and patch embeddings by (B, rows, columns).

        Before positions are added if the first layer normalises its input, which would undo any factor but 0.
        """

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Where words and patches go through layers: one stream if they attend to each other.

        Raises `ExplanationError` if the states of the layers cannot be read.
        """
        raise ExplanationError("The states of this architecture's layers cannot be read. Choose another method.")

    def joint_states(self, batch: MultimodalBatch) -> JointStates | None:
        """The joint states, or None if words and patches never attend to each other."""
        return None

    def forward(self, batch: MultimodalBatch) -> Tensor:
        """(B, C)."""
        output: Tensor = self.head(self.fusion(self.features(batch)))
        return output


@contextmanager
def multiplied(module: nn.Module, scale: Tensor | None) -> Iterator[None]:
    """During the block the module's output is multiplied: a map (B, d, rows, columns) cell by cell, or the first
    of the tokens (B, N, d) or (B · N, d), as many as `scale` has numbers."""
    if scale is None:
        yield
        return

    def hook(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        factor = scale.to(output)
        if output.ndim == 4:
            return output * factor[:, None]
        factor = factor.flatten(1)
        tokens = output if output.ndim == 3 else output.reshape(len(factor), -1, output.shape[-1])
        whole = functional.pad(factor, (0, tokens.shape[1] - factor.shape[1]), value=1.0)
        return (tokens * whole[:, :, None]).view_as(output)

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def blended(table: nn.Embedding, kept: Tensor | None, mask_token: int) -> Iterator[None]:
    """During the block word embeddings are blended with the mask token's by (B, L): m·e + (1-m)·e_[MASK]."""
    if kept is None:
        yield
        return

    def hook(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        share = kept.to(output.dtype)[:, :, None]
        return share * output + (1 - share) * table.weight[mask_token]

    handle = table.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def recorded(modules: Iterable[nn.Module], output: int | None = None) -> Iterator[list[Tensor]]:
    """The outputs of the modules during the block; number `output` of each if it has several."""
    outputs: list[Tensor] = []
    handles = [
        module.register_forward_hook(lambda _m, _a, value: outputs.append(value if output is None else value[output]))
        for module in modules
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()
