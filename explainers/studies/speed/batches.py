"""What several comparisons could gain from sharing batches: the time that a comparison loses because some are not full.

A language-model server puts the requests of many people into one batch, because a batch of one row takes hardly less
time there than one of many. Here a comparison asks for hundreds of masks of its own, so that most of its batches are
full already. What is measured is the most that a perfect merge of everybody's batches could save.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.methods.registry import default_methods, select
from explainers.models import batching, calls, catalog
from explainers.results.decision import Settings
from explainers.studies.speed.measure import example_for, seconds

ROWS = (1, 2, 4, 8, 16, 32, 64)
REPEATS = 10


@dataclass(frozen=True)
class NetworkPass:
    """A pass of the network; with `gradient` it also serves a method that reads gradients or states."""

    rows: int
    seconds: float
    gradient: bool


def batches(name: str, threads: int) -> dict[str, Any]:
    """Milliseconds per row by the rows of a batch, how full the batches of a comparison with the default methods are,
    and the share of their time that full ones would save. Passes that only answer masks are counted."""
    if threads:
        torch.set_num_threads(threads)
    model = catalog.load(name)
    decision, _ = decide(model, example_for(model), settings=Settings())
    list(run(model, decision, select(default_methods()), calls.Meter()))  # warms up
    with recorded(model.module) as done:
        list(run(model, decision, select(default_methods()), calls.Meter()))
    encoding = decision.encoding
    full = batching.rows_per_batch(len(encoding.ids), model.device.type)
    masks = np.random.default_rng(0).random((full, len(encoding.units))) < 0.5
    sizes = [rows for rows in ROWS if rows < full] + [full]
    answer = partial(model.probabilities, encoding)
    per_row = {rows: seconds(partial(answer, masks[:rows]), REPEATS) / rows for rows in sizes}
    asked = [batch for batch in done if not batch.gradient]
    return {
        "model": name,
        "threads": torch.get_num_threads(),
        "units": len(encoding.units),
        "tokens": len(encoding.ids),
        "ms per row": {f"{rows} rows": 1000 * value for rows, value in per_row.items()},
        "batches of a comparison": {
            "that only answer masks": len(asked),
            "their rows, median": statistics.median(batch.rows for batch in asked),
            "rows in full batches": sum(batch.rows for batch in asked if batch.rows >= full) / rows_of(asked),
            "share of the network's time": time_of(asked) / time_of(done),
            "of it full batches would save": saved(asked, min(per_row.values())),
        },
    }


def rows_of(some: list[NetworkPass]) -> int:
    return sum(batch.rows for batch in some)


def time_of(some: list[NetworkPass]) -> float:
    return sum(batch.seconds for batch in some)


def saved(some: list[NetworkPass], per_row: float) -> float:
    """The share of their time that is left over if every row took as long as in a full batch, `per_row` seconds."""
    return sum(max(0.0, batch.seconds - batch.rows * per_row) for batch in some) / time_of(some)


@contextmanager
def recorded(module: nn.Module) -> Iterator[list[NetworkPass]]:
    """The passes of the network during the block, in one thread."""
    done: list[NetworkPass] = []
    started: list[float] = []

    def before(_module: nn.Module, _args: Any, _options: Any) -> None:
        started.append(time.perf_counter())

    def after(_module: nn.Module, _args: Any, options: dict[str, Any], _output: Any) -> None:
        rows = next(value for name in ("input_ids", "inputs_embeds") if (value := options.get(name)) is not None)
        gradient = not torch.is_inference_mode_enabled()
        done.append(NetworkPass(len(rows), time.perf_counter() - started.pop(), gradient))

    hooks = [
        module.register_forward_pre_hook(before, with_kwargs=True),
        module.register_forward_hook(after, with_kwargs=True),
    ]
    try:
        yield done
    finally:
        for hook in hooks:
            hook.remove()
