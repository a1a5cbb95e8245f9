"""What φ attends to besides ψ(c): the tokens of the input, as states of the frozen model or as words."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from explainers.narrative.language import Language
from explainers.narrative.narrator_input import InputTokens
from explainers.narrative.pointer import InputPieces, Pointer, input_pieces

PLACES = 160  # numbers of tokens that are told apart


@dataclass(frozen=True, eq=False)
class TokenMemory:
    """What φ attends to of B inputs, and the pieces that it may point to."""

    states: Tensor  # (B, L, e)
    real: Tensor  # (B, L)
    keys: Tensor  # (B, P, e)
    pieces: InputPieces


class WordReader(nn.Module):
    """The pieces of the input's words as φ's memory, (B, P, e): nothing of the frozen model.

    `size` is the root mean square of a number of the memory."""

    def __init__(self, embedding: int, size: float = 1.0) -> None:
        super().__init__()
        self.add_places(embedding, size)

    def add_places(self, embedding: int, size: float) -> None:
        self.place = nn.Embedding(PLACES, embedding)
        self.pointer = Pointer(embedding)
        with torch.no_grad():
            self.place.weight.mul_(size)

    def places(self, real: Tensor) -> Tensor:
        return cast(Tensor, self.place(torch.arange(real.shape[1], device=real.device).clamp(max=PLACES - 1)))

    def forward(self, tokens: InputTokens, language: Language, embedding: nn.Module) -> TokenMemory:
        pieces = input_pieces(tokens, language)
        real = pieces.units >= 0
        real[:, 0] = True  # an input without words has one empty piece
        memory = embedding(pieces.ids) + self.places(real)
        return TokenMemory(memory, real, self.pointer.keys(pieces, pieces.units, memory, embedding), pieces)


class TokenReader(WordReader):
    """Two states of every token, (B, L, 2·d), to φ's memory (B, L, e). The token's number is added, because the states
    of a patch hardly tell where it is."""

    def __init__(self, width: int, embedding: int, size: float = 1.0) -> None:
        nn.Module.__init__(self)
        sized = nn.LayerNorm(embedding)
        nn.init.constant_(sized.weight, size)
        self.entry = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, embedding), sized)
        self.add_places(embedding, size)

    def forward(self, tokens: InputTokens, language: Language, embedding: nn.Module) -> TokenMemory:
        memory = self.entry(tokens.features) + self.places(tokens.real)
        pieces = input_pieces(tokens, language)
        return TokenMemory(memory, tokens.real, self.pointer.keys(pieces, tokens.units, memory, embedding), pieces)


def with_prefix(embeds: Tensor, memory: TokenMemory, past: Any) -> dict[str, Tensor]:
    """φ's input where the memory (B, L, e) stands before the first position: embeddings, mask and numbers of the
    positions, of which padding has none."""
    before = past.get_seq_length() if past is not None else 0
    joined = embeds if before else torch.cat([memory.states, embeds], dim=1)
    words = memory.real.new_ones(len(embeds), before + joined.shape[1] - memory.real.shape[1])
    real = torch.cat([memory.real, words], dim=1).long()
    numbers = (real.cumsum(1) - 1).clamp(min=0)[:, -joined.shape[1] :]
    return {"inputs_embeds": joined, "attention_mask": real, "position_ids": numbers}
