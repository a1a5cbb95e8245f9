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
SHARE_OF_FREE = 0.5  # of a GPU's free memory for one batch: its size is estimated, and others use the GPU too
TOO_LITTLE_MEMORY = (
    "There is not enough memory to run the model even on one input at a time. "
    "Shorten the text, close other programs or choose a smaller model."
)


def rows_per_batch(length: int, device: str, row_bytes: int = 0, free: int | None = None) -> int:
    """How many rows of `length` tokens go into one batch: enough to keep the device busy, few enough for a quick
    cancel, and no more than fit into a part of the `free` bytes where they are known."""
    rows = TOKENS_PER_BATCH.get(device, 8192) // max(length, 1)
    if free is not None and row_bytes:
        rows = min(rows, int(free * SHARE_OF_FREE) // row_bytes)
    return max(1, rows)


def free_memory(device: torch.device) -> int | None:
    """Return the free bytes of a CUDA GPU, with those that torch keeps without using them; None for other devices."""
    if device.type != "cuda":
        return None
    free, _whole = torch.cuda.mem_get_info(device)
    return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))


def bytes_per_row(config: object, length: int, *, gradient: bool) -> int:
    """Return about how many bytes one row of so many tokens takes inside a Transformer; 0 where its size is not known.

    In a layer there are at once about 8 hidden states and 2 wider ones per token, and 2 values of attention per head
    and pair of tokens, of 4 bytes each; in one of a decoder that reads an encoder there are 5 further hidden states, of
    which one is the encoder's, and as much attention again. A pass with a gradient keeps those of all layers.
    """

    def size(*names: str) -> int:
        return next((value for name in names if isinstance(value := getattr(config, name, None), int)), 0)

    hidden, layers = size("hidden_size", "dim"), size("num_hidden_layers", "n_layers")
    wide, heads = size("intermediate_size", "hidden_dim") or 4 * hidden, size("num_attention_heads", "n_heads")
    layer = 4 * length * (8 * hidden + 2 * wide + 2 * heads * length)
    reading = size("decoder_layers", "num_decoder_layers")  # layers of an encoder-decoder's decoder
    wide, heads = size("decoder_ffn_dim", "d_ff") or wide, size("decoder_attention_heads") or heads
    reading_layer = 4 * length * (13 * hidden + 2 * wide + 4 * heads * length) if reading else 0
    return layers * layer + reading * reading_layer if gradient else max(layer, reading_layer)


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
