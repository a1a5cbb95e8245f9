"""φ's pointer: it may take its next token from a word of the input (See et al., 2017).

The states choose the word; its spelling comes from the input: a word's later pieces are found by the piece before.

    p(token) = (1 - g) p_φ(token) + g Σ over the pieces of the input that are this token of softmax(q·k)
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from explainers.narrative.language import Language
from explainers.narrative.narrator_input import InputTokens

LONGEST_WORD = 8  # pieces
RARELY = -2.0  # the gate's logit before training
NO_PIECE = -2  # in place of the number of a word


@dataclass(frozen=True, eq=False)
class InputPieces:
    """The words of B inputs in φ's vocabulary: P pieces with the tokens of the model that they come from."""

    ids: Tensor  # (B, P)
    previous: Tensor  # (B, P): the piece before in the same word; the piece itself at a word's beginning
    places: Tensor  # (B, P): number within the word
    units: Tensor  # (B, P): number of the word; below 0 where there is no piece


def input_pieces(tokens: InputTokens, language: Language) -> InputPieces:
    """Every word as it stands inside a sentence."""
    rows = []
    for words in tokens.words:
        row = [
            (language.end_id, language.end_id, 0, NO_PIECE)
        ]  # a row without words, such as of patches, has one empty piece
        for unit, word in enumerate(words):
            ids = language.pieces_within(word)[:LONGEST_WORD] if word else []
            row += [(piece, ids[max(at - 1, 0)], at, unit) for at, piece in enumerate(ids)]
        rows.append(torch.tensor(row))
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=float(NO_PIECE)).to(tokens.real.device)
    numbers, previous, places, units = padded.unbind(-1)
    return InputPieces(numbers.clamp(min=0), previous.clamp(min=0), places.clamp(min=0), units)


class Pointer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.spelling = (nn.Linear(width, width) for _ in range(3))
        self.place = nn.Embedding(LONGEST_WORD, width)
        self.gate = nn.Linear(width, 1)
        nn.init.constant_(self.gate.bias, RARELY)

    def keys(self, pieces: InputPieces, units: Tensor, memory: Tensor, embedding: nn.Module) -> Tensor:
        """(B, P, e), from the mean over each word's tokens, memory (B, L, e) of units (B, L)."""
        of_word = (pieces.units[:, :, None] == units[:, None]).to(memory.dtype)  # (B, P, L)
        states = of_word @ memory / of_word.sum(-1, keepdim=True).clamp(min=1)
        later = (pieces.places > 0)[:, :, None]
        return cast(
            Tensor, self.key(states) + self.place(pieces.places) + later * self.spelling(embedding(pieces.previous))
        )

    def forward(self, hidden: Tensor, logits: Tensor, keys: Tensor, pieces: InputPieces) -> Tensor:
        """Log-probabilities (B, T, V), from φ's last hidden states (B, T, e) and logits (B, T, V)."""
        scores = self.query(hidden) @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5  # (B, T, P)
        there = (pieces.units >= 0)[:, None]
        pointed = scores.masked_fill(~there, -1e4).softmax(-1) * there
        gate = self.gate(hidden).sigmoid() * there.any(-1, keepdim=True)  # (B, T, 1)
        numbers = pieces.ids[:, None].expand(-1, hidden.shape[1], -1)
        mixed: Tensor = ((1 - gate) * logits.softmax(-1)).scatter_add(2, numbers, gate * pointed)
        return mixed.clamp(min=1e-30).log()
