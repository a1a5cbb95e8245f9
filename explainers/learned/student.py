"""The student of simulatability (Xie et al., 2024, Eq. 6-7; Fernandes et al., 2022): it learns a model's answers from
few inputs, and an explanation tells it where to look.

    a = softmax(q·h),  ŷ = softmax(W Σ_i a_i h_i + b)        h: the units' states, of length 1
    loss = CE(ŷ, F's prediction) - β Σ_i r_i log a_i          r: the explanation, shares that sum to 1

h are the last states of all-MiniLM-L6-v2 as it is published, which has seen neither the task nor the frozen model. Only
q, W and b are trained, so that the student stays as limited as the paper asks for.

Simulatability as a loss (Xie et al., 2024, Eq. 14-15; Fernandes et al., 2022): explanations are good if a student
learns from them.

Each step takes half of the batch for the student and the other half to judge the explanations:

    S' = S - ρ ∂/∂S [ CE(S(x), F's prediction) - β Σ_i r_i log a_i ]      one step of SGD on the first half
    L_SIM = CE(S'(x), F's prediction)                                     on the other half, without explanation

The gradient of L_SIM goes through the step into r; the student continues as S'. After `LESSONS` steps an untaught
student takes its place: one that knows the task by itself needs no explanation. Deviations: the student is the small
one of `student`, on a pretrained encoder that stays as it is; L_SIM has no term for r, which could lower it by being
easy to copy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from explainers.errors import ExplanationError
from explainers.learned.batches import Batch
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.text import base_weights, bundle

BETA = 1.0
STEPS, RATE, DECAY = 200, 0.03, 0.01  # of `taught`

Weights = dict[str, Tensor]
Key = tuple[tuple[str, ...], tuple[Unit, ...]]  # texts and units; the frozen model's ids do not matter here


@dataclass(frozen=True, eq=False)
class UnitStates:
    """States of units, in an encoder that was not fine-tuned. No input is encoded twice."""

    encoder: nn.Module
    tokenizer: Tokenizer
    known: dict[Key, Tensor] = field(default_factory=dict)

    def of(self, encodings: Sequence[Encoding]) -> Tensor:
        """(B, U, d), each of length 1; 0 where there is no unit. Raises `ExplanationError` for images."""
        for encoding in encodings:
            if encoding.multimodal:
                raise ExplanationError("A student that learns from explanations reads text only. Choose a text model.")
            if encoding.examples:
                raise ExplanationError("A student reads the text, and no prompt. Choose a unit other than the example.")
            if (encoding.texts, encoding.units) not in self.known:
                self.known[encoding.texts, encoding.units] = self._states(encoding)
        return pad_sequence([self.known[encoding.texts, encoding.units] for encoding in encodings], batch_first=True)

    @torch.no_grad()
    def _states(self, encoding: Encoding) -> Tensor:
        """The mean over the tokens that share characters with a unit, (U, d)."""
        first, second = (*encoding.texts, None)[:2]
        tokens = self.tokenizer.encode(first, second)
        states = self.encoder(torch.tensor([tokens.ids]), token_type_ids=torch.tensor([tokens.type_ids]))
        spans = [
            (start, end, segment) for (start, end), segment in zip(tokens.offsets, tokens.sequence_ids, strict=True)
        ]
        shared = torch.tensor(
            [
                [segment == unit.segment and start < unit.end and unit.start < end for start, end, segment in spans]
                for unit in encoding.units
            ]
        ).float()  # (U, L)
        means = shared @ states.last_hidden_state[0] / shared.sum(1, keepdim=True).clamp(min=1)
        return functional.normalize(functional.layer_norm(means, means.shape[-1:]), dim=-1) * shared.any(1)[:, None]


def unit_states() -> UnitStates:
    """Raises `ModelUnavailable` if the base weights are nowhere on this machine and the hub cannot be reached."""
    folder = base_weights.base_folder()
    return UnitStates(
        bundle.base_encoder(folder).eval().requires_grad_(False), bundle.base_tokenizer(folder, bundle.MAX_TOKENS)
    )


def untaught(classes: int, size: int, seed: int) -> Weights:
    """q at 0, so that all units are looked at alike, and W near 0."""
    generator = torch.Generator().manual_seed(seed)
    head = torch.randn(classes, size, generator=generator) / size
    return {"query": torch.zeros(size), "head": head, "bias": torch.zeros(classes)}


def answers(weights: Mapping[str, Tensor], states: Tensor, units: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (B, C) and log a (B, U) for states (B, U, d) of the `units` (B, U)."""
    logs = (states @ weights["query"]).masked_fill(~units, -torch.inf).log_softmax(1)
    pooled = torch.einsum("bu,bud->bd", logs.exp(), states)
    return pooled @ weights["head"].T + weights["bias"], logs


def lesson(
    weights: Mapping[str, Tensor], states: Tensor, units: Tensor, predicted: Tensor, shares: Tensor | None
) -> Tensor:
    """The loss on inputs whose predictions are (B,) and explanations (B, U), or None for a student who is told none."""
    logits, logs = answers(weights, states, units)
    error = functional.cross_entropy(logits, predicted)
    if shares is None:
        return error
    return error - BETA * (shares * logs.masked_fill(~units, 0)).sum(1).mean()


def taught(states: Tensor, units: Tensor, predicted: Tensor, shares: Tensor | None, classes: int, seed: int) -> Weights:
    """A student's weights after `STEPS` steps of AdamW on all inputs."""
    weights = {name: value.requires_grad_() for name, value in untaught(classes, states.shape[-1], seed).items()}
    optimiser = torch.optim.AdamW(weights.values(), RATE, weight_decay=DECAY)
    for _ in range(STEPS):
        optimiser.zero_grad()
        lesson(weights, states, units, predicted, shares).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return {name: weight.detach() for name, weight in weights.items()}


def as_shares(scores: Tensor, units: Tensor) -> Tensor:
    """Scores (B, U) as shares that sum to 1: their positive part; equal ones where nothing is positive."""
    positive = scores.clamp(min=0) * units
    total = positive.sum(1, keepdim=True)
    equal = units.float() / units.sum(1, keepdim=True).clamp(min=1)
    return torch.where(total > 0, positive / total.clamp(min=1e-12), equal)


LESSONS = 50  # steps of one student


@dataclass
class Student:
    """A student and its current weights; not a module, so that its parameters are not those of the explainer."""

    states: UnitStates
    classes: int
    rate: float
    seed: int
    weights: Weights = field(default_factory=dict)
    lessons: int = 0  # of all students so far

    def sim_loss(self, batch: Batch, shares: Tensor) -> Tensor:
        """L_SIM of the odd rows after one step on the even ones, which are explained by `shares`, (B, U)."""
        states, units = self.states.of(batch.encodings).to(shares.device), batch.inputs.units
        if self.lessons % LESSONS == 0:
            fresh = untaught(self.classes, states.shape[-1], self.seed * 1000 + self.lessons // LESSONS)
            self.weights = {name: value.to(shares.device) for name, value in fresh.items()}
        weights = {name: weight.requires_grad_() for name, weight in self.weights.items()}
        loss = lesson(weights, states[::2], units[::2], batch.predicted[::2], shares[::2])
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        updated = {
            name: weight - self.rate * gradient
            for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
        }
        self.weights = {name: value.detach() for name, value in updated.items()}
        self.lessons += 1
        logits, _ = answers(updated, states[1::2], units[1::2])
        return nn.functional.cross_entropy(logits, batch.predicted[1::2])


class WithStudent(nn.Module):
    """A module with a student, whose weights are not among its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.student: Student | None = None  # created at the first step of SIM; a fitted module has none
        self.waiting: dict[str, Tensor] = {}  # a student's weights from a checkpoint

    def kept(self) -> dict[str, Tensor]:
        if self.student is None:
            return self.waiting
        return {**self.student.weights, "lessons": torch.tensor(self.student.lessons)}

    def restore(self, kept: dict[str, Tensor]) -> None:
        self.waiting = kept

    def student_of(self, classes: int, seed: int, rate: float) -> Student:
        """Raises `ModelUnavailable` if the pretrained encoder of students is nowhere to be had."""
        if self.student is None:
            self.student = Student(unit_states(), classes, rate, seed)
            if self.waiting:
                weights = {name: value for name, value in self.waiting.items() if name != "lessons"}
                self.student.weights, self.student.lessons = weights, int(self.waiting["lessons"])
        return self.student
