"""The counterfactual check on one example: when its state moves to another class, do the sentences follow?

The class is that of the nearest example of another class in a set; ν is computed by `counterfactual`. Every narrator
generates a sentence from c and from c + ν.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative.counterfactual import counterfactuals, head_logits
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentence_batches import HeadStates, generate_batch, head_states

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
