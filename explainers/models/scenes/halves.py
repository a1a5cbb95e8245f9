"""Two processes that learn together, each from its half of every step's samples."""

from collections.abc import Generator, Sequence
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed
from torch.utils.data import DataLoader

from explainers.models.scenes.lessons import Batch, Lessons

MEETING = "meeting"  # the file through which they find each other
PATIENCE = timedelta(minutes=10)  # of one with the other


def shared(lessons: Lessons, steps: range, folder: Path) -> Generator[Sequence[Batch]]:
    """The lessons of these steps; meanwhile this process has one thread and is connected with the other one.

    Raises `RuntimeError` if the other is lost.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        store = distributed.FileStore(str(folder / MEETING), 2)  # type: ignore[attr-defined]
        distributed.init_process_group("gloo", store=store, rank=lessons.part or 0, world_size=2, timeout=PATIENCE)
        yield from DataLoader(
            lessons, batch_size=None, sampler=steps, num_workers=1, prefetch_factor=2, multiprocessing_context="fork"
        )
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
        torch.set_num_threads(threads)
