"""Before a narrator's training: its language model learns the language of the sentences, without any state."""

import random
import time
from collections.abc import Iterator, Sequence
from typing import IO

import torch
from torch import nn
from transformers import PreTrainedModel

from explainers.models.optimisation import optimiser_step
from explainers.narrative.language import Language, pad_rows
from explainers.training.loop import log_line

RISING = 0.05  # share of the steps in which the learning rate rises


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
