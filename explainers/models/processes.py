"""Work on many inputs, shared out to processes of one thread each.

Two threads inside one small matrix product gain little; two processes with an input each gain nearly all.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, TypeVar, cast

import torch

from explainers.errors import ExplanationError

Found = TypeVar("Found")
work_of_this_process: Callable[[int], Any]


def forks() -> bool:
    """Whether a process can go on as two. macOS has fork too, but its own libraries do not bear it."""
    return sys.platform == "linux"


def check_processes(number: int, device: torch.device) -> None:
    """Raises `ExplanationError` if so many processes cannot work with a model on this device."""
    if number < 1:
        raise ExplanationError(f"There must be at least 1 process, not {number}.")
    if number > 1 and device.type != "cpu":
        raise ExplanationError(f"Several processes work on the CPU alone, not on {device.type}: give --device cpu.")
    if number > 1 and not forks():
        raise ExplanationError("Several processes need Linux, which can fork. Leave --processes away.")


def shared_out(work: Callable[[int], Found], count: int, processes: int) -> Generator[Found]:
    """The results of `work` for 0 to `count` - 1, in this order. What it knows is copied into each process as it is."""
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
    """A pool's process does not notice by itself that whoever began it was killed."""
    cast(BaseProcess, multiprocessing.parent_process()).join()
    os._exit(1)


def _work(number: int) -> Any:
    return work_of_this_process(number)
