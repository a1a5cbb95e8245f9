"""A batch of a small model, distributed to threads of this process.

Two threads inside one small matrix product wait for each other much of the time; with half of the rows each they do
not.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from threading import Barrier

import torch
from torch import Tensor

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
