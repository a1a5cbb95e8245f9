"""Simulatability as a loss (Xie et al., 2024, Eq. 14-15; Fernandes et al., 2022): explanations are good if a student
learns from them.

Each step takes half of the batch for the student and the other half to judge the explanations:

    S' = S - ρ ∂/∂S [ CE(S(x), F's prediction) - β Σ_i r_i log a_i ]      one step of SGD on the first half
    L_SIM = CE(S'(x), F's prediction)                                     on the other half, without explanation

The gradient of L_SIM goes through the step into r; the student continues as S'. After `LESSONS` steps an untaught
student takes its place: one that knows the task by itself needs no explanation. Deviations: the student is the small
one of `student`, on a pretrained encoder that stays as it is; L_SIM has no term for r, which could lower it by being
easy to copy.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from explainers.learned.batches import Batch
from explainers.learned.student import UnitStates, Weights, answers, lesson, unit_states, untaught

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
            self.weights = {name: each.to(shares.device) for name, each in fresh.items()}
        weights = {name: each.requires_grad_() for name, each in self.weights.items()}
        loss = lesson(weights, states[::2], units[::2], batch.predicted[::2], shares[::2])
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        updated = {
            name: weight - self.rate * each for (name, weight), each in zip(weights.items(), gradients, strict=True)
        }
        self.weights = {name: each.detach() for name, each in updated.items()}
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
                weights = {name: each for name, each in self.waiting.items() if name != "lessons"}
                self.student.weights, self.student.lessons = weights, int(self.waiting["lessons"])
        return self.student
