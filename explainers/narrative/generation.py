"""Free generation: a sentence from what the narrator reads of the model, and nothing else."""

from collections.abc import Sequence

import torch
from torch import Tensor

from explainers.narrative.language import LONGEST
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput


@torch.no_grad()
def generate(narrator: Narrator, inputs: NarratorInput, *, temperature: float = 0.0, seed: int = 0) -> list[list[int]]:
    """A sentence as ids for each input: the likeliest tokens, or sampled ones with a `temperature`."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    language, device = narrator.language, inputs.states.device
    embeds, memory = narrator.first_embedding(inputs.states), narrator.token_memory(inputs)  # (B, 1, e)
    past, done = None, torch.zeros(len(inputs), dtype=torch.bool, device=device)
    chosen_ids: list[Tensor] = []
    for _ in range(LONGEST - 1):
        rows, past = narrator.next_tokens(embeds, memory, past, cached=True)
        logits = rows[:, -1]  # (B, V)
        logits[:, list(language.never_generated)] = -torch.inf
        if temperature:
            shares = (logits / temperature).softmax(-1).cpu()
            chosen = torch.multinomial(shares, 1, generator=generator)[:, 0].to(device)
        else:
            chosen = logits.argmax(-1)
        chosen_ids.append(torch.where(done, language.end_id, chosen))
        if memory is not None and narrator.points_once:
            memory = memory.without(chosen)
        done |= chosen == language.end_id
        if bool(done.all()):
            break
        embeds = narrator.embedding_of(narrator.phi)(chosen_ids[-1])[:, None]
    return [ended(row, language.end_id) for row in torch.stack(chosen_ids, 1).tolist()]


def ended(ids: Sequence[int], end_id: int) -> list[int]:
    """The ids up to the first end, included; a truncated sentence has no end."""
    row = list(ids)
    return row[: row.index(end_id) + 1] if end_id in row else row
