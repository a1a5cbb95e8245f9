"""CCMR's counterfactuals (CAuSE, Sect. 4.1): does the sentence change its class with the model?

The target of each item is the nearest item to which the model gives another class: ν is a change of the state after
which the head gives the neighbour's probabilities, C1(c + ν) = C1(c'). It is computed for each item by minimising
‖ν‖² + w KL(C1(c') ‖ C1(c + ν)); no network is fitted, so nothing can overfit. After so few steps ν may be longer than
c' - c, which meets the constraint too. With w = 1 and the class alone in place of C1(c') the constraint is met for
fewer than 1 % of the items, because states lie several units apart. `explainers.methods.ccmr` lists what the paper and
its code do otherwise.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.narrative.interchange import activations

STEPS, RATE = 200, 0.05
WEIGHT = 10_000.0  # w: large, because the paper asks for equal answers and not for a compromise


@dataclass(frozen=True)
class Counterfactual:
    """For B items: the altered states, the classes aimed at, and whether the model gives that class to them."""

    states: Tensor  # (B, d): c + ν
    targets: Tensor  # (B,)
    met: Tensor  # (B,), true where argmax C1(c + ν) is the target
    neighbours: Tensor  # (B,): index of the nearest item of another class


def head_logits(head: nn.Sequential, states: Tensor) -> Tensor:
    """Logits (B, C), layer by layer, so that a hook that another thread has put on the head does not record them."""
    return activations(head, states)[-1]


def nearest_other(states: Tensor, predicted: Tensor, among: Tensor, their_classes: Tensor) -> Tensor:
    """For states (B, d) with their classes (B,), the index of the nearest of `among` (N, d) that has another one."""
    far = torch.cdist(states, among)  # (B, N)
    far[predicted[:, None] == their_classes[None]] = torch.inf
    return far.argmin(1)


def find_states(
    head: nn.Sequential, states: Tensor, target_logits: Tensor, *, weight: float = WEIGHT, steps: int = STEPS
) -> Tensor:
    """c + ν for states (B, d) and the logits (B, C) that the head shall give them, by Adam on ν alone."""
    nu = torch.zeros_like(states, requires_grad=True)
    learner = torch.optim.Adam([nu], RATE)
    for _ in range(steps):
        apart = F.kl_div(
            head_logits(head, states + nu).log_softmax(-1),
            target_logits.log_softmax(-1),
            log_target=True,
            reduction="sum",
        )
        (nu.grad,) = torch.autograd.grad((nu**2).sum() + weight * apart, nu)
        learner.step()
    return (states + nu).detach()


def counterfactuals(head: nn.Sequential, states: Tensor, among: Tensor) -> Counterfactual:
    """For states (B, d), with the nearest of `among` (N, d) of another class."""
    with torch.no_grad():
        predicted, their_logits = head_logits(head, states).argmax(1), head_logits(head, among)
        their_classes = their_logits.argmax(1)
        if bool((their_classes == their_classes[0]).all()):
            raise ExplanationError(
                f"The model gives one class to all {len(among)} items, so no other class can be reached. "
                "Take more items."
            )
        neighbours = nearest_other(states, predicted, among, their_classes)
        targets = their_classes[neighbours]
    altered = find_states(head, states, their_logits[neighbours])
    with torch.no_grad():
        met = head_logits(head, altered).argmax(1) == targets
    return Counterfactual(altered, targets, met, neighbours)
