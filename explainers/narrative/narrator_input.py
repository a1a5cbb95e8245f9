"""What a narrator reads of the frozen model: the state c that the head reads and the states of the tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

AT_ONCE = 128
NO_UNIT = -1
Rows = slice | Tensor


@dataclass(frozen=True, eq=False)
class InputTokens:
    """The tokens of B inputs, padded on the right.

    `words` are the units' texts, to which φ may point; "" for patches. `texts` are the numbers of the texts in which
    the units stand: 0 for a premise, 1 for a hypothesis.
    """

    states: Tensor  # (B, L, 2, d): outputs of a middle layer and of the last one
    real: Tensor  # (B, L), true where there is a token
    units: Tensor  # (B, L): number of the unit that the token belongs to, or NO_UNIT
    words: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[int, ...], ...]

    def __getitem__(self, rows: Rows) -> "InputTokens":
        numbers = torch.arange(len(self.real))[rows.cpu() if isinstance(rows, Tensor) else rows].tolist()
        words, texts = (tuple(column[number] for number in numbers) for column in (self.words, self.texts))
        return InputTokens(self.states[rows], self.real[rows], self.units[rows], words, texts)

    @property
    def features(self) -> Tensor:
        """Both states of each token side by side, (B, L, 2·d)."""
        return self.states.flatten(2).float()

    def trimmed(self, row: int) -> "InputTokens":
        """One input without padding, in half precision, to be kept."""
        length = int(self.real[row].sum())
        one = (slice(row, row + 1), slice(length))
        states, real, units = self.states[one].half(), self.real[one].clone(), self.units[one].clone()
        return InputTokens(states, real, units, self.words[row : row + 1], self.texts[row : row + 1])


@dataclass(frozen=True, eq=False)
class NarratorInput:
    """What a narrator reads of B inputs: c, and for a narrator that reads tokens those of which c is the mean."""

    states: Tensor  # (B, d): c
    tokens: InputTokens | None = None

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: Rows) -> "NarratorInput":
        return NarratorInput(self.states[rows], None if self.tokens is None else self.tokens[rows])

    def with_states(self, states: Tensor) -> "NarratorInput":
        """The inputs with c' = `states` (B, d). In the last layer, whose mean is c, each token is shifted by c' - c;
        the middle layer stays as it is."""
        if self.tokens is None:
            return NarratorInput(states)
        shift = torch.stack([torch.zeros_like(states), states - self.states], dim=1)  # (B, 2, d)
        return NarratorInput(states, replace(self.tokens, states=self.tokens.states + shift[:, None]))

    def split(self, size: int = AT_ONCE) -> Iterator["NarratorInput"]:
        for start in range(0, len(self), size):
            yield self[start : start + size]


def joined(states: Tensor, tokens: Sequence[InputTokens | None]) -> NarratorInput:
    """One batch of single inputs: their c (B, d) and their tokens, all or none."""
    rows = [token for token in tokens if token is not None]
    if not rows:
        return NarratorInput(states)
    token_states = pad_sequence([row.states[0] for row in rows], batch_first=True)
    real = pad_sequence([row.real[0] for row in rows], batch_first=True)
    units = pad_sequence([row.units[0] for row in rows], batch_first=True, padding_value=float(NO_UNIT))
    words, texts = tuple(row.words[0] for row in rows), tuple(row.texts[0] for row in rows)
    return NarratorInput(states, InputTokens(token_states, real, units, words, texts))
