"""Many rows through a model in batches that fit: sized by length, halved when memory runs out, down to one row."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explainers.errors import ExplanationError

Floats = NDArray[np.float64]

TOKENS_PER_BATCH = {"cpu": 2048, "cuda": 65536}
TOO_LITTLE_MEMORY = (
    "There is not enough memory to run the model even on one input at a time. "
    "Shorten the text, close other programs or choose a smaller model."
)


def rows_per_batch(length: int, device: str) -> int:
    """How many rows of `length` tokens go into one batch: enough to keep the device busy, few enough for a quick
    cancel."""
    return max(1, TOKENS_PER_BATCH.get(device, 8192) // max(length, 1))


def is_out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def by_length(lengths: NDArray[np.generic], size: int, forward: Callable[[Sequence[int]], Tensor]) -> Floats:
    """`forward` of all rows, (R, C), at most `size` at a time; rows of about equal length go together."""
    order = np.argsort(lengths, kind="stable").tolist()
    batches = list(in_batches(order, size, forward))
    result: Floats = torch.cat([batch for _, batch in batches]).double().cpu().numpy()
    return result[np.argsort(np.concatenate([rows for rows, _ in batches]))]


def in_batches(
    rows: Sequence[int], size: int, forward: Callable[[Sequence[int]], Tensor]
) -> Iterator[tuple[Sequence[int], Tensor]]:
    """Yields each batch's row numbers and results; after running out of memory it continues with half the size."""
    start = 0
    while start < len(rows):
        batch = rows[start : start + size]
        try:
            result = forward(batch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(batch) == 1:
                raise ExplanationError(TOO_LITTLE_MEMORY) from error
            size = len(batch) // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            continue
        yield batch, result
        start += len(batch)


def halved_until_it_fits(size: int, work: Callable[[int], Tensor]) -> Tensor:
    """The result of `work` with a batch size of at most `size`: what `in_batches` does for passes with a gradient."""
    while size > 1:
        try:
            return work(size)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        size //= 2
    with memory_errors():
        return work(1)


@contextmanager
def memory_errors() -> Iterator[None]:
    """During the block running out of memory becomes an `ExplanationError`; for work that cannot be split."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise ExplanationError(TOO_LITTLE_MEMORY) from error
