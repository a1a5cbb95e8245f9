"""Training of CAuSE: the language model is warmed up on sentences alone, then all parts learn together."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.models.optimisation import optimiser_step
from explainers.narrative.cause import Narrator, NarratorBatch, NarratorRecipe, terms
from explainers.narrative.generation import generate, readings
from explainers.narrative.language import Language, pad_rows
from explainers.narrative.sentences import NarratorItem, stack_items, stated_class
from explainers.training.loop import TrainingLoop, log_line

RISING = 0.05  # share of the steps in which the learning rate rises
VALIDATED = 200  # items whose sentences are generated after an epoch
LOG_EVERY = 10  # steps


def new_optimiser(
    module: nn.Module, rate: float, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """AdamW with a learning rate that rises quickly and falls to 0."""
    optimiser = torch.optim.AdamW(module.parameters(), rate, weight_decay=0.01)
    rising = max(1.0, RISING * steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / max(steps - rising, 1.0)))
    )
    return optimiser, schedule


def batches(lengths: Sequence[int], size: int, order: random.Random) -> Iterator[list[int]]:
    """Indices in batches of about equal lengths, in random order."""
    indices = list(range(len(lengths)))
    order.shuffle(indices)
    ready = []
    for start in range(0, len(indices), 30 * size):
        pool = sorted(indices[start : start + 30 * size], key=lambda index: lengths[index])
        ready += [pool[at : at + size] for at in range(0, len(pool), size)]
    order.shuffle(ready)
    yield from (each for each in ready if len(each) > 1)


def warm_up(
    phi: PreTrainedModel,
    language: Language,
    texts: Sequence[str],
    *,
    epochs: int,
    seed: int,
    log: IO[str],
    rate: float = 1e-3,
) -> None:
    """Trains the language model on the sentences; in place of the state it reads the end of a text."""
    rows = [language.ids(text) for text in texts]
    size, words = 64, phi.get_input_embeddings()
    steps = epochs * -(-len(rows) // size)
    optimiser, schedule = new_optimiser(phi, rate, steps)
    started, done = time.perf_counter(), 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        phi.train()
        for epoch in range(epochs):
            for indices in batches([len(row) for row in rows], size, random.Random(seed * 1000 + epoch)):
                ids, real = pad_rows([rows[index] for index in indices], language.pad_id, phi.device)
                previous = torch.cat([torch.full_like(ids[:, :1], language.end_id), ids[:, :-1]], dim=1)
                logits = phi(inputs_embeds=words(previous)).logits
                loss = nn.functional.cross_entropy(logits[real], ids[real])
                optimiser_step(loss, list(phi.parameters()), optimiser)
                schedule.step()
                done += 1
                if done % 50 == 0:
                    seconds = time.perf_counter() - started
                    log_line(log, {"step": done, "of": steps, "loss": loss.item(), "seconds": seconds})
    phi.eval()


class NarratorTraining:
    """One training of a narrator; every epoch takes one of the sentences of each item."""

    def __init__(
        self,
        recipe: NarratorRecipe,
        narrator: Narrator,
        head: nn.Sequential,
        labels: Sequence[str],
        parts: tuple[Sequence[NarratorItem], Sequence[NarratorItem]],
        folder: Path,
    ) -> None:
        self.recipe, self.narrator, self.head, self.labels = recipe, narrator, head, tuple(labels)
        self.items, self.validation = parts
        first = [narrator.language.pieces_within(label)[0] for label in labels]
        self.names = torch.tensor(first, device=next(narrator.parameters()).device)
        steps = recipe.epochs * -(-len(self.items) // recipe.batch)
        optimiser, schedule = new_optimiser(narrator, recipe.learning_rate, steps)
        weights = list(narrator.parameters())
        self.loop = TrainingLoop(folder, weights, optimiser, schedule, seed=recipe.seed, steps=steps)
        self.metrics: dict[str, float] = {}

    def losses(self, order: random.Random) -> Iterator[Mapping[str, Tensor]]:
        rows = [self.narrator.language.ids(order.choice(item.sentences)) for item in self.items]
        for indices in batches([len(row) for row in rows], self.recipe.batch, order):
            yield self.terms([self.items[index] for index in indices], [rows[index] for index in indices])

    def terms(self, items: Sequence[NarratorItem], sentences: list[list[int]]) -> Mapping[str, Tensor]:
        """The loss of one batch by its terms; `sentences` are ids."""
        batch = NarratorBatch(*stack_items(items), sentences)
        return terms(self.recipe, self.narrator, self.head, self.names, batch, self.loop.generator)

    def validate(self) -> dict[str, object]:
        """From free generation: how often a class is stated, how often the model's; and how often C2 reads it."""
        items = self.validation[:VALIDATED]
        self.narrator.eval()
        states, _ = stack_items(items)
        sentences = generate(self.narrator, states)
        stated = [stated_class(self.narrator.language.text(row), self.labels) for row in sentences]
        self.metrics = {
            "states a class": sum(each is not None for each in stated) / len(items),
            "states the model's": agreement(stated, items),
        }
        if self.narrator.has_reader:
            read = readings(self.narrator, states, sentences).argmax(1).tolist()
            self.metrics["C2 reads the model's"] = agreement(read, items)
        self.narrator.train()
        return {"validation": self.metrics}

    def state(self) -> dict[str, Any]:
        return {"narrator": self.narrator.state_dict(), "figures": self.metrics}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.narrator.load_state_dict(state["narrator"])
        self.metrics = state["figures"]


def agreement(classes: Sequence[int | None], items: Sequence[NarratorItem]) -> float:
    """The share of items whose class is the model's."""
    return sum(each == item.label for each, item in zip(classes, items, strict=True)) / len(items)


def train(
    recipe: NarratorRecipe,
    narrator: Narrator,
    head: nn.Sequential,
    labels: Sequence[str],
    parts: tuple[Sequence[NarratorItem], Sequence[NarratorItem]],
    folder: Path,
    *,
    resume: bool = False,
) -> NarratorTraining:
    """The finished training on the first part, validated on the second."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed + 1)  # for dropout; other random numbers come from the loop's generator and order
        training = NarratorTraining(recipe, narrator, head, labels, parts, folder)
        narrator.train()
        header = {"items": len(parts[0]), "steps": training.loop.steps, "recipe": asdict(recipe)}
        training.loop.run(training, recipe.epochs, header=header, resume=resume, log_every=LOG_EVERY)
    narrator.requires_grad_(False).eval()
    return training
