"""Several inputs as one batch, for training: (B, L) ids padded on the right, and the unit that owns each token."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from explainers.models.inputs.encoding import NO_UNIT, Encoding, check_windows

Pooling = Literal["max", "sum"]


@dataclass(frozen=True)
class PaddedBatch:
    """B inputs of at most L tokens and U units; special tokens and padding are owned by number U, which is no unit."""

    ids: Tensor  # (B, L)
    attention: Tensor  # (B, L), true where there is a token
    segments: Tensor  # (B, L)
    owners: Tensor  # (B, L), 0…U
    units: Tensor  # (B, U), true where there is a unit
    nonzero: Tensor  # (B, L), false where a token was zeroed for good
    is_patch: Tensor  # (B, L), true where the token is a patch of an image
    patch_embeddings: Tensor  # (B, L, d), before position; d is 0 where there is no image
    patch_replacements: Tensor  # (B, L, d), the embeddings of erased patches

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

    def reduce_to_units(self, tokens: Tensor, how: Pooling) -> Tensor:
        """From one value per token (B, L) to one per unit (B, U): the maximum or the sum; 0 where there is no unit."""
        empty = tokens.new_zeros(self.rows, self.units.shape[1] + 1)
        reduce = "amax" if how == "max" else "sum"
        values = empty.scatter_reduce(1, self.owners, tokens, reduce, include_self=how == "sum")
        return values[:, :-1] * self.units

    def mean(self, units: Tensor) -> Tensor:
        """The mean over each row's units, (B, U) → (B,)."""
        return (units * self.units).sum(1) / self.units.sum(1).clamp(min=1)

    def doubled(self) -> "PaddedBatch":
        """2B rows: every row again below, so that one pass covers two masks."""
        twice = {
            name: torch.cat([part, part]) if isinstance(part, Tensor) else part + part
            for name, part in vars(self).items()
        }
        return replace(self, **twice)

    def with_patches(self, words: Tensor, replacement: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings (B, L, d) and replacements of erased tokens (d,) or (B, L, d), with the patches' where patches
        stand."""
        if not self.patch_embeddings.shape[-1]:
            return words, replacement
        is_patch = self.is_patch[:, :, None]
        embeddings = torch.where(is_patch, self.patch_embeddings, words)
        return embeddings, torch.where(is_patch, self.patch_replacements, replacement)


def pad_batch(encodings: Sequence[Encoding], pad_token: int, device: torch.device) -> PaddedBatch:
    """Encodings as one batch; `pad_token` is the id that fills the rows up.

    Raises `ExplanationError` for texts in several windows. Images whose patches are no tokens are batched by their
    model (`FrozenModel.padded`).
    """
    for encoding in encodings:
        check_windows(encoding)
    if any(encoding.canvas is not None for encoding in encodings):
        raise ValueError("the patches of this image are no tokens: use the model's own `padded`")
    unit_count = max((len(encoding.units) for encoding in encodings), default=0)
    ids = _padded([encoding.ids for encoding in encodings], pad_token, device)
    lengths = torch.tensor([len(encoding.ids) for encoding in encodings], device=device)
    counts = torch.tensor([len(encoding.units) for encoding in encodings], device=device)
    owners = [[unit_count if owner == NO_UNIT else owner for owner in encoding.owners] for encoding in encodings]
    zeroed = [[position in encoding.zeroed for position in range(len(encoding.ids))] for encoding in encodings]
    return PaddedBatch(
        ids,
        torch.arange(ids.shape[1], device=device) < lengths[:, None],
        _padded([encoding.segments for encoding in encodings], 0, device),
        _padded(owners, unit_count, device),
        torch.arange(unit_count, device=device) < counts[:, None],
        _padded(zeroed, 0, device) == 0,
        *_patches(encodings, ids),
    )


def _padded(rows: Sequence[Sequence[int]], value: int, device: torch.device) -> Tensor:
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=float(value)).to(device)


def _patches(encodings: Sequence[Encoding], ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where patches stand (B, L), their embeddings and those of erased ones (B, L, d)."""
    patches = [encoding.patch_embeddings for encoding in encodings]
    d = max((patch.embeddings.shape[1] for patch in patches if patch), default=0)
    is_patch = torch.zeros_like(ids, dtype=torch.bool)
    embeddings, replacements = (torch.zeros(*ids.shape, d, device=ids.device) for _ in range(2))
    for row, own in enumerate(patches):
        if own is not None:
            length = len(own.is_patch)
            is_patch[row, :length] = torch.from_numpy(own.is_patch)
            embeddings[row, :length] = torch.from_numpy(own.embeddings)
            replacements[row, :length] = torch.from_numpy(own.replacement("mask"))
    return is_patch, embeddings, replacements
