"""Free generation: a sentence from a state alone."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from explainers.narrative.cause import Narrator
from explainers.narrative.language import LONGEST, pad_rows


@torch.no_grad()
def generate(narrator: Narrator, states: Tensor, *, temperature: float = 0.0, seed: int = 0) -> list[list[int]]:
    """A sentence as ids for each state (B, d): the likeliest tokens, or sampled ones with a `temperature`."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    language, rows = narrator.language, len(states)
    inputs = narrator.psi(states)[:, None]  # (B, 1, e)
    past, done = None, torch.zeros(rows, dtype=torch.bool, device=states.device)
    chosen_ids: list[Tensor] = []
    for _ in range(LONGEST - 1):
        output = narrator.phi(inputs_embeds=inputs, past_key_values=past, use_cache=True)
        past, logits = output.past_key_values, output.logits[:, -1]  # (B, V)
        logits[:, list(language.never_generated)] = -torch.inf
        if temperature:
            shares = (logits / temperature).softmax(-1).cpu()
            chosen = torch.multinomial(shares, 1, generator=generator)[:, 0].to(states.device)
        else:
            chosen = logits.argmax(-1)
        chosen_ids.append(torch.where(done, language.end_id, chosen))
        done |= chosen == language.end_id
        if bool(done.all()):
            break
        inputs = narrator.phi.get_input_embeddings()(chosen_ids[-1])[:, None]
    return [ended(row, language.end_id) for row in torch.stack(chosen_ids, 1).tolist()]


def ended(ids: Sequence[int], end_id: int) -> list[int]:
    """The ids up to the first end, included; a truncated sentence has no end."""
    row = list(ids)
    return row[: row.index(end_id) + 1] if end_id in row else row


@torch.no_grad()
def reading(narrator: Narrator, states: Tensor, sentences: Sequence[Sequence[int]]) -> Tensor:
    """F(c), (B, d), which C2 classifies; a leaky narrator also reads the sentences that it generated."""
    if narrator.leak == "closed":
        return narrator.reconstruct(states)
    ids, real = pad_rows(sentences, narrator.language.pad_id, states.device)
    return narrator.aggregate_sentence(narrator.token_logits(states, ids), real)


@torch.no_grad()
def readings(narrator: Narrator, states: Tensor, sentences: Sequence[Sequence[int]]) -> Tensor:
    """C2's logits (B, C) for the states and the sentences generated from them."""
    return cast(Tensor, narrator.c2(reading(narrator, states, sentences)))
