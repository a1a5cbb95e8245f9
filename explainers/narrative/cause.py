"""CAuSE: a sentence from the classifier's own state (Bandyopadhyay et al., TACL 2026).

ψ puts the state c that the frozen head C1 reads in place of the language model's first token; φ continues from there.
An aggregator A turns φ's outputs back into a state, which C2, of C1's shape, classifies: F = A∘φ∘ψ.

    L = L_φ + L_TS + L_IIT + R_match,   L_φ = -Σ log p_φ(word | words before, ψ(c))               (Eq. 6, 2)
    L_TS    = KL(C1(c) ‖ C2(F(c)))                                                                (Eq. 3)
    L_IIT   = KL(C1(c_base with neurons of c_source) ‖ C2(F(c_base) with the same of F(c_source)))  (Eq. 5)
    R_match = Σ ‖W_C1 - W_C2‖²_F / 3, biases too (Eq. 4, squared as in the authors' code)

`leak`: as published ("leaky"), A reads the sentence of the item, which names the class. "closed", A reads one output of
φ, the one after "The answer is", which depends on c alone.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.narrative.interchange import (
    activations,
    draw_neurons,
    layer_sizes,
    linear_layers,
    realise_in_state,
    run_with_exchange,
)
from explainers.narrative.language import SMALL, Language, pad_rows

Losses = Literal["phi", "phi_ts", "cause"]
Leak = Literal["closed", "leaky"]


@dataclass(frozen=True)
class NarratorRecipe:
    """The paper compares three `losses`: phi is L_φ alone, phi_ts adds L_TS, cause has all terms."""

    losses: Losses = "cause"
    leak: Leak = "closed"
    soft: bool = True  # L_TS against the model's probabilities; false: against its class, as in the authors' code
    inputs: bool = True  # L_IIT also with the exchange in the state, before ψ
    words: bool = True  # L_TS and L_IIT also for the class that φ generates next, not only for C2
    share: float = 0.2  # of a layer's neurons are exchanged
    language: str = SMALL
    epochs: int = 3
    batch: int = 32
    learning_rate: float = 5e-4
    seed: int = 0


class Narrator(nn.Module):
    """`psi`: d → the language model's width; `aggregator`: its vocabulary → d; `c2`: the head's shape, new weights."""

    def __init__(
        self, head: nn.Sequential, phi: PreTrainedModel, language: Language, losses: Losses, leak: Leak = "closed"
    ) -> None:
        super().__init__()
        self.language, self.leak = language, leak
        width = linear_layers(head)[0].in_features
        self.psi = nn.Linear(width, phi.get_input_embeddings().embedding_dim)
        self.phi = phi
        self.has_reader = losses != "phi"
        if self.has_reader:
            self.aggregator = nn.Linear(cast(int, phi.get_input_embeddings().num_embeddings), width)
            self.c2 = copy.deepcopy(head).requires_grad_(True)
            for layer in linear_layers(self.c2):
                layer.reset_parameters()

    @torch.no_grad()
    def initialise_aggregator(self, labels: Sequence[Sequence[int]], means: Tensor) -> None:
        """Lets A map the first piece of each class name to the mean state (C, d) of the items of that class.

        With a random A, C2 learns to read the class from other traces of the state in φ's output.
        """
        if self.has_reader:
            self.aggregator.bias.zero_()
            for pieces, mean in zip(labels, means, strict=True):
                self.aggregator.weight[:, pieces[0]] = mean

    @property
    def tied_names(self) -> set[str]:
        """Second names of tied weights, such as GPT-2's input and output embeddings; a file holds the first."""
        every = {name for name, _ in self.named_parameters(remove_duplicate=False)}
        return every - {name for name, _ in self.named_parameters()}

    def token_logits(self, states: Tensor, ids: Tensor) -> Tensor:
        """φ's logits (B, T, V) at each position of `ids` (B, T), given the state and the positions before."""
        words = self.phi.get_input_embeddings()(ids[:, :-1])  # (B, T-1, e)
        inputs = torch.cat([self.psi(states)[:, None], words], dim=1)
        return cast(Tensor, self.phi(inputs_embeds=inputs).logits)

    def aggregate_sentence(self, logits: Tensor, real: Tensor) -> Tensor:
        """A of the mean probabilities over the real positions, from logits (B, T, V) to states (B, d)."""
        share = logits.softmax(-1) * real[:, :, None]  # (B, T, V)
        return cast(Tensor, self.aggregator(share.sum(1) / real.sum(1, keepdim=True)))

    def class_token_logits(self, states: Tensor) -> Tensor:
        """φ's logits (B, V) after "The answer is", where the class comes."""
        opening = torch.tensor([*self.language.opening, self.language.end_id], device=states.device)
        return self.token_logits(states, opening.expand(len(states), -1))[:, -1]  # the last id is predicted, not read

    def aggregate_token(self, logits: Tensor) -> Tensor:
        """A of one token's logits (B, V), to states (B, d)."""
        return cast(Tensor, self.aggregator(logits.softmax(-1)))

    def reconstruct(self, states: Tensor) -> Tensor:
        """F(c) with the leak closed, (B, d): A of φ's logits where the class comes."""
        return self.aggregate_token(self.class_token_logits(states))


@dataclass(frozen=True)
class NarratorBatch:
    states: Tensor  # (B, d)
    logits: Tensor  # (B, C): of the frozen head
    sentences: list[list[int]]  # ids


def terms(
    recipe: NarratorRecipe,
    narrator: Narrator,
    head: nn.Sequential,
    names: Tensor,
    batch: NarratorBatch,
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """The terms of the loss; `names` (C,) are the first pieces of the class names. `total` is minimised."""
    ids, real = pad_rows(batch.sentences, narrator.language.pad_id, batch.states.device)
    logits = narrator.token_logits(batch.states, ids)
    losses = {"phi": F.cross_entropy(logits[real], ids[real])}
    if narrator.has_reader and recipe.leak == "leaky":
        states = narrator.aggregate_sentence(logits, real)
        losses["ts"] = state_loss(batch.logits, narrator.c2(states), soft=recipe.soft)
    elif narrator.has_reader:
        class_logits = narrator.class_token_logits(batch.states)
        states = narrator.aggregate_token(class_logits)
        losses["ts"] = state_loss(batch.logits, narrator.c2(states), soft=recipe.soft)
        if recipe.words:
            losses["ts"] = losses["ts"] + class_name_loss(batch.logits, class_logits, names)
    if recipe.losses == "cause":
        losses["iit"] = interchange_loss(recipe, narrator, head, batch, states, generator)
        if recipe.inputs and recipe.leak == "closed":
            losses["iit"] = losses["iit"] + state_interchange_loss(recipe, narrator, head, names, batch, generator)
        losses["match"] = match_loss(head, narrator.c2)
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
    width = layer_sizes(head)
    layer = int(torch.randint(1, len(width), (1,), generator=generator))
    neurons = draw_neurons(width[layer], recipe.share, generator)
    with torch.no_grad():
        target = run_with_exchange(head, batch.states, batch.states.roll(-1, 0), layer, neurons)
    return divergence(target, run_with_exchange(narrator.c2, states, states.roll(-1, 0), layer, neurons))


def state_interchange_loss(
    recipe: NarratorRecipe,
    narrator: Narrator,
    head: nn.Sequential,
    names: Tensor,
    batch: NarratorBatch,
    generator: torch.Generator,
) -> Tensor:
    """L_IIT for an exchange that φ reads: neurons of the first hidden layer, exchanged in the state c itself.

    Between 20 % and all of them, so that the exchange often changes the model's class.
    """
    share = recipe.share + (1 - recipe.share) * float(torch.rand(1, generator=generator))
    neurons = draw_neurons(layer_sizes(head)[1], share, generator)
    with torch.no_grad():
        mixed = realise_in_state(head, batch.states, batch.states.roll(-1, 0), neurons)
        target = activations(head, mixed)[-1]
    class_logits = narrator.class_token_logits(mixed)
    loss = divergence(target, narrator.c2(narrator.aggregate_token(class_logits)))
    return loss + class_name_loss(target, class_logits, names) if recipe.words else loss


def match_loss(head: nn.Sequential, c2: nn.Sequential) -> Tensor:
    """R_match: squared distances of weights and biases, each divided by the number of layers."""
    pairs = list(zip(linear_layers(head), linear_layers(c2), strict=True))
    apart = [((one.weight - other.weight) ** 2).sum() + ((one.bias - other.bias) ** 2).sum() for one, other in pairs]
    return torch.stack(apart).sum() / len(pairs)
