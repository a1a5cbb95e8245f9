"""Training of `scenes` from scratch, by two processes of one thread each: small products use no more than one.

The training objective of `scenes`. The label alone trains slowly, so layers from the second on get auxiliary losses:

    L = CE(label | c) + ⅓ CE(count | c) + ⅙ CE(quantifier | c) + ⅙ CE(its number | c)
      + Σ BCE(what a patch holds | layer 2) + CE(how many things in it are of the named kinds | layer 4)
      + ½ CE(how many are in its box | layer 5) + ½ BCE(its box is as stated | layer 5) + ½ BCE(it matters | layer 6)

All but the first use heads that are discarded after the training, and only generated scenes.

Two processes that train one network, each on its half of every step's samples.
"""

import multiprocessing
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import timedelta
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

from explainers.errors import ExplanationError
from explainers.models.optimisation import clipped_step, computes_in_bfloat16, load_checkpoint
from explainers.models.scenes import samples
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.recipe import SceneModelRecipe


def class_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy over the last dimension where the target is known; 0 if none is."""
    valid = targets != samples.UNKNOWN
    return cross_entropy(scores[valid].float(), targets[valid]) if valid.any() else scores.sum().float() * 0


def binary_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """The same for binary targets."""
    valid = targets != samples.UNKNOWN
    positive = targets[valid].float()
    return (
        binary_cross_entropy_with_logits(scores[valid].float(), positive) if valid.any() else scores.sum().float() * 0
    )


class MultiTaskNetwork(nn.Module):
    """The network with the auxiliary heads, which are discarded after the training."""

    def __init__(self, network: SceneNetwork) -> None:
        super().__init__()
        width = network.base_model.config.hidden_size
        self.network = network
        self.holds, self.fits = nn.Linear(width, samples.HOLDS), nn.Linear(width, 2 * (samples.CROWD + 1))
        self.number, self.good, self.matters = nn.Linear(width, samples.MOST), nn.Linear(width, 1), nn.Linear(width, 1)
        self.count, self.quantifier, self.n = (
            nn.Linear(width, size) for size in (samples.MOST, len(samples.QUANTIFIERS), samples.MOST)
        )

    def forward(self, batch: samples.SceneBatch, smoothing: float) -> Tensor:
        """(7,): the losses of label, what patches hold, what fits, boxes, what matters, the count, the quantifier."""
        network = self.network
        embeds = network.embeds(batch.ids, batch.patches.to(network.place.weight.dtype), batch.numbers)
        output = network.base_model(inputs_embeds=embeds, output_hidden_states=True, **batch.inputs)
        hidden = [state[:, 1 : batch.patches.shape[1] + 1] for state in output.hidden_states]
        present = batch.attention[:, :, None].to(embeds.dtype)
        c = (output.last_hidden_state * present).sum(1) / present.sum(1)
        fits = self.fits(hidden[4]).unflatten(-1, (2, samples.CROWD + 1))
        boxes = class_loss(self.number(hidden[5]), batch.number) + binary_loss(self.good(hidden[5])[..., 0], batch.good)
        quantifier = class_loss(self.quantifier(c), batch.quantifiers) + class_loss(self.n(c), batch.n)
        return torch.stack(
            [
                cross_entropy(network.head(c).float(), batch.labels, label_smoothing=smoothing),
                binary_loss(self.holds(hidden[2]), batch.holds) * samples.HOLDS,
                class_loss(fits, batch.fits),
                boxes / 2,
                binary_loss(self.matters(hidden[6])[..., 0], batch.matters) / 2,
                class_loss(self.count(c), batch.counts) / 3,
                quantifier / 6,
            ]
        )


RENDEZVOUS = "meeting"  # the file through which they connect
TIMEOUT = timedelta(minutes=10)  # for the other process


def connected_batches(
    curriculum: samples.Curriculum, steps: range, folder: Path
) -> Generator[Sequence[samples.SceneBatch]]:
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


CHECKPOINT, WEIGHTS = "checkpoint.pt", "weights.safetensors"
EVERY = 100  # steps between two lines of the log and two checkpoints


class SceneTraining:
    """One training; `folder/checkpoint.pt` holds all that `resume` needs to continue."""

    def __init__(self, tokenizer: Tokenizer, classes: int, recipe: SceneModelRecipe, folder: Path) -> None:
        torch.manual_seed(recipe.seed)
        self.tokenizer, self.recipe, self.folder, self.done = tokenizer, recipe, folder, 0
        self.network = SceneNetwork(tokenizer.get_vocab_size(), classes)
        self.learner = MultiTaskNetwork(self.network)
        self.average = AveragedModel(self.network, multi_avg_fn=get_ema_multi_avg_fn(recipe.averaging))  # type: ignore[no-untyped-call]
        self.weights = list(self.learner.parameters())
        matrices = [weight for weight in self.network.base_model.encoder.parameters() if weight.ndim == 2]
        others = [weight for weight in self.weights if all(weight is not matrix for matrix in matrices)]
        rate, decay = recipe.learning_rate, recipe.weight_decay
        self.optimisers = (
            torch.optim.Muon(matrices, rate, decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, rate / 2, betas=(0.9, 0.98), weight_decay=decay, fused=True),
        )
        rising, steps = recipe.rising * recipe.steps, recipe.steps
        self.schedules = tuple(
            LambdaLR(optimiser, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / (steps - rising))))
            for optimiser in self.optimisers
        )

    def step(self, batches: Sequence[samples.SceneBatch]) -> Tensor:
        """(7,): the losses, computed with weights of 16 bits where the processor is quick with them; the step changes
        those of 32 bits."""
        self.learner.train()
        self.learner.zero_grad()
        dtype = torch.bfloat16 if computes_in_bfloat16(torch.device("cpu")) else torch.float32
        weights = {name: weight.to(dtype) for name, weight in self.learner.named_parameters()}
        losses = torch.zeros(7)
        for batch in batches:
            share = len(batch.ids) / self.recipe.batch
            losses = losses + functional_call(self.learner, weights, (batch, self.recipe.smoothing)) * share
        losses.sum().backward()  # type: ignore[no-untyped-call]
        losses = losses.detach()
        if distributed.is_initialized():
            self.add_up(losses)
        clipped_step(self.weights, *self.optimisers)
        for schedule in self.schedules:
            schedule.step()
        self.average.update_parameters(self.network)
        self.done += 1
        return losses

    def add_up(self, losses: Tensor) -> None:
        """Sums losses and gradients over the two processes, each with its half of the samples."""
        flat = torch.cat([losses, *(cast(Tensor, weight.grad).flatten() for weight in self.weights)])
        distributed.all_reduce(flat)
        sizes = [len(losses), *(weight.numel() for weight in self.weights)]
        total, *gradients = flat.split(sizes)  # type: ignore[no-untyped-call]
        losses.copy_(total)
        for weight, gradient in zip(self.weights, gradients, strict=True):
            cast(Tensor, weight.grad).copy_(gradient.view_as(weight))

    @property
    def parts(self) -> dict[str, Any]:
        """All that changes during the training, by its name in the checkpoint."""
        kept = {"pupil": self.learner, "average": self.average}
        return kept | {f"{type(part).__name__} {n}": part for n, part in enumerate((*self.optimisers, *self.schedules))}

    def save(self) -> None:
        state = {name: part.state_dict() for name, part in self.parts.items()}
        torch.save({**state, "done": self.done}, self.folder / CHECKPOINT)
        weights = {name: tensor.half() for name, tensor in self.average.module.state_dict().items()}
        save_file(weights, self.folder / WEIGHTS)

    def resume(self) -> None:
        kept = load_checkpoint(self.folder / CHECKPOINT)
        if kept.keys() != {*self.parts, "done"}:
            raise ExplanationError(f"{self.folder / CHECKPOINT} is of another version. Omit --resume to start again.")
        for name, part in self.parts.items():
            part.load_state_dict(kept[name])
        self.done = kept["done"]


def run_helper(training: SceneTraining, sources: samples.Sources, steps: range) -> None:
    """The same training in a second process: both step by the summed gradients, so their weights stay equal."""
    curriculum = samples.Curriculum(sources, training.tokenizer, training.recipe, part=1)
    for batches in connected_batches(curriculum, steps, training.folder):
        training.step(batches)


def train(
    training: SceneTraining,
    sources: samples.Sources,
    monitored: dict[str, Sequence[samples.SceneSample]],
    until: int | None = None,
) -> Iterator[dict[str, object]]:
    """Yields an entry for the log after every `EVERY` steps, every tenth with accuracies on `monitored`."""
    recipe, started, losses = training.recipe, time.perf_counter(), []
    yield asdict(recipe)
    steps = range(training.done, min(until or recipe.steps, recipe.steps))
    (training.folder / RENDEZVOUS).unlink(missing_ok=True)
    helper = multiprocessing.get_context("fork").Process(target=run_helper, args=(training, sources, steps))
    helper.start()
    try:
        curriculum = samples.Curriculum(sources, training.tokenizer, recipe, part=0)
        with closing(connected_batches(curriculum, steps, training.folder)) as shared:
            for batches in shared:
                losses.append(training.step(batches))
                if training.done % EVERY == 0 or training.done == steps.stop:
                    training.save()
                    yield log_entry(training, losses, monitored) | {"seconds": round(time.perf_counter() - started)}
                    losses.clear()
        helper.join()
    finally:
        helper.terminate()
        helper.join()
        (training.folder / RENDEZVOUS).unlink(missing_ok=True)


def log_entry(
    training: SceneTraining, losses: Sequence[Tensor], monitored: dict[str, Sequence[samples.SceneSample]]
) -> dict[str, object]:
    """The mean losses since the last entry, every tenth time with the accuracies."""
    entry: dict[str, object] = {
        "step": training.done,
        "losses": [round(value, 4) for value in torch.stack(list(losses)).mean(0).tolist()],
    }
    if training.done % (10 * EVERY) == 0 or training.done == training.recipe.steps:
        entry |= {name: sample_accuracy(training, held_out) for name, held_out in monitored.items()}
    return entry


def sample_accuracy(training: SceneTraining, held_out: Sequence[samples.SceneSample]) -> float:
    """The accuracy of the averaged weights."""
    network, hits = cast(SceneNetwork, training.average.module.eval()), 0
    with torch.inference_mode():
        for start in range(0, len(held_out), 64):
            batch = samples.collate(held_out[start : start + 64], training.tokenizer)
            logits = network(inputs_embeds=network.embeds(batch.ids, batch.patches, batch.numbers), **batch.inputs)
            hits += int((logits.argmax(-1) == batch.labels).sum())
    return round(hits / len(held_out), 4)
