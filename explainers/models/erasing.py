"""What the model is given when units are erased: one row of ids per mask."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explainers.models.encoding import Encoding, Erasure

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Inputs:
    """`attention` is None where no row is padded; `scale` multiplies embeddings and is None where all stay."""

    ids: Integers  # (B, L)
    segments: Integers  # (B, L)
    attention: Booleans | None = None  # (B, L)
    scale: Booleans | None = None  # (B, L), or (1, L) for all rows alike


def erased(encoding: Encoding, kept: Booleans, erasure: Erasure, *, filler: int, padding: int) -> Inputs:
    """The rows for masks over tokens, (B, L)."""
    ids, segments = np.asarray(encoding.ids), np.asarray(encoding.segments)
    if erasure == "delete":
        return _shortened(ids, segments, kept, padding)
    rows = np.broadcast_to(segments, kept.shape)
    if erasure == "zero":
        return Inputs(np.broadcast_to(ids, kept.shape), rows, scale=kept)
    return Inputs(np.where(kept, ids, filler), rows, scale=present(encoding))


def present(encoding: Encoding) -> Booleans | None:
    """(1, L): false where a token was set to zero for good; None where there is none."""
    if not encoding.zeroed:
        return None
    return np.array([[position not in encoding.zeroed for position in range(len(encoding.ids))]])


def _shortened(ids: Integers, segments: Integers, kept: Booleans, padding: int) -> Inputs:
    lengths = kept.sum(axis=1)
    taken = np.arange(max(lengths.max(), 1)) < lengths[:, None]  # (B, L')
    rows, kinds = np.full(taken.shape, padding), np.zeros(taken.shape, dtype=np.int64)
    rows[taken] = np.broadcast_to(ids, kept.shape)[kept]
    kinds[taken] = np.broadcast_to(segments, kept.shape)[kept]
    taken[lengths == 0, 0] = True  # without special tokens nothing may be left: then one padding token is read
    return Inputs(rows, kinds, attention=None if taken.all() else taken)
