"""Statements about a scene: whether they are true, and which things decide it.

A covered box may hold anything or nothing. A statement is entailed if it holds whatever is under the cover,
contradicted if it cannot hold, and neutral otherwise.

What a statement is about, from its words alone, so that accuracies can be reported by kind.
"""

import re
from dataclasses import dataclass
from math import inf

from explainers.datasets.scenes.conditions import CONTRADICTION, ENTAILMENT, NEUTRAL, Condition, Kind, Number
from explainers.datasets.scenes.world import Scene, Thing


@dataclass(frozen=True)
class Judgement:
    """`things` decide the label; `boxes` are those that were counted; `count` is what was counted."""

    label: int
    things: tuple[Thing, ...]
    count: int
    boxes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Count:
    """ "There are exactly three yellow squares." """

    kind: Kind
    number: Number

    def judgement(self, scene: Scene) -> Judgement:
        matches = self.kind.among(scene.visible(), scene)
        high = len(matches) if scene.covered is None else inf
        return Judgement(self.number.judge(len(matches), high), matches, len(matches))


@dataclass(frozen=True)
class Boxes:
    """ "There are at least two boxes with a yellow square and no circle." """

    conditions: tuple[Condition, ...]
    number: Number

    def judgement(self, scene: Scene) -> Judgement:
        open_ones = [number for number in range(3) if number != scene.covered]
        good = [box for box in open_ones if all(condition.holds(box, scene) for condition in self.conditions)]
        high = len(good) + (scene.covered is not None)
        bad = [box for box in open_ones if box not in good]
        deciding = bad if self.number == Number("exactly", 3) and bad else good
        things = tuple(
            dict.fromkeys(
                thing for box in deciding for condition in self.conditions for thing in condition.witnesses(box, scene)
            )
        )
        return Judgement(self.number.judge(len(good), high), things, len(good), tuple(deciding))


@dataclass(frozen=True)
class Every:
    """ "All", "no" or "not all" things of a kind are of another kind too; at least one of them is visible."""

    quantifier: str
    kind: Kind
    predicate: Kind

    def judgement(self, scene: Scene) -> Judgement:
        matches = self.kind.among(scene.visible(), scene)
        good = self.predicate.among(matches, scene)
        against = good if self.quantifier == "no" else tuple(thing for thing in matches if thing not in good)
        if against:
            label = ENTAILMENT if self.quantifier == "not all" else CONTRADICTION
        elif scene.covered is not None:
            label = NEUTRAL
        else:
            label = CONTRADICTION if self.quantifier == "not all" else ENTAILMENT
        return Judgement(label, against or matches, len(matches))


@dataclass(frozen=True)
class Unanswerable:
    """Something that no image of this kind shows, such as what a square is made of."""

    kind: Kind
    quality: str

    def judgement(self, scene: Scene) -> Judgement:
        matches = self.kind.among(scene.visible(), scene)
        return Judgement(NEUTRAL, matches, len(matches))


Statement = Count | Boxes | Every | Unanswerable


KINDS = (
    ("all or none", r"\b(none|all|ll|every|each|both)\b"),
    ("sameness, colours of many", r"\b(same|different|colou?rs?|shapes?)\b"),
    (
        "relations",
        r"\b(above|over|on top of|on an?|below|bellow|under|underneath|beneath|between|stacked|attache?d?)\b",
    ),
    ("touching", r"\b(touch|touching|corner|wall|edge|side)\b"),
    ("base or top", r"\b(base|bottom|top|second|third|first|middle)\b"),
    ("several conditions", r"\b(box|boxes|tower|towers|square)\b.*\b(and|of which|including|but|,)\b"),
    ("boxes and towers", r"\b(box|boxes|tower|towers|gr[ae]y squares?)\b"),
    ("counting things", r"\b(blocks?|items?|objects?|squares?|circles?|triangles?)\b"),
)
OTHER = "other"
NAMES = (*(name for name, _ in KINDS), OTHER)


def kind_of(sentence: str) -> str:
    """One of `NAMES`: the first whose words the sentence has."""
    lower = sentence.lower()
    return next((name for name, words in KINDS if re.search(words, lower)), OTHER)
