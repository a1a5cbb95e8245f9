"""Two processes that train one network, each on its half of every step's samples."""

from collections.abc import Generator, Sequence
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed
from torch.utils.data import DataLoader

from explainers.models.scenes.curriculum import Curriculum, SceneBatch

RENDEZVOUS = "meeting"  # the file through which they connect
TIMEOUT = timedelta(minutes=10)  # for the other process


def connected_batches(curriculum: Curriculum, steps: range, folder: Path) -> Generator[Sequence[SceneBatch]]:
    """The batches of these steps; meanwhile this process has one thread and is connected with the other one.

    Raises `RuntimeError` if the connection is lost.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        store = distributed.FileStore(str(folder / RENDEZVOUS), 2)  # type: ignore[attr-defined]
        distributed.init_process_group("gloo", store=store, rank=curriculum.part or 0, world_size=2, timeout=TIMEOUT)
        yield from DataLoader(
            curriculum, batch_size=None, sampler=steps, num_workers=1, prefetch_factor=2, multiprocessing_context="fork"
        )
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
        torch.set_num_threads(threads)
