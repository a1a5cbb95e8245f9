"""Many rows through a model in batches that fit: sized by length, halved when memory runs out, down to one row.

A batch of a small model, distributed to threads of this process.

Two threads inside one small matrix product wait for each other much of the time; with half of the rows each they do
not.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from threading import Barrier

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


MIN_ROWS = 4  # per thread; fewer are not worth the overhead


def map_rows_in_threads(work: Callable[[slice], Tensor], rows: int) -> Tensor:
    """The results of `work` for slices of so many rows, concatenated; as many slices as torch has threads here."""
    count = min(torch.get_num_threads(), rows // MIN_ROWS)
    if count < 2:
        return work(slice(0, rows))
    ends = [rows * number // count for number in range(count + 1)]
    slices = (slice(first, last) for first, last in pairwise(ends))
    return torch.cat(list(single_thread_pool(torch.get_num_threads()).map(work, slices)))


@lru_cache
def single_thread_pool(count: int) -> ThreadPoolExecutor:
    """Threads in each of which torch has one thread; every other thread has as many as before."""
    pool, all_started = ThreadPoolExecutor(count, "row"), Barrier(count)

    def begin(_number: int) -> None:
        all_started.wait()
        torch.get_num_threads()  # else the first use inside torch would set it again
        torch.set_num_threads(1)

    list(pool.map(begin, range(count)))
    torch.set_num_threads(count)  # the number set last is the default of threads that begin later
    return pool
