"""CCMR's counterfactuals (CAuSE, Sect. 4.1): does the sentence change its class with the model?

The target of each item is the nearest item to which the model gives another class: ν is a change of the state after
which the head gives the neighbour's probabilities, C1(c + ν) = C1(c'). It is computed for each item by minimising
‖ν‖² + w KL(C1(c') ‖ C1(c + ν)); no network is fitted, so nothing can overfit. After so few steps ν may be longer than
c' - c, which meets the constraint too. With w = 1 and the class alone in place of C1(c') the constraint is met for
fewer than 1 % of the items, because states lie several units apart. `explainers.methods.narrator_specs` lists what the
paper and its code do otherwise.

The counterfactual check on one example: when its state moves to another class, do the sentences follow?

The class is that of the nearest example of another class in a set; ν is computed by `counterfactual`. Every narrator
generates a sentence from c and from c + ν.

Which interchange interventions change the model's class, by its head alone and before any sentence is generated.

A draw is the seed of `interchange_check.random_neurons`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative import interchange, interchange_check
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentences import HeadStates, generate_batch, head_states

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
    return interchange.activations(head, states)[-1]


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


Probabilities = tuple[float, ...]


@dataclass(frozen=True)
class NarratorCheck:
    """One narrator's sentence before and after, the class each states, and what C2 reads (empty without C2)."""

    method: str
    sentences: tuple[str, str]
    stated: tuple[int | None, int | None]
    read: tuple[Probabilities, Probabilities]


@dataclass(frozen=True)
class CounterfactualCheck:
    """`size` is ‖ν‖, to compare with `distance`, that of the neighbour's state."""

    neighbour: int  # number of the nearest example of another class
    target: int  # its class
    before: Probabilities
    after: Probabilities
    size: float
    distance: float
    met: bool
    narrators: tuple[NarratorCheck, ...]

    @property
    def label(self) -> int:
        """The model's class before."""
        return max(range(len(self.before)), key=lambda index: self.before[index])


def check_counterfactual(
    model: FrozenModel, narrators: Mapping[str, Narrator], base: Example, examples: HeadStates
) -> CounterfactualCheck:
    """The neighbour is searched for among `examples`."""
    base_states = head_states(model, (base,))
    label = int(base_states.logits.argmax())
    if bool((examples.logits.argmax(1) == label).all()):
        raise ExplanationError(
            f"The model gives {model.labels[label]} to every example of the set, so no other class can be "
            "reached. Choose another base or a set with more classes."
        )
    altered = counterfactuals(classifier_head(model), base_states.states, examples.states)
    neighbour = int(altered.neighbours)
    with torch.no_grad():
        after = head_logits(classifier_head(model), altered.states).softmax(-1)[0].tolist()
    return CounterfactualCheck(
        neighbour,
        int(altered.targets),
        tuple(base_states.logits.softmax(-1)[0].tolist()),
        tuple(after),
        float((altered.states - base_states.states).norm()),
        float((examples.states[neighbour] - base_states.states[0]).norm()),
        bool(altered.met),
        tuple(_check_narrator(method, narrator, model, base, altered.states) for method, narrator in narrators.items()),
    )


@torch.no_grad()
def _check_narrator(
    method: str, narrator: Narrator, model: FrozenModel, base: Example, altered: torch.Tensor
) -> NarratorCheck:
    """`altered` (1, d) is c + ν."""
    inputs = head_states(model, (base, base), narrator.layer).inputs
    generated = generate_batch(narrator, inputs.with_states(torch.cat([inputs.states[:1], altered])), model.labels)
    read: list[Probabilities] = [(), ()]
    if narrator.has_reader:
        read = [tuple(row) for row in narrator.c2(generated.read).softmax(-1).tolist()]
    (before, after), (first, second) = generated.sentences, generated.stated
    return NarratorCheck(method, (before, after), (first, second), (read[0], read[1]))


DRAWS = 100  # that are tried for two given examples
OPENING_DRAWS, OPENING_EXAMPLES = 20, 60  # that are tried to find an exchange to begin with


@dataclass(frozen=True)
class ChangingExchange:
    """The numbers of two examples and of a draw of neurons whose exchange changes the model's class."""

    base: int
    source: int
    draw: int


@torch.no_grad()
def first_change(head: nn.Sequential, states: Tensor, layer: int) -> ChangingExchange | None:
    """The first draw, and in it the first base and source of `states` (n, d), that change the class, if any."""
    some = states[:OPENING_EXAMPLES]
    classes = head_logits(head, some).argmax(1)
    for draw in range(OPENING_DRAWS):
        neurons = _neurons(head, layer, draw)
        for base in range(len(some)):
            exchanged = interchange.run_with_exchange(head, some[base].expand_as(some), some, layer, neurons).argmax(1)
            changed = (exchanged != classes[base]).nonzero()
            if len(changed):
                return ChangingExchange(base, int(changed[0]), draw)
    return None


@torch.no_grad()
def changing_draws(head: nn.Sequential, both: Tensor, layer: int) -> tuple[int, ...]:
    """The draws of 0 … 99 that change the class of the base; `both` (2, d) are the states of base and source."""
    base, source = both[:1], both[1:]
    before = int(head_logits(head, base).argmax())
    return tuple(
        draw
        for draw in range(DRAWS)
        if int(interchange.run_with_exchange(head, base, source, layer, _neurons(head, layer, draw)).argmax()) != before
    )


def _neurons(head: nn.Sequential, layer: int, draw: int) -> Tensor:
    return torch.tensor(interchange_check.random_neurons(interchange.layer_sizes(head)[layer], draw))
