"""Several inputs side by side, for what is trained: (B, L) ids padded on the right, and which unit owns which token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.encoding import FIXED, Encoding

Pooling = Literal["max", "sum"]


@dataclass(frozen=True)
class Padded:
    """B inputs of at most L tokens and U units; special tokens and padding are owned by number U, which is no unit."""

    ids: Tensor  # (B, L)
    attention: Tensor  # (B, L), true where there is a token
    segments: Tensor  # (B, L)
    owners: Tensor  # (B, L), 0…U
    units: Tensor  # (B, U), true where there is a unit
    present: Tensor  # (B, L), false where a person has zeroed a token for good
    at: Tensor  # (B, L), true where a patch of a picture stands
    own: Tensor  # (B, L, d): what the model sees of each patch, before position; d is 0 where there is no picture
    filler: Tensor  # (B, L, d): what it sees of an erased one

    @property
    def rows(self) -> int:
        return len(self.ids)

    @property
    def owned(self) -> Tensor:
        """(B, L): true where the token belongs to a unit."""
        return self.owners < self.units.shape[1]

    @property
    def lengths(self) -> Tensor:
        """(B,): tokens."""
        return self.attention.sum(1)

    def spread(self, units: Tensor, fixed: float = 1.0) -> Tensor:
        """From one value per unit (B, U) to one per token (B, L); tokens of no unit get `fixed`."""
        wide = torch.cat([units, units.new_full((len(units), 1), fixed)], dim=1)
        return wide.gather(1, self.owners)

    def pooled(self, tokens: Tensor, how: Pooling) -> Tensor:
        """From one value per token (B, L) to one per unit (B, U): the maximum or the sum; 0 where there is no unit."""
        empty = tokens.new_zeros(self.rows, self.units.shape[1] + 1)
        reduce = "amax" if how == "max" else "sum"
        found = empty.scatter_reduce(1, self.owners, tokens, reduce, include_self=how == "sum")
        return found[:, :-1] * self.units

    def mean(self, units: Tensor) -> Tensor:
        """The mean over each row's units, (B, U) → (B,)."""
        return (units * self.units).sum(1) / self.units.sum(1).clamp(min=1)

    def twice(self) -> "Padded":
        """Every row again below, to ask two questions in one pass."""
        return Padded(*(torch.cat([part, part]) for part in vars(self).values()))

    def looking(self, words: Tensor, filler: Tensor) -> tuple[Tensor, Tensor]:
        """Of embeddings of words (B, L, d) and of what takes an erased one's place (d,) or (B, L, d): those of the
        patches instead, where patches stand."""
        if not self.own.shape[-1]:
            return words, filler
        at = self.at[:, :, None]
        return torch.where(at, self.own, words), torch.where(at, self.filler, filler)


def padded(encodings: Sequence[Encoding], padding: int, device: torch.device) -> Padded:
    """Encodings as one batch; `padding` is the id that fills the rows up.

    Raises `ExplanationError` for pictures whose patches are no tokens.
    """
    if any(each.canvas is not None for each in encodings):
        raise ExplanationError(
            "Methods that learn need a model that reads patches and words as tokens of one sequence, such as scenes. "
            "Choose another method for this model."
        )

    def side_by_side(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
        ready = [torch.tensor(row, dtype=torch.long) for row in rows]
        return nn.utils.rnn.pad_sequence(ready, batch_first=True, padding_value=float(filler)).to(device)

    most = max((len(each.units) for each in encodings), default=0)
    ids = side_by_side([each.ids for each in encodings], padding)
    lengths = torch.tensor([len(each.ids) for each in encodings], device=device)
    counts = torch.tensor([len(each.units) for each in encodings], device=device)
    places = torch.arange(ids.shape[1], device=device)
    owners = [[most if owner == FIXED else owner for owner in each.owners] for each in encodings]
    gone = side_by_side([[place in each.zeroed for place in range(len(each.ids))] for each in encodings], 0)
    return Padded(
        ids,
        places < lengths[:, None],
        side_by_side([each.segments for each in encodings], 0),
        side_by_side(owners, most),
        torch.arange(most, device=device) < counts[:, None],
        gone == 0,
        *_looks(encodings, ids),
    )


def _looks(encodings: Sequence[Encoding], ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where patches stand (B, L), what is seen of them and of erased ones (B, L, d)."""
    found = [each.seen for each in encodings]
    d = max((each.own.shape[1] for each in found if each), default=0)
    at = torch.zeros_like(ids, dtype=torch.bool)
    own, filler = (torch.zeros(*ids.shape, d, device=ids.device) for _ in range(2))
    for row, each in enumerate(found):
        if each is not None:
            length = len(each.at)
            at[row, :length] = torch.from_numpy(each.at)
            own[row, :length] = torch.from_numpy(each.own)
            filler[row, :length] = torch.from_numpy(each.filler("mask"))
    return at, own, filler
