"""What φ learns to say: the model's class first, then the people's reason where the model is right.

Algorithm 2 of the paper: an explanation that people gave for the right class explains a model that chose it; of a
model that chose another class only the class is said. So φ learns the model's answers, not the data set's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head_reads
from explainers.narrative.language import OPENING

AT_ONCE = 32
MOST_AT_ONCE = 256


@dataclass(frozen=True)
class Item:
    """One decision to put into words: the state that the head reads, the class it gave, and what may be said."""

    state: Tensor  # (d,): c
    logits: Tensor  # (C,): of the frozen head
    label: int  # the class that the model predicts
    right: bool  # whether it is the data set's
    said: tuple[str, ...]  # sentences to learn from, at least one


def sentence(label: str, reason: str = "") -> str:
    """ "The answer is neutral because the sisters may not be …"."""
    reason = reason.strip().rstrip(".")
    return f"{OPENING} {label} because {reason}." if reason else f"{OPENING} {label}."


def items(model: FrozenModel, examples: Sequence[Example]) -> list[Item]:
    """Every example as the frozen model sees it, in the order given, filtered by Algorithm 2."""
    if len(examples) > MOST_AT_ONCE:  # encoded pictures are large
        parts = range(0, len(examples), MOST_AT_ONCE)
        return [item for start in parts for item in items(model, examples[start : start + MOST_AT_ONCE])]
    encodings = [model.encode(Example(each.text, each.pair, picture=each.picture)) for each in examples]
    order = sorted(range(len(encodings)), key=lambda place: len(encodings[place].ids))
    found: dict[int, Item] = {}
    for start in range(0, len(order), AT_ONCE):
        places = order[start : start + AT_ONCE]
        found_by_head = head_reads(model, [encodings[place] for place in places])
        for place, state, logits in zip(places, *found_by_head, strict=True):
            found[place] = _item(model, examples[place], state, logits)
    return [found[place] for place in range(len(examples))]


def _item(model: FrozenModel, example: Example, state: Tensor, logits: Tensor) -> Item:
    label = int(logits.argmax())
    right, name = label == example.label, model.labels[label]
    reasons = [said for each in example.explanations if right and (said := shortened(each))]
    return Item(state, logits, label, right, tuple(sentence(name, said) for said in reasons) or (sentence(name),))


def shortened(reason: str, longest: int = 26) -> str:
    """As many whole sentences of a human explanation as fit into `longest` words; none where none fits."""
    kept: list[str] = []
    for part in re.split(r"(?<=[.!?])\s+", reason.strip()):
        if sum(len(each.split()) for each in (*kept, part)) > longest:
            break
        kept.append(part)
    return " ".join(kept)


def stated(text: str, labels: Sequence[str]) -> int | None:
    """The class that a sentence states: the label it names in whole words; of several the first, then the longest.

    None if it names none; there is no default class, which would get hits for nothing.
    """
    found = [
        (match.start(), -len(label), index)
        for index, label in enumerate(labels)
        if (match := re.search(rf"(?<!\w){re.escape(label.lower())}(?!\w)", text.lower()))
    ]
    return min(found)[-1] if found else None


def without_label(text: str, labels: Sequence[str]) -> str:
    """The sentence with every class name taken out, in other forms too: the rest must speak for itself."""
    names = [rf"{re.escape(label)}(?!\w)" for label in sorted(labels, key=len, reverse=True)]
    kin = [rf"{re.escape(label[: max(5, len(label) - 4)])}\w*" for label in labels if len(label) > 5]
    return " ".join(re.sub(rf"(?<!\w)({'|'.join(names + kin)})", "", text, flags=re.IGNORECASE).split())


def stacked(found: Sequence[Item]) -> tuple[Tensor, Tensor]:
    """States (B, d) and logits (B, C)."""
    return torch.stack([each.state for each in found]), torch.stack([each.logits for each in found])


def means(found: Sequence[Item], classes: int) -> Tensor:
    """The mean state (C, d) of the items of each class that the model gives; 0 where it gives one to none."""
    states, logits = stacked(found)
    of_class = (logits.argmax(1) == torch.arange(classes, device=states.device)[:, None]).float()  # (C, n)
    return of_class @ states / of_class.sum(1, keepdim=True).clamp(min=1)
