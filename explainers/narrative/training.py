"""Training of CAuSE: the language model is warmed up on sentences alone, then all parts learn together.

    FOLDER/log.jsonl        one JSON object per line: the loss by terms, or after an epoch the validation
    FOLDER/checkpoint.pt    all that `resume` needs to go on after the last finished epoch

The same seed gives the same weights, also when a training was interrupted and resumed.
"""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

import torch
from torch import nn
from transformers import PreTrainedModel

from explainers.errors import ExplanationError
from explainers.learned.steps import descend, note
from explainers.models.checkpoints import restored
from explainers.narrative.cause import Batch, Narrator, Recipe, terms
from explainers.narrative.language import Language, padded
from explainers.narrative.saying import readings, said
from explainers.narrative.texts import Item, stacked, stated

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"
RISING = 0.05  # share of the steps in which the learning rate rises
WATCHED = 200  # items whose sentences are generated after an epoch


def optimiser(
    module: nn.Module, rate: float, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """AdamW with a learning rate that rises quickly and falls to 0."""
    found = torch.optim.AdamW(module.parameters(), rate, weight_decay=0.01)
    rising = max(1.0, RISING * steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        found, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / max(steps - rising, 1.0)))
    )
    return found, schedule


def batches(lengths: Sequence[int], size: int, order: random.Random) -> Iterator[list[int]]:
    """Places in batches of about equal lengths, in random order."""
    places = list(range(len(lengths)))
    order.shuffle(places)
    ready = []
    for start in range(0, len(places), 30 * size):
        pool = sorted(places[start : start + 30 * size], key=lambda place: lengths[place])
        ready += [pool[at : at + size] for at in range(0, len(pool), size)]
    order.shuffle(ready)
    yield from (each for each in ready if len(each) > 1)


def warm_up(
    phi: PreTrainedModel,
    spoken: Language,
    texts: Sequence[str],
    *,
    epochs: int,
    seed: int,
    log: IO[str],
    rate: float = 1e-3,
) -> None:
    """Teaches the language model the sentences; where the state will stand it reads the end of a text."""
    rows = [spoken.ids(text) for text in texts]
    size, words = 64, phi.get_input_embeddings()
    steps = epochs * -(-len(rows) // size)
    learner, schedule = optimiser(phi, rate, steps)
    started, done = time.perf_counter(), 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        phi.train()
        for epoch in range(epochs):
            for places in batches([len(row) for row in rows], size, random.Random(seed * 1000 + epoch)):
                ids, real = padded([rows[place] for place in places], spoken.pads, phi.device)
                begun = torch.cat([torch.full_like(ids[:, :1], spoken.ends), ids[:, :-1]], dim=1)
                logits = phi(inputs_embeds=words(begun)).logits
                loss = nn.functional.cross_entropy(logits[real], ids[real])
                descend(loss, list(phi.parameters()), learner)
                schedule.step()
                done += 1
                if done % 50 == 0:
                    note(
                        log, {"step": done, "of": steps, "loss": loss.item(), "seconds": time.perf_counter() - started}
                    )
    phi.eval()


class Training:
    """One training, epoch by epoch."""

    def __init__(
        self, recipe: Recipe, narrator: Narrator, head: nn.Sequential, labels: Sequence[str], folder: Path, steps: int
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.recipe, self.narrator, self.head, self.folder, self.steps = recipe, narrator, head, folder, steps
        self.labels = tuple(labels)
        first = [narrator.spoken.within(label)[0] for label in labels]
        self.names = torch.tensor(first, device=next(narrator.parameters()).device)
        self.chance = torch.Generator(device="cpu").manual_seed(recipe.seed)
        self.optimiser, self.schedule = optimiser(narrator, recipe.learning_rate, steps)
        self.epoch, self.step_number, self.seconds = 0, 0, 0.0
        self.figures: dict[str, float] = {}

    def step(self, items: Sequence[Item], sentences: list[list[int]]) -> dict[str, float]:
        states, logits = stacked(items)
        batch = Batch(states, logits, sentences)
        found = terms(self.recipe, self.narrator, self.head, self.names, batch, self.chance)
        if not torch.isfinite(found["total"]):
            raise ExplanationError(
                f"The loss is not a number after {self.step_number} steps. Choose a smaller learning rate."
            )
        descend(found["total"], list(self.narrator.parameters()), self.optimiser)
        self.schedule.step()
        self.step_number += 1
        return {name: float(term.detach()) for name, term in found.items()}

    def validate(self, items: Sequence[Item]) -> dict[str, float]:
        """From free generation: how often a class is stated, how often the model's; and how often C2 reads it."""
        some = items[:WATCHED]
        self.narrator.eval()
        states, _ = stacked(some)
        sentences = said(self.narrator, states)
        found = [stated(self.narrator.spoken.text(row), self.labels) for row in sentences]
        figures = {
            "states a class": sum(each is not None for each in found) / len(some),
            "states the model's": sum(each == item.label for each, item in zip(found, some, strict=True)) / len(some),
        }
        if self.narrator.reads:
            read = readings(self.narrator, states, sentences).argmax(1).tolist()
            figures["C2 reads the model's"] = sum(
                each == item.label for each, item in zip(read, some, strict=True)
            ) / len(some)
        self.narrator.train()
        return figures

    def save(self) -> None:
        ready = self.folder / (CHECKPOINT + ".new")
        kept = {name: getattr(self, name).state_dict() for name in ("narrator", "optimiser", "schedule")}
        numbers = {"numbers": [self.epoch, self.step_number, self.seconds], "figures": self.figures}
        states = {"chance": self.chance.get_state(), "torch": torch.get_rng_state()}
        torch.save({**kept, **numbers, **states}, ready)
        ready.replace(self.folder / CHECKPOINT)  # a crash while writing leaves the one before

    def resume(self) -> None:
        kept = restored(self.folder / CHECKPOINT)
        for name in ("narrator", "optimiser", "schedule"):
            getattr(self, name).load_state_dict(kept[name])
        self.epoch, self.step_number, self.seconds = kept["numbers"]
        self.figures = kept["figures"]
        self.chance.set_state(kept["chance"])
        torch.set_rng_state(kept["torch"])


def train(
    recipe: Recipe,
    narrator: Narrator,
    head: nn.Sequential,
    labels: Sequence[str],
    parts: tuple[Sequence[Item], Sequence[Item]],
    folder: Path,
    *,
    resume: bool = False,
) -> Training:
    """Trains on the first part, watches the second; every epoch takes another of each item's sentences."""
    texts, watched = parts
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed + 1)  # dropout; whatever else is drawn comes from `chance` or `order`
        training = Training(recipe, narrator, head, labels, folder, recipe.epochs * -(-len(texts) // recipe.batch))
        resuming = resume and (folder / CHECKPOINT).is_file()
        if resuming:
            training.resume()
        narrator.train()
        with (folder / LOG).open("a" if resuming else "w", encoding="utf-8") as log:
            note(log, {"items": len(texts), "steps": training.steps, "recipe": asdict(recipe)})
            while training.epoch < recipe.epochs:
                _epoch(training, texts, watched, log)
    narrator.requires_grad_(False).eval()
    return training


def _epoch(training: Training, texts: Sequence[Item], watched: Sequence[Item], log: IO[str]) -> None:
    started, order = time.perf_counter(), random.Random(training.recipe.seed * 1000 + training.epoch)
    rows = [training.narrator.spoken.ids(order.choice(each.said)) for each in texts]
    for places in batches([len(row) for row in rows], training.recipe.batch, order):
        found = training.step([texts[place] for place in places], [rows[place] for place in places])
        if training.step_number % 10 == 0:
            note(log, {"step": training.step_number, "epoch": training.epoch, "terms": found})
    training.epoch += 1
    training.seconds += time.perf_counter() - started
    training.figures = training.validate(watched)
    note(
        log,
        {
            "epoch": training.epoch,
            "step": training.step_number,
            "seconds": training.seconds,
            "validation": training.figures,
        },
    )
    training.save()
