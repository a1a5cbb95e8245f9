"""CAuSE: a sentence from the classifier's own state (Bandyopadhyay et al., TACL 2026).

ψ puts the state c that the frozen head C1 reads in place of the language model's first token; φ goes on from there. An
aggregator A turns φ's answers back into a state, which C2, of C1's shape, classifies: F = A∘φ∘ψ.

    L = L_φ + L_TS + L_IIT + R_match                                                              (Eq. 6)
    L_φ     = -Σ log p_φ(word | words before, ψ(c))                                               (Eq. 2)
    L_TS    = KL(C1(c) ‖ C2(F(c)))                                                                (Eq. 3)
    L_IIT   = KL(C1(c_base with neurons of c_source) ‖ C2(F(c_base) with the same of F(c_source)))  (Eq. 5)
    R_match = Σ ‖W_C1 - W_C2‖²_F / 3, biases too (Eq. 4, squared as in the authors' code)

The label leak: under teacher forcing the sentence that φ reads names the class, so A could copy it from there and
L_TS and L_IIT would be met without c. Closed, A sees what φ answers to the beginning of *another* item's sentence in
which the label is hidden; leaky, as published, it sees the item's own.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.narrative.interchange import activations, drawn, interchanged, linear, realised, sizes
from explainers.narrative.language import SMALL, Language, padded

Losses = Literal["phi", "phi_ts", "cause"]
Leak = Literal["closed", "leaky"]
LOSSES: tuple[Losses, ...] = get_args(Losses)
READ = 4  # places that the aggregator looks at when the leak is closed: "the answer is", and what comes next


@dataclass(frozen=True)
class Recipe:
    """The trainings that the paper compares: `losses` phi is L_φ alone, phi_ts adds L_TS, cause all."""

    losses: Losses = "cause"
    leak: Leak = "closed"
    soft: bool = True  # L_TS against the model's probabilities; false: against its class, as in the authors' code
    inputs: bool = True  # L_IIT also with the exchange made in the state, before ψ
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

    def read(self, states: Tensor, ids: Tensor, real: Tensor) -> Tensor:
        """F(c): what A makes of φ's answers to the beginning of the sentences `ids` (B, T)."""
        begun, kept = ids[:, :READ], real[:, :READ]
        return self.aggregated(self.answers(states, begun), kept)


def hidden(ids: Tensor, labels: Sequence[Sequence[int]], hides: int) -> Tensor:
    """The sentences (B, T) with every class name in them replaced."""
    found = ids.clone()
    for pieces in labels:
        window = found.unfold(1, len(pieces), 1) if found.shape[1] >= len(pieces) else None
        if window is None:
            continue
        hits = (window == torch.tensor(pieces, device=ids.device)).all(-1)  # (B, T - n + 1)
        for offset in range(len(pieces)):
            found[:, offset : offset + hits.shape[1]][hits] = hides
    return found


@dataclass(frozen=True)
class Batch:
    states: Tensor  # (B, d)
    logits: Tensor  # (B, C): of the frozen head
    sentences: list[list[int]]  # ids


def terms(
    recipe: Recipe,
    narrator: Narrator,
    head: nn.Sequential,
    labels: Sequence[Sequence[int]],
    batch: Batch,
    chance: torch.Generator,
) -> dict[str, Tensor]:
    """The loss by the paper's terms; `labels` are the pieces of the class names. `total` is what is minimised."""
    ids, real = padded(batch.sentences, narrator.spoken.pads, batch.states.device)
    answers = narrator.answers(batch.states, ids)
    found = {"phi": F.cross_entropy(answers[real], ids[real])}
    if narrator.reads:
        if recipe.leak == "closed":
            others = hidden(ids, labels, narrator.spoken.hides).roll(1, 0), real.roll(1, 0)
            states = narrator.read(batch.states, *others)
        else:
            others = ids, real
            states = narrator.aggregated(answers, real)
        found["ts"] = student(batch.logits, narrator.c2(states), soft=recipe.soft)
        if recipe.losses == "cause":
            found["iit"] = exchange(recipe, narrator, head, batch, states, others, chance)
            found["match"] = match(head, narrator.c2)
    return {**found, "total": torch.stack(list(found.values())).sum()}


def student(teacher: Tensor, answers: Tensor, *, soft: bool) -> Tensor:
    """L_TS: KL of the answers (B, C) to the teacher's, or cross-entropy with the class the teacher chose."""
    return divergence(teacher, answers) if soft else F.cross_entropy(answers, teacher.argmax(1))


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL(softmax(first) ‖ softmax(second)), mean over rows; both (B, C) logits."""
    return F.kl_div(second.log_softmax(-1), first.log_softmax(-1), log_target=True, reduction="batchmean")


def exchange(
    recipe: Recipe,
    narrator: Narrator,
    head: nn.Sequential,
    batch: Batch,
    states: Tensor,
    others: tuple[Tensor, Tensor],
    chance: torch.Generator,
) -> Tensor:
    """L_IIT for one draw of neurons; the source of every item is its neighbour in the batch.

    Neurons of one hidden layer are exchanged inside C1 and C2 alike. With `inputs`, neurons of the first hidden layer
    are exchanged once more, now in the state that both sides get, so that what φ says must follow too.
    """
    width = sizes(head)
    layer = int(torch.randint(1, len(width), (1,), generator=chance))
    neurons = drawn(width[layer], recipe.share, chance)
    source = batch.states.roll(-1, 0)
    with torch.no_grad():
        wanted = interchanged(head, batch.states, source, layer, neurons)
    loss = divergence(wanted, interchanged(narrator.c2, states, states.roll(-1, 0), layer, neurons))
    if not recipe.inputs or recipe.leak == "leaky":
        return loss
    share = recipe.share + (1 - recipe.share) * float(torch.rand(1, generator=chance))
    with torch.no_grad():
        mixed = realised(head, batch.states, source, drawn(width[1], share, chance))
        wanted = activations(head, mixed)[-1]
    return loss + divergence(wanted, narrator.c2(narrator.read(mixed, *others)))


def match(head: nn.Sequential, c2: nn.Sequential) -> Tensor:
    """R_match: squared distances of weights and biases, each divided by the number of layers."""
    pairs = list(zip(linear(head), linear(c2), strict=True))
    apart = [((one.weight - other.weight) ** 2).sum() + ((one.bias - other.bias) ** 2).sum() for one, other in pairs]
    return torch.stack(apart).sum() / len(pairs)
