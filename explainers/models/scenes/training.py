"""Training of `scenes` from nothing. The label alone teaches slowly, so layers below are told what there is to see:

    L = CE(label | c) + ⅓ CE(count | c) + ⅙ CE(quantifier | c) + ⅙ CE(its number | c)
      + Σ BCE(what a patch holds | layer 2) + CE(how many things in it are of the named kinds | layer 4)
      + ½ CE(how many are in its box | layer 5) + ½ BCE(its box is as said | layer 5) + ½ BCE(it matters | layer 6)

All but the first are asked of heads that are thrown away, and only of generated scenes.
"""

import multiprocessing
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, distributed, nn
from torch.func import functional_call
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader

from explainers.models.checkpoints import restored
from explainers.models.scenes.hints import CROWD, HOLDS, MOST, QUANTIFIERS, UNKNOWN
from explainers.models.scenes.lessons import Batch, Lessons, Recipe, collate
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.samples import Sample, Sources

CHECKPOINT, WEIGHTS = "checkpoint.pt", "weights.safetensors"
MEETING = "meeting"  # the file through which two processes find each other
EVERY = 100  # steps between two lines of the log and two checkpoints


def asked(scores: Tensor, answers: Tensor) -> Tensor:
    """Cross-entropy of the classes in the last dimension where the answer is known; 0 where none is."""
    known = answers != UNKNOWN
    return cross_entropy(scores[known].float(), answers[known]) if known.any() else scores.sum().float() * 0


def told(scores: Tensor, answers: Tensor) -> Tensor:
    """The same for answers of yes and no."""
    known = answers != UNKNOWN
    right = answers[known].float()
    return binary_cross_entropy_with_logits(scores[known].float(), right) if known.any() else scores.sum().float() * 0


class Pupil(nn.Module):
    """The network with heads that are thrown away after the training."""

    def __init__(self, network: SceneNetwork) -> None:
        super().__init__()
        width = network.base_model.config.hidden_size
        self.network = network
        self.holds, self.fits = nn.Linear(width, HOLDS), nn.Linear(width, 2 * (CROWD + 1))
        self.number, self.good, self.matters = nn.Linear(width, MOST), nn.Linear(width, 1), nn.Linear(width, 1)
        self.count, self.quantifier, self.n = (nn.Linear(width, size) for size in (MOST, len(QUANTIFIERS), MOST))

    def forward(self, batch: Batch, smoothing: float) -> Tensor:
        """(7,): the losses of label, what patches hold, what fits, boxes, what matters, the count, the quantifier."""
        network = self.network
        embeds = network.embeds(batch.ids, batch.patches.to(network.place.weight.dtype), batch.numbers)
        found = network.base_model(inputs_embeds=embeds, output_hidden_states=True, **batch.inputs)
        hidden = [state[:, 1 : batch.patches.shape[1] + 1] for state in found.hidden_states]
        present = batch.attention[:, :, None].to(embeds.dtype)
        c = (found.last_hidden_state * present).sum(1) / present.sum(1)
        fits = self.fits(hidden[4]).unflatten(-1, (2, CROWD + 1))
        boxes = asked(self.number(hidden[5]), batch.number) + told(self.good(hidden[5])[..., 0], batch.good)
        said = asked(self.quantifier(c), batch.quantifiers) + asked(self.n(c), batch.n)
        return torch.stack(
            [
                cross_entropy(network.head(c).float(), batch.labels, label_smoothing=smoothing),
                told(self.holds(hidden[2]), batch.holds) * HOLDS,
                asked(fits, batch.fits),
                boxes / 2,
                told(self.matters(hidden[6])[..., 0], batch.matters) / 2,
                asked(self.count(c), batch.counts) / 3,
                said / 6,
            ]
        )


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
        for name, part in self.parts.items():
            part.load_state_dict(kept[name])
        self.done = kept["done"]


def lessons(training: Training, sources: Sources, steps: range, part: int) -> Generator[Sequence[Batch]]:
    """One half of each step's samples, with one thread for each process. Raises `RuntimeError` if the other is lost."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    meeting = f"file://{(training.folder / MEETING).absolute()}"
    distributed.init_process_group("gloo", init_method=meeting, rank=part, world_size=2)
    try:
        made = Lessons(sources, training.reader, training.recipe, part)
        yield from DataLoader(made, batch_size=None, sampler=steps, num_workers=1, prefetch_factor=4)
    finally:
        distributed.destroy_process_group()
        torch.set_num_threads(threads)


def helping(training: Training, sources: Sources, steps: range) -> None:
    """The same training in a second process: both learn from the halves of both, so their weights stay equal."""
    for batches in lessons(training, sources, steps, part=1):
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
        with closing(lessons(training, sources, steps, part=0)) as halves:
            for batches in halves:
                seen.append(training.step(batches))
                if training.done % EVERY == 0 or training.done == steps.stop:
                    training.save()
                    line: dict[str, object] = {
                        "step": training.done,
                        "losses": [round(value, 4) for value in torch.stack(seen).mean(0).tolist()],
                        "seconds": round(time.perf_counter() - started),
                    }
                    if training.done % (10 * EVERY) == 0 or training.done == recipe.steps:
                        line |= {name: right(training, samples) for name, samples in checked.items()}
                    seen.clear()
                    yield line
        helper.join()
    finally:
        helper.terminate()
        (training.folder / MEETING).unlink(missing_ok=True)


def right(training: Training, samples: Sequence[Sample]) -> float:
    """Accuracy of the averaged weights."""
    network, hits = cast(SceneNetwork, training.average.module.eval()), 0
    with torch.inference_mode():
        for start in range(0, len(samples), 64):
            batch = collate(samples[start : start + 64], training.reader)
            logits = network(inputs_embeds=network.embeds(batch.ids, batch.patches, batch.numbers), **batch.inputs)
            hits += int((logits.argmax(-1) == batch.labels).sum())
    return round(hits / len(samples), 4)
