"""Training of `scenes` from nothing, by two processes with a thread each: small products use no more than one."""

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, distributed, nn
from torch.func import functional_call
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from explainers.errors import ExplanationError
from explainers.models.checkpoints import restored
from explainers.models.scenes.halves import MEETING, shared
from explainers.models.scenes.lessons import Batch, Lessons, collate
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.objective import Pupil
from explainers.models.scenes.recipe import Recipe
from explainers.models.scenes.samples import Sample, Sources

CHECKPOINT, WEIGHTS = "checkpoint.pt", "weights.safetensors"
EVERY = 100  # steps between two lines of the log and two checkpoints


class Training:
    """One training; `folder/checkpoint.pt` holds all that `resume` needs to go on."""

    def __init__(self, reader: Tokenizer, classes: int, recipe: Recipe, folder: Path) -> None:
        torch.manual_seed(recipe.seed)
        self.reader, self.recipe, self.folder, self.done = reader, recipe, folder, 0
        self.network = SceneNetwork(reader.get_vocab_size(), classes)
        self.pupil = Pupil(self.network)
        self.average = AveragedModel(self.network, multi_avg_fn=get_ema_multi_avg_fn(recipe.averaging))  # type: ignore[no-untyped-call]
        self.weights = list(self.pupil.parameters())
        matrices = [weight for weight in self.network.base_model.encoder.parameters() if weight.ndim == 2]
        others = [weight for weight in self.weights if all(weight is not each for each in matrices)]
        rate, decay = recipe.learning_rate, recipe.weight_decay
        self.optimisers = (
            torch.optim.Muon(matrices, rate, decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, rate / 2, betas=(0.9, 0.98), weight_decay=decay, fused=True),
        )
        rising, steps = recipe.rising * recipe.steps, recipe.steps
        self.schedules = tuple(
            LambdaLR(each, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / (steps - rising))))
            for each in self.optimisers
        )

    def step(self, batches: Sequence[Batch]) -> Tensor:
        """(7,): the losses. They are computed with weights of 16 bits; those of 32 bits are corrected."""
        self.pupil.train()
        self.pupil.zero_grad()
        halves = {name: weight.bfloat16() for name, weight in self.pupil.named_parameters()}
        found = torch.zeros(7)
        for batch in batches:
            share = len(batch.ids) / self.recipe.batch
            found = found + functional_call(self.pupil, halves, (batch, self.recipe.smoothing)) * share
        found.sum().backward()  # type: ignore[no-untyped-call]
        found = found.detach()
        if distributed.is_initialized():
            self.share(found)
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        for optimiser, schedule in zip(self.optimisers, self.schedules, strict=True):
            optimiser.step()
            schedule.step()
        self.average.update_parameters(self.network)
        self.done += 1
        return found

    def share(self, found: Tensor) -> None:
        """Adds up what two processes found out, each from its own half of the samples."""
        flat = torch.cat([found, *(cast(Tensor, weight.grad).flatten() for weight in self.weights)])
        distributed.all_reduce(flat)
        sizes = [len(found), *(weight.numel() for weight in self.weights)]
        total, *gradients = flat.split(sizes)  # type: ignore[no-untyped-call]
        found.copy_(total)
        for weight, gradient in zip(self.weights, gradients, strict=True):
            cast(Tensor, weight.grad).copy_(gradient.view_as(weight))

    @property
    def parts(self) -> dict[str, Any]:
        """All that changes while it learns."""
        kept = {"pupil": self.pupil, "average": self.average}
        return kept | {f"{type(each).__name__} {n}": each for n, each in enumerate((*self.optimisers, *self.schedules))}

    def save(self) -> None:
        state = {name: part.state_dict() for name, part in self.parts.items()}
        torch.save({**state, "done": self.done}, self.folder / CHECKPOINT)
        weights = {name: tensor.half() for name, tensor in self.average.module.state_dict().items()}
        save_file(weights, self.folder / WEIGHTS)

    def resume(self) -> None:
        kept = restored(self.folder / CHECKPOINT)
        if kept.keys() != {*self.parts, "done"}:
            raise ExplanationError(
                f"{self.folder / CHECKPOINT} is of another version. Leave --resume away to begin anew."
            )
        for name, part in self.parts.items():
            part.load_state_dict(kept[name])
        self.done = kept["done"]


def helping(training: Training, sources: Sources, steps: range) -> None:
    """The same training in a second process: both learn from the halves of both, so their weights stay equal."""
    lessons = Lessons(sources, training.reader, training.recipe, part=1)
    for batches in shared(lessons, steps, training.folder):
        training.step(batches)


def train(
    training: Training, sources: Sources, checked: dict[str, Sequence[Sample]], until: int | None = None
) -> Iterator[dict[str, object]]:
    """Yields a line for the log after every `EVERY` steps, with the accuracy on the `checked` samples now and then."""
    recipe, started, seen = training.recipe, time.perf_counter(), []
    yield asdict(recipe)
    steps = range(training.done, min(until or recipe.steps, recipe.steps))
    (training.folder / MEETING).unlink(missing_ok=True)
    helper = multiprocessing.get_context("fork").Process(target=helping, args=(training, sources, steps))
    helper.start()
    try:
        lessons = Lessons(sources, training.reader, recipe, part=0)
        with closing(shared(lessons, steps, training.folder)) as halves:
            for batches in halves:
                seen.append(training.step(batches))
                if training.done % EVERY == 0 or training.done == steps.stop:
                    training.save()
                    yield line(training, seen, checked) | {"seconds": round(time.perf_counter() - started)}
                    seen.clear()
        helper.join()
    finally:
        helper.terminate()
        helper.join()
        (training.folder / MEETING).unlink(missing_ok=True)


def line(training: Training, seen: Sequence[Tensor], checked: dict[str, Sequence[Sample]]) -> dict[str, object]:
    """For the log: the mean losses since the last line, now and then with the accuracies."""
    found: dict[str, object] = {
        "step": training.done,
        "losses": [round(value, 4) for value in torch.stack(list(seen)).mean(0).tolist()],
    }
    if training.done % (10 * EVERY) == 0 or training.done == training.recipe.steps:
        found |= {name: right(training, samples) for name, samples in checked.items()}
    return found


def right(training: Training, samples: Sequence[Sample]) -> float:
    """Accuracy of the averaged weights."""
    network, hits = cast(SceneNetwork, training.average.module.eval()), 0
    with torch.inference_mode():
        for start in range(0, len(samples), 64):
            batch = collate(samples[start : start + 64], training.reader)
            logits = network(inputs_embeds=network.embeds(batch.ids, batch.patches, batch.numbers), **batch.inputs)
            hits += int((logits.argmax(-1) == batch.labels).sum())
    return round(hits / len(samples), 4)
