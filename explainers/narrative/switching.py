"""The counterfactual check on one example: the model is brought to another class; do the sentences go along?

The class is that of the nearest example of another class in a set; the way there is ν, found on the spot
(`counterfactual`). Every narrator speaks from c and from c + ν.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head
from explainers.narrative.cause import Narrator
from explainers.narrative.counterfactual import answers, counterfactuals
from explainers.narrative.telling import Seen, seen, tell

Probabilities = tuple[float, ...]


@dataclass(frozen=True)
class Spoken:
    """One narrator's sentence before and after, the class each states, and what C2 reads (empty without C2)."""

    method: str
    sentences: tuple[str, str]
    stated: tuple[int | None, int | None]
    read: tuple[Probabilities, Probabilities]


@dataclass(frozen=True)
class Switch:
    """`size` is ‖ν‖; `distance` is how far the neighbour's state lies, to compare it with."""

    neighbour: int  # number of the nearest example of another class
    target: int  # its class
    before: Probabilities
    after: Probabilities
    size: float
    distance: float
    met: bool
    spoken: tuple[Spoken, ...]

    @property
    def label(self) -> int:
        """The model's class before."""
        return max(range(len(self.before)), key=lambda index: self.before[index])


def switch(model: FrozenModel, narrators: Mapping[str, Narrator], base: Example, known: Seen) -> Switch:
    """`known` is the set in which the neighbour is looked for."""
    own = seen(model, (base,))
    label = int(own.logits.argmax())
    if bool((known.logits.argmax(1) == label).all()):
        raise ExplanationError(
            f"The model gives {model.labels[label]} to every example of the set, so there is no other class to go "
            "to. Choose another base or a set with more classes."
        )
    found = counterfactuals(head(model), own.states, known.states)
    neighbour = int(found.neighbours)
    with torch.no_grad():
        after = answers(head(model), found.states).softmax(-1)[0].tolist()
    return Switch(
        neighbour,
        int(found.targets),
        tuple(own.logits.softmax(-1)[0].tolist()),
        tuple(after),
        float((found.states - own.states).norm()),
        float((known.states[neighbour] - own.states[0]).norm()),
        bool(found.met),
        tuple(
            _spoken(method, narrator, torch.cat([own.states, found.states]), model)
            for method, narrator in narrators.items()
        ),
    )


@torch.no_grad()
def _spoken(method: str, narrator: Narrator, states: torch.Tensor, model: FrozenModel) -> Spoken:
    told = tell(narrator, states, model.labels)
    read: list[Probabilities] = [(), ()]
    if narrator.reads:
        read = [tuple(row) for row in narrator.c2(told.read).softmax(-1).tolist()]
    (before, after), (first, second) = told.sentences, told.stated
    return Spoken(method, (before, after), (first, second), (read[0], read[1]))
