"""The training loop of everything that is fitted: steps, log, checkpoints, and resuming after an interruption.

    FOLDER/log.jsonl        one JSON object per line: the loss by terms, or the validation after an epoch
    FOLDER/checkpoint.pt    all that `resume` needs to continue after the last finished epoch

The same seed gives the same weights, also when a training was interrupted and resumed.
"""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.optimisation import load_checkpoint, optimiser_step

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"


class Trainee(Protocol):
    """What a loop trains."""

    def losses(self, order: random.Random) -> Iterator[Mapping[str, Tensor]]:
        """The loss terms of each batch of one epoch; the step is made before the next batch. `total` is minimised."""
        ...

    def validate(self) -> Mapping[str, object]:
        """What the log gets after an epoch."""
        ...

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps; the list "numbers" is stored behind the loop's own numbers."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class TrainingLoop:
    """Position, optimiser and random state of one training."""

    def __init__(
        self,
        folder: Path,
        weights: Sequence[nn.Parameter],
        optimiser: torch.optim.Optimizer,
        schedule: torch.optim.lr_scheduler.LRScheduler,
        *,
        seed: int,
        steps: int,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.weights, self.optimiser, self.schedule = folder, weights, optimiser, schedule
        self.seed, self.steps = seed, steps
        self.generator = torch.Generator(device="cpu").manual_seed(seed)
        self.epoch, self.step_number, self.seconds = 0, 0, 0.0

    def run(
        self, trainee: Trainee, epochs: int, *, header: Mapping[str, object], resume: bool, log_every: int = 1
    ) -> None:
        """Trains up to `epochs`. Writes `header` as the first line of the log and every `log_every`-th step."""
        resuming = resume and (self.folder / CHECKPOINT).is_file()
        if resuming:
            self.resume(trainee)
        with (self.folder / LOG).open("a" if resuming else "w", encoding="utf-8") as log:
            log_line(log, header)
            while self.epoch < epochs:
                self.run_epoch(trainee, log, log_every)

    def run_epoch(self, trainee: Trainee, log: IO[str], log_every: int) -> None:
        """One pass over the data, the validation, and a checkpoint."""
        started, order = time.perf_counter(), random.Random(self.seed * 1000 + self.epoch)
        for terms in trainee.losses(order):
            values = self.step(terms)
            if self.step_number % log_every == 0:
                log_line(log, {"step": self.step_number, "epoch": self.epoch, "terms": values})
        self.epoch += 1
        self.seconds += time.perf_counter() - started
        validation = trainee.validate()
        log_line(log, {"epoch": self.epoch, "step": self.step_number, "seconds": self.seconds, **validation})
        self.save(trainee)

    def step(self, terms: Mapping[str, Tensor]) -> dict[str, float]:
        """One step down the total loss; returns the terms. Raises `ExplanationError` if the loss is not finite."""
        check_finite(terms["total"], self.step_number)
        optimiser_step(terms["total"], self.weights, self.optimiser)
        self.schedule.step()
        self.step_number += 1
        return {name: float(term.detach()) for name, term in terms.items()}

    def save(self, trainee: Trainee) -> None:
        """Writes the checkpoint."""
        state = trainee.state()
        numbers = [self.epoch, self.step_number, self.seconds, *state.pop("numbers", [])]
        whole = {
            **state,
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
            "chance": self.generator.get_state(),
            "torch": torch.get_rng_state(),
            "numbers": numbers,
        }
        fresh = self.folder / (CHECKPOINT + ".new")
        torch.save(whole, fresh)
        fresh.replace(self.folder / CHECKPOINT)  # a crash while writing leaves the one before

    def resume(self, trainee: Trainee) -> None:
        """Reads the checkpoint."""
        kept = load_checkpoint(self.folder / CHECKPOINT)
        self.epoch, self.step_number, self.seconds, *others = kept["numbers"]
        trainee.restore({**kept, "numbers": others})
        self.optimiser.load_state_dict(kept["optimiser"])
        self.schedule.load_state_dict(kept["schedule"])
        self.generator.set_state(kept["chance"])
        torch.set_rng_state(kept["torch"])


def check_finite(loss: Tensor, steps: int) -> None:
    """Raises `ExplanationError` for a loss that is infinite or not a number, after so many steps."""
    if not torch.isfinite(loss):
        raise ExplanationError(f"The loss is not a number after {steps} steps. Choose a smaller learning rate.")


def log_line(log: IO[str], values: Mapping[str, object]) -> None:
    """Writes a line of JSON to the disk at once."""
    print(json.dumps(values), file=log, flush=True)
