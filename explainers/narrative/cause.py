"""The losses of CAuSE: a sentence from the classifier's own state (Bandyopadhyay et al., TACL 2026).

ψ puts the state c that the frozen head C1 reads in place of the language model's first token; φ continues from there.
An aggregator A turns φ's outputs back into a state, which C2, of C1's shape, classifies: F = A∘φ∘ψ.

    L = L_φ + L_TS + L_IIT + R_match,   L_φ = -Σ log p_φ(word | words before, ψ(c))               (Eq. 6, 2)
    L_TS    = KL(C1(c) ‖ C2(F(c)))                                                                (Eq. 3)
    L_IIT   = KL(C1(c_base with neurons of c_source) ‖ C2(F(c_base) with the same of F(c_source)))  (Eq. 5)
    R_match = Σ ‖W_C1 - W_C2‖²_F / 3, biases too (Eq. 4, squared as in the authors' code)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explainers.narrative.interchange import (
    activations,
    draw_neurons,
    layer_sizes,
    linear_layers,
    realise_in_state,
    run_with_exchange,
)
from explainers.narrative.language import pad_rows
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.reconstruction import reconstruct
from explainers.narrative.token_exchange import Continued, exchange_in_layer


@dataclass(frozen=True)
class Classifier:
    """What the losses need of the frozen model."""

    head: nn.Sequential  # C1
    names: Tensor  # (C,): the first piece of each class name
    continued: Continued | None = None  # the layers after the one that φ sees


@dataclass(frozen=True)
class NarratorBatch:
    inputs: NarratorInput
    logits: Tensor  # (B, C): of the frozen head
    sentences: list[list[int]]  # ids


def terms(
    recipe: NarratorRecipe,
    narrator: Narrator,
    classifier: Classifier,
    batch: NarratorBatch,
    generator: torch.Generator,
    *,
    phi_alone: bool = False,
) -> dict[str, Tensor]:
    """The terms of the loss, or with `phi_alone` only L_φ. `total` is minimised."""
    ids, real = pad_rows(batch.sentences, narrator.language.pad_id, batch.logits.device)
    memory = narrator.token_memory(batch.inputs)
    logits = narrator.token_logits(batch.inputs, ids, memory)
    losses = {"phi": F.cross_entropy(logits[real], ids[real])}
    if phi_alone:
        return {**losses, "total": losses["phi"]}
    if narrator.has_reader and recipe.leak == "leaky":
        states = narrator.aggregate_sentence(logits, real)
        losses["ts"] = state_loss(batch.logits, narrator.c2(states), soft=recipe.soft)
    elif narrator.has_reader:
        class_logits = narrator.class_token_logits(batch.inputs, memory)
        states = reconstruct(narrator, batch.inputs, class_logits)
        losses["ts"] = state_loss(batch.logits, narrator.c2(states), soft=recipe.soft)
        if recipe.words:
            losses["ts"] = losses["ts"] + class_name_loss(batch.logits, class_logits, classifier.names)
    if recipe.losses == "cause":
        losses["iit"] = interchange_loss(recipe, narrator, classifier.head, batch, states, generator)
        if recipe.exchanges_in_state:
            losses["iit"] = losses["iit"] + input_interchange_loss(recipe, narrator, classifier, batch, generator)
        losses["match"] = match_loss(classifier.head, narrator.c2)
    return {**losses, "total": torch.stack(list(losses.values())).sum()}


def state_loss(model_logits: Tensor, reader_logits: Tensor, *, soft: bool) -> Tensor:
    """L_TS of logits (B, C): KL to the model's probabilities, or cross-entropy with the model's class."""
    return divergence(model_logits, reader_logits) if soft else F.cross_entropy(reader_logits, model_logits.argmax(1))


def class_name_loss(model_logits: Tensor, class_logits: Tensor, names: Tensor) -> Tensor:
    """Cross-entropy of φ's next token, logits (B, V), with the name of the model's class, from logits (B, C)."""
    return F.cross_entropy(class_logits, names[model_logits.argmax(1)])


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL(softmax(first) ‖ softmax(second)), mean over rows; both (B, C) logits."""
    return F.kl_div(second.log_softmax(-1), first.log_softmax(-1), log_target=True, reduction="batchmean")


def interchange_loss(
    recipe: NarratorRecipe,
    narrator: Narrator,
    head: nn.Sequential,
    batch: NarratorBatch,
    states: Tensor,
    generator: torch.Generator,
) -> Tensor:
    """L_IIT for one draw of neurons of one hidden layer, exchanged inside C1 and C2 alike.

    The source of every item is its neighbour in the batch.
    """
    width, base = layer_sizes(head), batch.inputs.states
    layer = int(torch.randint(1, len(width), (1,), generator=generator))
    neurons = draw_neurons(width[layer], recipe.share, generator)
    with torch.no_grad():
        target = run_with_exchange(head, base, base.roll(-1, 0), layer, neurons)
    return divergence(target, run_with_exchange(narrator.c2, states, states.roll(-1, 0), layer, neurons))


def input_interchange_loss(
    recipe: NarratorRecipe,
    narrator: Narrator,
    classifier: Classifier,
    batch: NarratorBatch,
    generator: torch.Generator,
) -> Tensor:
    """L_IIT for an exchange that φ reads, of 20 % to all neurons, so that it often changes the model's class.

    Neurons of the head's first hidden layer, exchanged in the state c itself. For a narrator that reads tokens in every
    second step those of the layer that φ reads, exchanged in the means over its tokens.
    """
    share = recipe.share + (1 - recipe.share) * float(torch.rand(1, generator=generator))
    exchange: Callable[[], NarratorInput] = partial(_exchange_in_state, classifier.head, batch.inputs, share, generator)
    if classifier.continued is not None and float(torch.rand(1, generator=generator)) < 0.5:
        exchange = partial(exchange_in_layer, batch.inputs, share, generator, classifier.continued)
    with torch.no_grad():
        mixed = exchange()
        target = activations(classifier.head, mixed.states)[-1]
    class_logits = narrator.class_token_logits(mixed)
    loss = divergence(target, narrator.c2(reconstruct(narrator, mixed, class_logits)))
    return loss + class_name_loss(target, class_logits, classifier.names) if recipe.words else loss


def _exchange_in_state(
    head: nn.Sequential, inputs: NarratorInput, share: float, generator: torch.Generator
) -> NarratorInput:
    neurons = draw_neurons(layer_sizes(head)[1], share, generator)
    return inputs.with_states(realise_in_state(head, inputs.states, inputs.states.roll(-1, 0), neurons))


def match_loss(head: nn.Sequential, c2: nn.Sequential) -> Tensor:
    """R_match: squared distances of weights and biases, each divided by the number of layers."""
    pairs = list(zip(linear_layers(head), linear_layers(c2), strict=True))
    apart = [((one.weight - other.weight) ** 2).sum() + ((one.bias - other.bias) ** 2).sum() for one, other in pairs]
    return torch.stack(apart).sum() / len(pairs)
