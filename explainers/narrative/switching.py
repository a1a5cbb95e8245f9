"""The counterfactual check on one example: the model is brought to another class; do the sentences go along?

The class is that of the nearest example of another class in a set; the way there is ν, found on the spot
(`counterfactual`). Every narrator speaks from c and from c + ν.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.classifier import TextClassifier
from explainers.models.inside import head
from explainers.narrative.cause import Narrator
from explainers.narrative.counterfactual import STEPS, counterfactuals
from explainers.narrative.entries import narrator as entry
from explainers.narrative.telling import Seen, seen, tell
from explainers.report.text import listed

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


def switch(model: TextClassifier, narrators: Mapping[str, Narrator], base: Example, known: Seen) -> Switch:
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
        after = head(model)(found.states).softmax(-1)[0].tolist()
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
def _spoken(method: str, narrator: Narrator, states: torch.Tensor, model: TextClassifier) -> Spoken:
    told = tell(narrator, states, model.labels)
    read: list[Probabilities] = [(), ()]
    if narrator.reads:
        read = [tuple(row) for row in narrator.c2(told.read).softmax(-1).tolist()]
    return Spoken(method, told.sentences[:2], told.stated[:2], (read[0], read[1]))  # type: ignore[arg-type]


def verdict(found: Switch) -> str:
    """In plain words, which sentences followed the model."""
    if not found.met:
        return f"The model kept its class for all {STEPS} steps, so nothing follows about the sentences."
    groups: dict[str, list[str]] = {}
    for each in found.spoken:
        groups.setdefault(_went(found, each), []).append(entry(each.method).name)
    parts = []
    for number, (went, names) in enumerate(groups.items()):
        who = ("The sentence" if number == 0 else "that") if len(names) == 1 else "The sentences"
        who = who if number == 0 or len(names) == 1 else "those"
        parts.append(f"{who} of {listed(names)} {went}")
    return f"{', '.join(parts)}." if parts else ""


def _went(found: Switch, spoken: Spoken) -> str:
    before, after = spoken.stated
    if after is None:
        return "named no class any more" if before is not None else "never named a class"
    if after != found.target:
        return "did not"  # follow; what it follows stands before it
    return "followed the model" if before == found.label else "came to the model's new class from a wrong one"
