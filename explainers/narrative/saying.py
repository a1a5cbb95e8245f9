"""Free generation: a sentence from a state alone, nothing else is read."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from explainers.narrative.cause import Narrator
from explainers.narrative.language import LONGEST, padded


@torch.no_grad()
def said(narrator: Narrator, states: Tensor, *, temperature: float = 0.0, seed: int = 0) -> list[list[int]]:
    """A sentence as ids for each state (B, d): the likeliest words, or with a `temperature` drawn ones."""
    chance = torch.Generator(device="cpu").manual_seed(seed)
    language, rows = narrator.spoken, len(states)
    given = narrator.psi(states)[:, None]  # (B, 1, e)
    past, done = None, torch.zeros(rows, dtype=torch.bool, device=states.device)
    found: list[Tensor] = []
    for _ in range(LONGEST - 1):
        answer = narrator.phi(inputs_embeds=given, past_key_values=past, use_cache=True)
        past, logits = answer.past_key_values, answer.logits[:, -1]  # (B, V)
        logits[:, list(language.silent)] = -torch.inf
        if temperature:
            shares = (logits / temperature).softmax(-1).cpu()
            chosen = torch.multinomial(shares, 1, generator=chance)[:, 0].to(states.device)
        else:
            chosen = logits.argmax(-1)
        found.append(torch.where(done, language.ends, chosen))
        done |= chosen == language.ends
        if bool(done.all()):
            break
        given = narrator.phi.get_input_embeddings()(found[-1])[:, None]
    return [ended(row, language.ends) for row in torch.stack(found, 1).tolist()]


def ended(ids: Sequence[int], ends: int) -> list[int]:
    """Up to the first end, which is kept; one that was cut gets none."""
    row = list(ids)
    return row[: row.index(ends) + 1] if ends in row else row


@torch.no_grad()
def reading(narrator: Narrator, states: Tensor, sentences: Sequence[Sequence[int]]) -> Tensor:
    """F(c), (B, d), which C2 classifies; a leaky narrator also reads the sentences that it has said of the states."""
    if narrator.leak == "closed":
        return narrator.read(states)
    ids, real = padded(sentences, narrator.spoken.pads, states.device)
    return narrator.aggregated(narrator.answers(states, ids), real)


@torch.no_grad()
def readings(narrator: Narrator, states: Tensor, sentences: Sequence[Sequence[int]]) -> Tensor:
    """C2's logits (B, C) for the states and the sentences said of them."""
    return cast(Tensor, narrator.c2(reading(narrator, states, sentences)))
