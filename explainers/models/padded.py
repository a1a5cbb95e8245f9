"""Several inputs side by side, for what is trained: (B, L) ids padded on the right, and which unit owns which token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

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
        parts = (self.ids, self.attention, self.segments, self.owners, self.units, self.present)
        return Padded(*(torch.cat([part, part]) for part in parts))


def padded(encodings: Sequence[Encoding], padding: int, device: torch.device) -> Padded:
    """Encodings as one batch; `padding` is the id that fills the rows up."""

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
    )
