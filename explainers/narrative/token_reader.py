"""What φ attends to besides ψ(c): the tokens of the input, as states of the frozen model or as words."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from explainers.narrative.language import Language
from explainers.narrative.narrator_input import InputTokens
from explainers.narrative.pointer import NO_PIECE, InputPieces, Pointer, input_pieces

PLACES = 160  # numbers of tokens that are told apart
TEXTS = 2


@dataclass(frozen=True, eq=False)
class TokenMemory:
    """What φ attends to of B inputs, and the pieces that it may point to."""

    states: Tensor  # (B, L, e)
    real: Tensor  # (B, L)
    keys: Tensor  # (B, P, e)
    pieces: InputPieces

    def without(self, chosen: Tensor) -> "TokenMemory":
        """The memory after the tokens `chosen` (B,): the first piece of the input that is one cannot be pointed to
        again."""
        equal = (self.pieces.ids == chosen[:, None]) & (self.pieces.units >= 0)
        first = equal & (equal.cumsum(1) == 1)
        return replace(self, pieces=replace(self.pieces, units=self.pieces.units.masked_fill(first, NO_PIECE)))


class TokenReader(nn.Module):
    """Two states of every token, (B, L, 2·d), to φ's memory (B, L, e). The token's number is added, because the states
    of a patch hardly tell where it is. `size` is the root mean square of a number of the memory."""

    def __init__(self, width: int, embedding: int, size: float = 1.0) -> None:
        super().__init__()
        sized = nn.LayerNorm(embedding)
        nn.init.constant_(sized.weight, size)
        self.entry = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, embedding), sized)
        self.place = _embedding(PLACES, embedding, size)
        self.pointer = Pointer(embedding)

    def forward(self, tokens: InputTokens, language: Language, embedding: nn.Module) -> TokenMemory:
        memory = self.entry(tokens.features) + self.place(_numbers(tokens.real))
        pieces = input_pieces(tokens, language)
        return TokenMemory(memory, tokens.real, self.pointer.keys(pieces, tokens.units, memory, embedding), pieces)


class WordReader(nn.Module):
    """The pieces of the input's words, with their numbers and the text in which they stand, as φ's memory (B, P, e):
    nothing of the frozen model."""

    def __init__(self, embedding: int, size: float = 1.0) -> None:
        super().__init__()
        self.place, self.text = _embedding(PLACES, embedding, size), _embedding(TEXTS, embedding, size)
        self.pointer = Pointer(embedding)

    def forward(self, tokens: InputTokens, language: Language, embedding: nn.Module) -> TokenMemory:
        pieces = input_pieces(tokens, language)
        real = pieces.units >= 0
        real[:, 0] = True  # an input without words has one empty piece, since attention to nothing has no mean
        rows = [torch.tensor(row or (0,), device=real.device).clamp(max=TEXTS - 1) for row in tokens.texts]
        texts = pad_sequence(rows, batch_first=True).gather(1, pieces.units.clamp(min=0))  # (B, P)
        memory = embedding(pieces.ids) + self.place(_numbers(real)) + self.text(texts)
        return TokenMemory(memory, real, self.pointer.keys(pieces, pieces.units, memory, embedding), pieces)


def _embedding(count: int, width: int, size: float) -> nn.Embedding:
    result = nn.Embedding(count, width)
    with torch.no_grad():
        result.weight.mul_(size)
    return result


def _numbers(real: Tensor) -> Tensor:
    """(L,) of a mask (B, L)."""
    return torch.arange(real.shape[1], device=real.device).clamp(max=PLACES - 1)


def with_prefix(embeds: Tensor, memory: TokenMemory, past: Any) -> dict[str, Tensor]:
    """φ's input where the memory (B, L, e) stands before the first position: embeddings, mask and numbers of the
    positions, of which padding has none."""
    before = past.get_seq_length() if past is not None else 0
    joined = embeds if before else torch.cat([memory.states, embeds], dim=1)
    words = memory.real.new_ones(len(embeds), before + joined.shape[1] - memory.real.shape[1])
    real = torch.cat([memory.real, words], dim=1).long()
    numbers = (real.cumsum(1) - 1).clamp(min=0)[:, -joined.shape[1] :]
    return {"inputs_embeds": joined, "attention_mask": real, "position_ids": numbers}
