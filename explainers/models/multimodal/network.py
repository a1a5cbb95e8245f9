"""What every architecture for a picture and a text has in common: an encoder, a fusion, and a head that reads c.

    picture, text → encoder (frozen) → features → fusion → c → head → logits

Each architecture is one file beside this one. The hooks of this file hang only inside their `with`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch import Tensor, nn
from torch.nn import functional

from explainers.models.multimodal.preparing import Preparation, Size, compared, preparation
from explainers.models.network import head


@dataclass(frozen=True)
class Given:
    """B inputs of L tokens of text; the model's own patches stand in rows and columns."""

    ids: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    attention: Tensor  # (B, L), true where there is a token
    pixels: Tensor  # (B, 3, h, w), prepared
    kept: Tensor | None = None  # (B, rows, columns), false where a patch is dropped


@dataclass(frozen=True)
class Joint:
    """Where words and patches attend to each other: T tokens."""

    hidden: tuple[Tensor, ...]  # (B, T, d) each
    attentions: tuple[Tensor, ...]  # (B, heads, T, T) each: row = the token that attends
    words: slice  # where the text's tokens stand
    patches: slice  # where the patches stand, row by row
    reads: int | None = 0  # from which token the class is read; None: from the mean


@dataclass(frozen=True)
class Shape:
    """What is open in some architectures; a head's card keeps it."""

    factors: int = 256  # K, summed in bilinear pooling: CAuSE's number; Yu et al. take 5, which trains much faster
    outputs: int = 512  # O, the width of c after bilinear pooling
    reads: Literal["last", "mean"] = "last"  # which hidden state of a decoder is c


class Network(nn.Module, ABC):
    """`base_model` is the library's encoder, `vision` a second one, `head` reads the class from c."""

    drops = False  # whether patches can be dropped; where not, "delete" shows the mean colour in their place
    ends = False  # whether the text needs an end token that its tokenizer does not write
    unread: tuple[str, ...] = ()  # parts of the encoder that are not used, so that files may lack them

    def __init__(self, base_model: nn.Module, classes: int, shape: Shape, vision: nn.Module | None = None) -> None:
        super().__init__()
        self.config: Any = base_model.config
        self.base_model, self.vision, self.shape = base_model, vision, shape
        self.fusion: nn.Module = nn.Identity()
        self.head: nn.Module = head(self.width(), classes)

    @abstractmethod
    def width(self) -> int:
        """Of c."""

    @property
    def table(self) -> nn.Embedding:
        """The word embeddings."""
        return cast(nn.Embedding, self.base_model.get_input_embeddings())  # type: ignore[operator]

    @staticmethod
    def prepared(processor: Any) -> Preparation:
        """How pictures are prepared, by the library's image processor."""
        return compared(preparation(processor), processor)

    @abstractmethod
    def grid(self, size: Size) -> Size:
        """Rows and columns of the model's own patches in a prepared picture."""

    @abstractmethod
    def features(self, given: Given) -> Tensor:
        """(B, f): all that the frozen encoder says, without what is trained on top of it."""

    @abstractmethod
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> AbstractContextManager[None]:
        """During the block embeddings are multiplied: of words by (B, L), of patches by (B, rows, columns).

        Before their positions are added, where the first layer normalises its input: that would undo any factor but 0.
        """

    def joint(self, given: Given) -> Joint | None:
        """What is inside, or None where words and patches never attend to each other."""
        return None

    def forward(self, given: Given) -> Tensor:
        """(B, C)."""
        found: Tensor = self.head(self.fusion(self.features(given)))
        return found


@contextmanager
def multiplied(module: nn.Module, scale: Tensor | None) -> Iterator[None]:
    """During the block the module's output is multiplied: a map (B, d, rows, columns) in its places, or tokens, as
    (B, N, d) or (B · N, d), the first of them by as many numbers as there are."""
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
def blended(table: nn.Embedding, kept: Tensor | None, filler: int) -> Iterator[None]:
    """During the block words are kept by their share (B, L): m·e + (1-m)·e_filler."""
    if kept is None:
        yield
        return

    def hook(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        share = kept.to(output.dtype)[:, :, None]
        return share * output + (1 - share) * table.weight[filler]

    handle = table.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def recorded(modules: Iterable[nn.Module], output: int | None = None) -> Iterator[list[Tensor]]:
    """What each of the modules gives during the block; number `output` of it where it gives several."""
    found: list[Tensor] = []
    handles = [
        module.register_forward_hook(lambda _m, _a, given: found.append(given if output is None else given[output]))
        for module in modules
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
