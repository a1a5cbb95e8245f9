"""Work on many inputs, distributed to processes of one thread each.

Two threads inside one small matrix product gain little; two processes with an input each gain nearly twice the speed.
"""

import multiprocessing
import os
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, TypeVar, cast

import torch

from explainers.errors import ExplanationError
from explainers.models.foreign.process_limits import can_fork

Result = TypeVar("Result")
work_of_this_process: Callable[[int], Any]


def check_processes(number: int, device: torch.device) -> None:
    """Raises `ExplanationError` if so many processes cannot work with a model on this device."""
    if number < 1:
        raise ExplanationError(f"There must be at least 1 process, not {number}.")
    if number > 1 and device.type != "cpu":
        raise ExplanationError(f"Several processes work on the CPU only, not on {device.type}. Set --device cpu.")
    if number > 1 and not can_fork():
        raise ExplanationError("Several processes need Linux, which can fork. Omit --processes.")


def map_in_processes(work: Callable[[int], Result], count: int, processes: int) -> Generator[Result]:
    """The results of `work` for 0 to `count` - 1, in this order. Its closure is copied into each process by fork."""
    if processes == 1:
        yield from map(work, range(count))
        return
    forking = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(processes, mp_context=forking, initializer=_begin, initargs=(work,))
    try:
        yield from pool.map(_work, range(count))
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(work: Callable[[int], Any]) -> None:
    global work_of_this_process
    work_of_this_process = work
    torch.set_num_threads(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's process does not notice by itself that its parent was killed."""
    cast(BaseProcess, multiprocessing.parent_process()).join()
    os._exit(1)


def _work(number: int) -> Any:
    return work_of_this_process(number)
