"""A batch of a small model, shared out to threads of this process.

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

FEWEST = 4  # rows in a lane; fewer are not worth the sharing


def in_lanes(work: Callable[[slice], Tensor], rows: int) -> Tensor:
    """The results of `work` for parts of so many rows, one after the other; as many parts as torch has threads here."""
    count = min(torch.get_num_threads(), rows // FEWEST)
    if count < 2:
        return work(slice(0, rows))
    ends = [rows * lane // count for lane in range(count + 1)]
    parts = (slice(first, last) for first, last in pairwise(ends))
    return torch.cat(list(lanes(torch.get_num_threads()).map(work, parts)))


@lru_cache
def lanes(count: int) -> ThreadPoolExecutor:
    """Threads in each of which torch has one thread, where every other thread has as many as before."""
    pool, all_there = ThreadPoolExecutor(count, "lane"), Barrier(count)

    def begin(_lane: int) -> None:
        all_there.wait()
        torch.get_num_threads()  # else the first use inside torch would set it again
        torch.set_num_threads(1)

    list(pool.map(begin, range(count)))
    torch.set_num_threads(count)  # what a lane sets would count for threads that begin later
    return pool
