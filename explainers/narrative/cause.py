"""CAuSE: a sentence from the classifier's own state (Bandyopadhyay et al., TACL 2026).

ψ puts the state c that the frozen head C1 reads in place of the language model's first token; φ goes on from there. An
aggregator A turns φ's answers back into a state, which C2, of C1's shape, classifies: F = A∘φ∘ψ.

    L = L_φ + L_TS + L_IIT + R_match                                                              (Eq. 6)
    L_φ     = -Σ log p_φ(word | words before, ψ(c))                                               (Eq. 2)
    L_TS    = KL(C1(c) ‖ C2(F(c)))                                                                (Eq. 3)
    L_IIT   = KL(C1(c_base with neurons of c_source) ‖ C2(F(c_base) with the same of F(c_source)))  (Eq. 5)
    R_match = Σ ‖W_C1 - W_C2‖²_F / 3, biases too (Eq. 4, squared as in the authors' code)

The label leak: under teacher forcing the sentence that φ reads names the class, so A could copy it from there and
L_TS and L_IIT would be met without c. Closed, A reads one answer of φ alone: what comes after "The answer is", which
is the class, and which φ can know from c only. Leaky, as published, A reads the item's whole sentence.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.narrative.interchange import activations, drawn, interchanged, linear, realised, sizes
from explainers.narrative.language import SMALL, Language, padded

Losses = Literal["phi", "phi_ts", "cause"]
Leak = Literal["closed", "leaky"]


@dataclass(frozen=True)
class Recipe:
    """The trainings that the paper compares: `losses` phi is L_φ alone, phi_ts adds L_TS, cause all."""

    losses: Losses = "cause"
    leak: Leak = "closed"
    soft: bool = True  # L_TS against the model's probabilities; false: against its class, as in the authors' code
    inputs: bool = True  # L_IIT also with the exchange made in the state, before ψ
    words: bool = True  # L_TS and L_IIT also for the class that φ is about to say, not only for what C2 reads
    share: float = 0.2  # of a layer's neurons are exchanged
    language: str = SMALL
    epochs: int = 3
    batch: int = 32
    learning_rate: float = 5e-4
    seed: int = 0


class Narrator(nn.Module):
    """What is trained. `psi`: d → the language model's width; `aggregator`: its vocabulary → d; `c2` starts anew."""

    def __init__(
        self, head: nn.Sequential, phi: PreTrainedModel, spoken: Language, losses: Losses, leak: Leak = "closed"
    ) -> None:
        super().__init__()
        self.spoken, self.leak = spoken, leak
        width = linear(head)[0].in_features
        self.psi = nn.Linear(width, phi.get_input_embeddings().embedding_dim)
        self.phi = phi
        self.reads = losses != "phi"
        if self.reads:
            self.aggregator = nn.Linear(cast(int, phi.get_input_embeddings().num_embeddings), width)
            self.c2 = copy.deepcopy(head).requires_grad_(True)
            for layer in linear(self.c2):
                layer.reset_parameters()

    @torch.no_grad()
    def begin(self, labels: Sequence[Sequence[int]], means: Tensor) -> None:
        """Lets A read a class name, given by its pieces, as the mean state (C, d) of the model's items of that class.

        Where A starts at random, C2 learns to read the class from whatever else φ's answer shows of the state.
        """
        if self.reads:
            self.aggregator.bias.zero_()
            for pieces, mean in zip(labels, means, strict=True):
                self.aggregator.weight[:, pieces[0]] = mean

    @property
    def repeated(self) -> set[str]:
        """Second names of weights that stand at two places, as GPT-2's input and output; a file holds the first."""
        every = {name for name, _ in self.named_parameters(remove_duplicate=False)}
        return every - {name for name, _ in self.named_parameters()}

    def answers(self, states: Tensor, ids: Tensor) -> Tensor:
        """What φ expects at each place of `ids` (B, T), given the state and the places before: logits (B, T, V)."""
        words = self.phi.get_input_embeddings()(ids[:, :-1])  # (B, T-1, e)
        given = torch.cat([self.psi(states)[:, None], words], dim=1)
        return cast(Tensor, self.phi(inputs_embeds=given).logits)

    def aggregated(self, answers: Tensor, real: Tensor) -> Tensor:
        """A: from φ's answers (B, T, V), the mean of their probabilities over the real places, to states (B, d)."""
        share = answers.softmax(-1) * real[:, :, None]  # (B, T, V)
        return cast(Tensor, self.aggregator(share.sum(1) / real.sum(1, keepdim=True)))

    def opened(self, states: Tensor) -> Tensor:
        """φ's answer to "The answer is", where the class comes: logits (B, V)."""
        begun = torch.tensor([*self.spoken.opening, self.spoken.ends], device=states.device)
        return self.answers(states, begun.expand(len(states), -1))[:, -1]  # the last id is asked for, not read

    def taken(self, answer: Tensor) -> Tensor:
        """A: from one answer of φ (B, V) to states (B, d)."""
        return cast(Tensor, self.aggregator(answer.softmax(-1)))

    def read(self, states: Tensor) -> Tensor:
        """F(c) with the leak closed, (B, d): what A makes of φ's answer where the class comes."""
        return self.taken(self.opened(states))


@dataclass(frozen=True)
class Batch:
    states: Tensor  # (B, d)
    logits: Tensor  # (B, C): of the frozen head
    sentences: list[list[int]]  # ids


def terms(
    recipe: Recipe,
    narrator: Narrator,
    head: nn.Sequential,
    names: Tensor,
    batch: Batch,
    chance: torch.Generator,
) -> dict[str, Tensor]:
    """The loss by the paper's terms; `names` (C,) are the first pieces of the classes. `total` is what is minimised."""
    ids, real = padded(batch.sentences, narrator.spoken.pads, batch.states.device)
    answers = narrator.answers(batch.states, ids)
    found = {"phi": F.cross_entropy(answers[real], ids[real])}
    if narrator.reads and recipe.leak == "leaky":
        states = narrator.aggregated(answers, real)
        found["ts"] = student(batch.logits, narrator.c2(states), soft=recipe.soft)
    elif narrator.reads:
        opened = narrator.opened(batch.states)
        states = narrator.taken(opened)
        found["ts"] = student(batch.logits, narrator.c2(states), soft=recipe.soft)
        if recipe.words:
            found["ts"] = found["ts"] + saying(batch.logits, opened, names)
    if recipe.losses == "cause":
        found["iit"] = exchange(recipe, narrator, head, batch, states, chance)
        if recipe.inputs and recipe.leak == "closed":
            found["iit"] = found["iit"] + exchange_of_states(recipe, narrator, head, names, batch, chance)
        found["match"] = match(head, narrator.c2)
    return {**found, "total": torch.stack(list(found.values())).sum()}


def student(teacher: Tensor, answers: Tensor, *, soft: bool) -> Tensor:
    """L_TS: KL of the answers (B, C) to the teacher's, or cross-entropy with the class the teacher chose."""
    return divergence(teacher, answers) if soft else F.cross_entropy(answers, teacher.argmax(1))


def saying(teacher: Tensor, opened: Tensor, names: Tensor) -> Tensor:
    """Cross-entropy of φ's next word, (B, V), with the name of the class that the teacher (B, C) chose."""
    return F.cross_entropy(opened, names[teacher.argmax(1)])


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL(softmax(first) ‖ softmax(second)), mean over rows; both (B, C) logits."""
    return F.kl_div(second.log_softmax(-1), first.log_softmax(-1), log_target=True, reduction="batchmean")


def exchange(
    recipe: Recipe,
    narrator: Narrator,
    head: nn.Sequential,
    batch: Batch,
    states: Tensor,
    chance: torch.Generator,
) -> Tensor:
    """L_IIT for one draw of neurons of one hidden layer, exchanged inside C1 and C2 alike.

    The source of every item is its neighbour in the batch.
    """
    width = sizes(head)
    layer = int(torch.randint(1, len(width), (1,), generator=chance))
    neurons = drawn(width[layer], recipe.share, chance)
    with torch.no_grad():
        wanted = interchanged(head, batch.states, batch.states.roll(-1, 0), layer, neurons)
    return divergence(wanted, interchanged(narrator.c2, states, states.roll(-1, 0), layer, neurons))


def exchange_of_states(
    recipe: Recipe, narrator: Narrator, head: nn.Sequential, names: Tensor, batch: Batch, chance: torch.Generator
) -> Tensor:
    """L_IIT for an exchange that φ can feel: neurons of the first hidden layer, exchanged in the state c itself.

    Between 20 % and all of them, so that the exchange often changes the model's class.
    """
    share = recipe.share + (1 - recipe.share) * float(torch.rand(1, generator=chance))
    neurons = drawn(sizes(head)[1], share, chance)
    with torch.no_grad():
        mixed = realised(head, batch.states, batch.states.roll(-1, 0), neurons)
        wanted = activations(head, mixed)[-1]
    opened = narrator.opened(mixed)
    loss = divergence(wanted, narrator.c2(narrator.taken(opened)))
    return loss + saying(wanted, opened, names) if recipe.words else loss


def match(head: nn.Sequential, c2: nn.Sequential) -> Tensor:
    """R_match: squared distances of weights and biases, each divided by the number of layers."""
    pairs = list(zip(linear(head), linear(c2), strict=True))
    apart = [((one.weight - other.weight) ** 2).sum() + ((one.bias - other.bias) ** 2).sum() for one, other in pairs]
    return torch.stack(apart).sum() / len(pairs)
