"""F(c) = A∘φ∘ψ: what A makes of φ's output, in three ways to keep A from reading the class out of given words.

leaky     A sums over the item's own sentence, which names the class: as published. In use, over φ's sentence.
closed    A reads one distribution, φ's next token after "The answer is", which depends only on what φ reads.
sentence  A sums over the sentence that φ generates itself. The class name is hidden from φ's input and left out of
          the sum; the choice of every word passes its gradient straight through to its probability.
"""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from explainers.narrative.generation import generate
from explainers.narrative.language import Language, pad_rows
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput


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
