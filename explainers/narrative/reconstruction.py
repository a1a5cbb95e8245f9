"""F(c) = A∘φ∘ψ: what A makes of φ's output, in three ways to keep A from reading the class out of given words.

leaky     A sums over the item's own sentence, which names the class: as published. In use, over φ's sentence.
closed    A reads one distribution, φ's next token after "The answer is", which depends only on what φ reads.
sentence  A sums over the sentence that φ generates itself. The class name is hidden from φ's input and left out of
          the sum; the choice of every word passes its gradient straight through to its probability.

Before a narrator's training: its language model learns the language of the sentences, without any state.
"""

import random
import time
from collections.abc import Iterator, Sequence
from typing import IO, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.models.optimisation import optimiser_step
from explainers.narrative.generation import generate
from explainers.narrative.language import Language, pad_rows
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.training.loop import log_line


def reconstruct(narrator: Narrator, inputs: NarratorInput, class_logits: Tensor | None = None) -> Tensor:
    """F(c), (B, d), with the leak closed; `class_logits` (B, V) are φ's after "The answer is" if they are known."""
    if narrator.leak == "sentence":
        return read_own_sentence(narrator, inputs)
    return narrator.aggregate_token(narrator.class_token_logits(inputs) if class_logits is None else class_logits)


@torch.no_grad()
def reading(narrator: Narrator, inputs: NarratorInput, sentences: Sequence[Sequence[int]]) -> Tensor:
    """F(c), (B, d), which C2 classifies; narrators that read sentences read these, which they generated."""
    if narrator.leak == "closed":
        return reconstruct(narrator, inputs)
    if narrator.leak == "sentence":
        return read_own_sentence(narrator, inputs, sentences)
    ids, real = pad_rows(sentences, narrator.language.pad_id, inputs.states.device)
    return narrator.aggregate_sentence(narrator.token_logits(inputs, ids), real)


@torch.no_grad()
def readings(narrator: Narrator, inputs: NarratorInput, sentences: Sequence[Sequence[int]]) -> Tensor:
    """C2's logits (B, C) for the inputs and the sentences generated from them."""
    return cast(Tensor, narrator.c2(reading(narrator, inputs, sentences)))


def read_own_sentence(
    narrator: Narrator, inputs: NarratorInput, sentences: Sequence[Sequence[int]] | None = None
) -> Tensor:
    """A over φ's own likeliest sentence without the class name, (B, d)."""
    language = narrator.language
    rows = _generated(narrator, inputs) if sentences is None else sentences
    ids, real = pad_rows(rows, language.pad_id, inputs.states.device)
    named = class_positions(ids, language)
    shares = narrator.token_logits(inputs, ids.masked_fill(named, language.hidden_id)).softmax(-1)
    chosen = F.one_hot(ids, shares.shape[-1]).to(shares.dtype)
    return narrator.aggregate_positions(chosen + shares - shares.detach(), real & ~named)


def class_positions(ids: Tensor, language: Language) -> Tensor:
    """Where a sentence names its class, (B, T): after the opening, up to "because" or the end, and wherever a piece of
    that name comes again. Class names must have equally many pieces; those of the embedded models have one."""
    because = language.pieces_within("because")[0]
    after = torch.arange(ids.shape[1], device=ids.device)[None] >= len(language.opening)
    closing = (ids == because) | (ids == language.end_id) | (ids == language.pad_id)
    named = after & ((closing & after).cumsum(1) == 0)
    again = ((ids[:, :, None] == ids[:, None]) & named[:, None]).any(-1)
    return named | (again & after)


def _generated(narrator: Narrator, inputs: NarratorInput) -> list[list[int]]:
    """Without dropout, also during a training."""
    training = narrator.training
    narrator.eval()
    try:
        return generate(narrator, inputs)
    finally:
        narrator.train(training)


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


POOL = 30  # batches whose items are sorted together
PREFIXES = 10  # batches of about equal sentences whose items are sorted by their prefixes


def batches(
    lengths: Sequence[int], size: int, order: random.Random, prefixes: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Indices in batches of about equal lengths, in random order; where `prefixes` of these lengths are read as well,
    of about equal prefixes too, since both are padded."""
    indices, ready = list(range(len(lengths))), []
    order.shuffle(indices)
    for pool in _parts(indices, (3 * POOL if prefixes else POOL) * size):
        pool.sort(key=lambda index: lengths[index])
        alike = _parts(pool, PREFIXES * size) if prefixes else [pool]
        for part in alike:
            ready += _parts(sorted(part, key=lambda index: prefixes[index]) if prefixes else part, size)
    order.shuffle(ready)
    yield from (batch for batch in ready if len(batch) > 1)


def _parts(indices: list[int], size: int) -> list[list[int]]:
    return [indices[start : start + size] for start in range(0, len(indices), size)]


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
