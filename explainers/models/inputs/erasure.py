"""Masks over units, and the token ids with some units erased: one row per mask."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding, Erasure

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class ErasedInputs:
    """`attention` is None where no row is padded; `scale` multiplies embeddings and is None where all stay."""

    ids: Integers  # (B, L)
    segments: Integers  # (B, L)
    attention: Booleans | None = None  # (B, L)
    scale: Booleans | None = None  # (B, L), or (1, L) for all rows alike


def check_erasure(erasure: Erasure, offered: Sequence[Erasure]) -> None:
    """Raises `ExplanationError` for an operator that the model does not offer."""
    if erasure not in offered:
        raise ExplanationError(f"The erasure {erasure!r} is not available. Choose one of: {', '.join(offered)}.")


def unit_masks(encoding: Encoding, keeps: ArrayLike) -> Booleans:
    """Masks over the units, (B, units); one mask may come as (units,). Raises `ValueError` for another shape."""
    masks = np.atleast_2d(np.asarray(keeps, dtype=bool))
    if masks.ndim != 2 or masks.shape[1] != len(encoding.units):
        raise ValueError(f"keeps must be (B, {len(encoding.units)}), one column per unit, not {np.shape(keeps)}")
    return masks


def erased_inputs(
    encoding: Encoding, kept: Booleans, erasure: Erasure, *, mask_token: int, pad_token: int
) -> ErasedInputs:
    """The rows for masks over tokens, (B, L)."""
    ids, segments = (np.asarray(row, dtype=np.int64) for row in (encoding.ids, encoding.segments))
    if erasure == "delete":
        return _shortened(ids, segments, kept, pad_token)
    all_segments = np.broadcast_to(segments, kept.shape)
    if erasure == "zero":
        return ErasedInputs(np.broadcast_to(ids, kept.shape), all_segments, scale=kept)
    return ErasedInputs(np.where(kept, ids, mask_token), all_segments, scale=nonzero_mask(encoding))


def nonzero_mask(encoding: Encoding) -> Booleans | None:
    """(1, L): false where a token was zeroed for good; None where there is none."""
    if not encoding.zeroed:
        return None
    return np.array([[position not in encoding.zeroed for position in range(len(encoding.ids))]])


def _shortened(ids: Integers, segments: Integers, kept: Booleans, pad_token: int) -> ErasedInputs:
    lengths = kept.sum(axis=1)
    attention = np.arange(max(lengths.max(), 1)) < lengths[:, None]  # (B, L')
    short_ids, short_segments = np.full(attention.shape, pad_token), np.zeros(attention.shape, dtype=np.int64)
    short_ids[attention] = np.broadcast_to(ids, kept.shape)[kept]
    short_segments[attention] = np.broadcast_to(segments, kept.shape)[kept]
    attention[lengths == 0, 0] = True  # without special tokens a row may be empty: it then reads one pad token
    return ErasedInputs(short_ids, short_segments, attention=None if attention.all() else attention)
