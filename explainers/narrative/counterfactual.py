"""CCMR's counterfactuals (CAuSE, Sect. 4.1): would the sentence change its class with the model?

For each item the nearest item to which the model gives another class says which class to go to. The way there is found
on the spot: ν minimises ‖ν‖² + CE(C1(c + ν), target). No network is fitted for it, so nothing can be overfitted; the
authors fit an autoencoder on the very items that they score.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.narrative.interchange import activations

STEPS, RATE = 100, 0.02


@dataclass(frozen=True)
class Counterfactual:
    """For B items: the altered states, the classes aimed at, and whether the model gives that class to them."""

    states: Tensor  # (B, d): c + ν
    targets: Tensor  # (B,)
    met: Tensor  # (B,), true where argmax C1(c + ν) is the target
    neighbours: Tensor  # (B,): number of the nearest item of another class


def answers(head: nn.Sequential, states: Tensor) -> Tensor:
    """Logits (B, C), part by part: a hook that another thread has put on the head does not see them."""
    return activations(head, states)[-1]


def nearest_other(states: Tensor, predicted: Tensor, among: Tensor, their_classes: Tensor) -> Tensor:
    """For states (B, d) with their classes (B,), the number of the nearest of `among` (N, d) that has another one."""
    far = torch.cdist(states, among)  # (B, N)
    far[predicted[:, None] == their_classes[None]] = torch.inf
    return far.argmin(1)


def found(head: nn.Sequential, states: Tensor, targets: Tensor, *, steps: int = STEPS, rate: float = RATE) -> Tensor:
    """c + ν for states (B, d) and target classes (B,), by Adam on ν alone."""
    nu = torch.zeros_like(states, requires_grad=True)
    learner = torch.optim.Adam([nu], rate)
    for _ in range(steps):
        loss = (nu**2).sum() + F.cross_entropy(answers(head, states + nu), targets, reduction="sum")
        (nu.grad,) = torch.autograd.grad(loss, nu)
        learner.step()
    return (states + nu).detach()


def counterfactuals(head: nn.Sequential, states: Tensor, among: Tensor) -> Counterfactual:
    """For states (B, d), with the nearest of `among` (N, d) of another class."""
    with torch.no_grad():
        predicted, theirs = answers(head, states).argmax(1), answers(head, among).argmax(1)
        if bool((theirs == theirs[0]).all()):
            raise ExplanationError(
                f"The model gives one class to all {len(among)} items, so there is no other to go to. Take more items."
            )
        neighbours = nearest_other(states, predicted, among, theirs)
        targets = theirs[neighbours]
    altered = found(head, states, targets)
    with torch.no_grad():
        met = answers(head, altered).argmax(1) == targets
    return Counterfactual(altered, targets, met, neighbours)
