"""Scenes with what is said about them, as many as one likes: the label is drawn first, then all else until it fits."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from explainers.datasets.example import Evidence, Example
from explainers.datasets.picture import Picture
from explainers.datasets.scenes.drawing import box_frame, drawn, frame
from explainers.datasets.scenes.reasons import reason
from explainers.datasets.scenes.statements import (
    NEUTRAL,
    Boxes,
    Condition,
    Count,
    Every,
    Has,
    Hues,
    Judged,
    Kind,
    Next,
    Number,
    Only,
    Statement,
    Unsaid,
)  # fmt: skip
from explainers.datasets.scenes.wording import Worded, worded
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES, Scene, Thing, scene

QUALITIES = (
    "made of wood", "made of glass", "made of metal", "heavier than the rest", "painted by a child",
    "older than the rest", "warm", "soft", "loud", "expensive", "magnetic", "broken inside",
)  # fmt: skip
WALLS = ("wall", "wall", "wall", "bottom", "bottom", "corner", "top", "left", "right")
TRIES = 30
Bank = Sequence[tuple[str, Statement]]  # statements that people wrote, with what they mean


@dataclass(frozen=True)
class Item:
    """One scene and one statement about it, with all that is known about them."""

    scene: Scene
    statement: Statement
    said: Worded
    judged: Judged

    @property
    def label(self) -> int:
        return self.judged.label

    @property
    def reason(self) -> str:
        return reason(self.statement, self.judged, self.scene)

    @property
    def evidence(self) -> Evidence:
        """The decisive words; the deciding things, and the cover where it keeps the answer open."""
        boxes = [frame(thing) for thing in self.judged.things]
        if self.label == NEUTRAL and self.scene.covered is not None and not isinstance(self.statement, Unsaid):
            boxes.append(box_frame(self.scene.covered))
        return Evidence(self.said.decisive, tuple(boxes))

    def example(self) -> Example:
        return Example(
            self.said.text,
            label=self.label,
            explanations=(self.reason,),
            picture=Picture.of(drawn(self.scene)),
            evidence=self.evidence,
        )


def items(seed: int, *, held_out: bool, bank: Bank = (), share: float = 0.0) -> Iterator[Item]:
    """Without end. `held_out` gives only sentences of the forms that training never sees, else only the others.

    With a `bank`, that `share` of the items says what people wrote.
    """
    chance = random.Random(seed)
    while True:
        label = chance.randrange(3)
        found = borrowed(chance, label, bank) if share and bank and chance.random() < share else item(chance, label)
        if found is not None and held_out:
            found = reworded(found, chance)
        if found is not None and (found.said.held_out == held_out or found.said.form == ""):
            yield found


def reworded(found: Item, chance: random.Random) -> Item:
    """In a form that training never sees, if one is found."""
    for _ in range(TRIES):
        if found.said.held_out:
            break
        found = replace(found, said=worded(found.statement, chance, towers=found.scene.towers))
    return found


def item(chance: random.Random, label: int) -> Item | None:
    """One with this label; None if the first scene leads nowhere."""
    towers = chance.random() < 0.5
    covered = label == NEUTRAL or chance.random() < 0.25
    if label == NEUTRAL and chance.random() < 0.15:
        seen = scene(chance, towers=towers, covered=chance.random() < 0.3)
        return _made(seen, Unsaid(_kind(chance, seen), chance.choice(QUALITIES)), chance)
    seen = scene(chance, towers=towers, covered=covered)
    for _ in range(TRIES):
        statement = _statement(chance, seen, label)
        if statement is not None and statement.judged(seen).label == label:
            return _made(seen, statement, chance)
    return None


def borrowed(chance: random.Random, label: int, bank: Bank) -> Item | None:
    """A statement of the bank with a scene in which it has this label."""
    text, statement = chance.choice(bank)
    towers = any(word in text.lower() for word in ("tower", "block", "roof")) or (
        chance.random() < 0.1 and "touching" not in text.lower()
    )
    for _ in range(TRIES):
        seen = scene(chance, towers=towers, covered=label == NEUTRAL or chance.random() < 0.1)
        judged = statement.judged(seen)
        if judged.label == label:
            return Item(seen, statement, Worded(text, (), ""), judged)
    return None


def _made(seen: Scene, statement: Statement, chance: random.Random) -> Item:
    return Item(seen, statement, worded(statement, chance, towers=seen.towers), statement.judged(seen))


def _statement(chance: random.Random, seen: Scene, label: int) -> Statement | None:
    roll = chance.random()
    if roll < 0.42:
        kind = _kind(chance, seen)
        count = len(kind.among(seen.visible(), seen))
        number = _number(chance, label, count, seen, most=6)
        return Count(kind, number) if number else None
    if roll < 0.86:
        conditions = _conditions(chance, seen)
        count = Boxes(conditions, Number("at least", 0)).judged(seen).count
        number = _number(chance, label, count, seen, most=3)
        return Boxes(conditions, number) if number else None
    return _every(chance, seen)


def _number(chance: random.Random, label: int, count: int, seen: Scene, *, most: int) -> Number | None:
    """A number near the count with which the statement gets its label."""
    high = count if seen.covered is None else (count + 1 if most == 3 else 99)
    near = range(max(0, count - 2), min(most, count + 2) + 1)
    ways = [Number(how, n) for n in near for how in ("exactly", "exactly", "at least", "at most")]
    fitting = [
        way
        for way in ways
        if way.judge(count, high) == label
        and (way.n > 0 or way.how == "exactly")
        and not (most == 3 and way.n == 3 and way.how != "exactly")
    ]
    return chance.choice(fitting) if fitting else None


def _kind(chance: random.Random, seen: Scene) -> Kind:
    """Mostly of something that can be seen."""
    model = chance.choice(seen.visible() or seen.things)
    if chance.random() < 0.25:
        model = Thing(chance.choice(SHAPES), chance.choice(COLOURS), chance.choice((10, 20, 30)), 0, 0, 0)
    if seen.towers:
        return Kind(model.colour, place=chance.choice((None, None, "bottom", "peak")))
    shape = model.shape if chance.random() < 0.7 else None
    colour = model.colour if shape is None or chance.random() < 0.7 else None
    size = next(name for name, side in SIZES.items() if side == model.size) if chance.random() < 0.15 else None
    place = chance.choice(WALLS) if chance.random() < 0.4 else None
    return Kind(colour, shape, size, place, apart=place == "wall" and chance.random() < 0.35)


def _conditions(chance: random.Random, seen: Scene) -> tuple[Condition, ...]:
    roll = chance.random()
    if roll < 0.14:
        return (Only(Kind(chance.choice(COLOURS), None if seen.towers or chance.random() < 0.8 else "square")),)
    if roll < 0.22:
        return (Hues(Number("exactly", chance.choice((1, 2, 3)))),)
    if roll < 0.42:
        return (_next(chance, seen),)
    if seen.towers and roll < 0.6:
        return (Has(Kind(), Number(chance.choice(("exactly", "exactly", "at least")), chance.choice((1, 2, 3, 4)))),)
    first = _has(chance, seen)
    if roll < 0.85 or seen.towers:
        return (first,)
    return first, _has(chance, seen)


def _has(chance: random.Random, seen: Scene) -> Has:
    kind = _kind(chance, seen)
    if kind.place is not None and seen.towers:
        return Has(kind, Number("at least", 1))
    how = chance.choice(("exactly", "at least"))
    return Has(kind, Number(how, chance.choice((1, 1, 1, 2, 2, 3) if how == "exactly" else (1, 1, 2))))


def _next(chance: random.Random, seen: Scene) -> Next:
    relations = ("above", "above", "below") if seen.towers else ("above", "below", "left", "right")
    one, other = (_plain(chance, seen) for _ in range(2))
    return Next(one, chance.choice(relations), other)


def _plain(chance: random.Random, seen: Scene) -> Kind:
    """A colour, and for scattered things mostly a shape."""
    model = chance.choice(seen.visible() or seen.things)
    colour = model.colour if chance.random() < 0.75 else chance.choice(COLOURS)
    return Kind(colour) if seen.towers else Kind(colour, model.shape if chance.random() < 0.8 else None)


def _every(chance: random.Random, seen: Scene) -> Every | None:
    quantifier = chance.choice(("all", "all", "no", "not all"))
    if seen.towers:
        kind, is_so = Kind(place=chance.choice(("bottom", "peak"))), Kind(chance.choice(COLOURS))
    else:
        model = chance.choice(seen.visible() or seen.things)
        kind = chance.choice((Kind(model.colour), Kind(shape=model.shape)))
        if chance.random() < 0.45:
            is_so = Kind(place=chance.choice(("wall", "wall", "bottom")))
        else:
            is_so = Kind(shape=model.shape) if kind.colour else Kind(model.colour)
    return Every(quantifier, kind, is_so) if len(kind.among(seen.visible(), seen)) > 1 else None
