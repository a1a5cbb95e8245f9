"""Random scenes with statements about them: first the label is drawn, then scene and statement until they fit."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from explainers.datasets.example import Evidence, Example, InputImage
from explainers.datasets.scenes import statements
from explainers.datasets.scenes.wording import WordedStatement, put_into_words, reason
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES, Scene, Thing, box_frame, draw, frame, random_scene

QUALITIES = (
    "made of wood", "made of glass", "made of metal", "heavier than the rest", "painted by a child",
    "older than the rest", "warm", "soft", "loud", "expensive", "magnetic", "broken inside",
)  # fmt: skip
WALLS = ("wall", "wall", "wall", "bottom", "bottom", "corner", "top", "left", "right")
TRIES = 30
Bank = Sequence[tuple[str, statements.Statement]]  # people's statements with their meaning


@dataclass(frozen=True)
class SceneItem:
    """One scene and one statement about it, with all that is known about the two."""

    scene: Scene
    statement: statements.Statement
    wording: WordedStatement
    judgement: statements.Judgement

    @property
    def label(self) -> int:
        return self.judgement.label

    @property
    def reason(self) -> str:
        return reason(self.statement, self.judgement, self.scene)

    @property
    def evidence(self) -> Evidence:
        """The decisive words; the deciding things, and the cover if it makes the label neutral."""
        boxes = [frame(thing) for thing in self.judgement.things]
        if (
            self.label == statements.NEUTRAL
            and self.scene.covered is not None
            and not isinstance(self.statement, statements.Unanswerable)
        ):
            boxes.append(box_frame(self.scene.covered))
        return Evidence(self.wording.decisive, tuple(boxes))

    def example(self) -> Example:
        return Example(
            self.wording.text,
            label=self.label,
            explanations=(self.reason,),
            image=InputImage.of(draw(self.scene)),
            evidence=self.evidence,
        )


def generate_items(seed: int, *, held_out: bool, bank: Bank = (), share: float = 0.0) -> Iterator[SceneItem]:
    """Without end. With `held_out` only sentences in the forms that are kept from training, otherwise only the others.

    A `share` of the items uses statements of the `bank`.
    """
    rng = random.Random(seed)
    while True:
        label = rng.randrange(3)
        item = borrowed_item(rng, label, bank) if share and bank and rng.random() < share else random_item(rng, label)
        if item is not None and held_out:
            item = reworded(item, rng)
        if item is not None and (item.wording.held_out == held_out or item.wording.form == ""):
            yield item


def reworded(item: SceneItem, rng: random.Random) -> SceneItem:
    """In a form that is kept from training, if `TRIES` attempts yield one."""
    for _ in range(TRIES):
        if item.wording.held_out:
            break
        item = replace(item, wording=put_into_words(item.statement, rng, towers=item.scene.towers))
    return item


def random_item(rng: random.Random, label: int) -> SceneItem | None:
    """An item with this label; None if no statement about the first scene gets it."""
    towers = rng.random() < 0.5
    covered = label == statements.NEUTRAL or rng.random() < 0.25
    if label == statements.NEUTRAL and rng.random() < 0.15:
        scene = random_scene(rng, towers=towers, covered=rng.random() < 0.3)
        return _item(scene, statements.Unanswerable(_kind(rng, scene), rng.choice(QUALITIES)), rng)
    scene = random_scene(rng, towers=towers, covered=covered)
    for _ in range(TRIES):
        statement = _statement(rng, scene, label)
        if statement is not None and statement.judgement(scene).label == label:
            return _item(scene, statement, rng)
    return None


def borrowed_item(rng: random.Random, label: int, bank: Bank) -> SceneItem | None:
    """A statement of the bank with a scene in which it has this label."""
    text, statement = rng.choice(bank)
    towers = any(word in text.lower() for word in ("tower", "block", "roof")) or (
        rng.random() < 0.1 and "touching" not in text.lower()
    )
    for _ in range(TRIES):
        scene = random_scene(rng, towers=towers, covered=label == statements.NEUTRAL or rng.random() < 0.1)
        judgement = statement.judgement(scene)
        if judgement.label == label:
            return SceneItem(scene, statement, WordedStatement(text, (), ""), judgement)
    return None


def _item(scene: Scene, statement: statements.Statement, rng: random.Random) -> SceneItem:
    return SceneItem(scene, statement, put_into_words(statement, rng, towers=scene.towers), statement.judgement(scene))


def _statement(rng: random.Random, scene: Scene, label: int) -> statements.Statement | None:
    roll = rng.random()
    if roll < 0.42:
        kind = _kind(rng, scene)
        count = len(kind.among(scene.visible(), scene))
        number = _number(rng, label, count, scene, most=6)
        return statements.Count(kind, number) if number else None
    if roll < 0.86:
        conditions = _conditions(rng, scene)
        count = statements.Boxes(conditions, statements.Number("at least", 0)).judgement(scene).count
        number = _number(rng, label, count, scene, most=3)
        return statements.Boxes(conditions, number) if number else None
    return _every(rng, scene)


def _number(rng: random.Random, label: int, count: int, scene: Scene, *, most: int) -> statements.Number | None:
    """A number near the count with which the statement gets its label."""
    high = count if scene.covered is None else (count + 1 if most == 3 else 99)
    near = range(max(0, count - 2), min(most, count + 2) + 1)
    ways = [statements.Number(how, n) for n in near for how in ("exactly", "exactly", "at least", "at most")]
    fitting = [
        way
        for way in ways
        if way.judge(count, high) == label
        and (way.n > 0 or way.how == "exactly")
        and not (most == 3 and way.n == 3 and way.how != "exactly")
    ]
    return rng.choice(fitting) if fitting else None


def _kind(rng: random.Random, scene: Scene) -> statements.Kind:
    """Mostly the kind of something visible."""
    model = rng.choice(scene.visible() or scene.things)
    if rng.random() < 0.25:
        model = Thing(rng.choice(SHAPES), rng.choice(COLOURS), rng.choice((10, 20, 30)), 0, 0, 0)
    if scene.towers:
        return statements.Kind(model.colour, location=rng.choice((None, None, "bottom", "peak")))
    shape = model.shape if rng.random() < 0.7 else None
    colour = model.colour if shape is None or rng.random() < 0.7 else None
    size = next(name for name, side in SIZES.items() if side == model.size) if rng.random() < 0.15 else None
    location = rng.choice(WALLS) if rng.random() < 0.4 else None
    return statements.Kind(colour, shape, size, location, apart=location == "wall" and rng.random() < 0.35)


def _conditions(rng: random.Random, scene: Scene) -> tuple[statements.Condition, ...]:
    roll = rng.random()
    if roll < 0.14:
        return (
            statements.Only(
                statements.Kind(rng.choice(COLOURS), None if scene.towers or rng.random() < 0.8 else "square")
            ),
        )
    if roll < 0.22:
        return (statements.Hues(statements.Number("exactly", rng.choice((1, 2, 3)))),)
    if roll < 0.42:
        return (_next(rng, scene),)
    if scene.towers and roll < 0.6:
        return (
            statements.Has(
                statements.Kind(),
                statements.Number(rng.choice(("exactly", "exactly", "at least")), rng.choice((1, 2, 3, 4))),
            ),
        )
    first = _has(rng, scene)
    if roll < 0.85 or scene.towers:
        return (first,)
    return first, _has(rng, scene)


def _has(rng: random.Random, scene: Scene) -> statements.Has:
    kind = _kind(rng, scene)
    if kind.location is not None and scene.towers:
        return statements.Has(kind, statements.Number("at least", 1))
    how = rng.choice(("exactly", "at least"))
    return statements.Has(
        kind, statements.Number(how, rng.choice((1, 1, 1, 2, 2, 3) if how == "exactly" else (1, 1, 2)))
    )


def _next(rng: random.Random, scene: Scene) -> statements.Next:
    relations = ("above", "above", "below") if scene.towers else ("above", "below", "left", "right")
    one, other = (_plain(rng, scene) for _ in range(2))
    return statements.Next(one, rng.choice(relations), other)


def _plain(rng: random.Random, scene: Scene) -> statements.Kind:
    """A colour, and for scattered things mostly a shape."""
    model = rng.choice(scene.visible() or scene.things)
    colour = model.colour if rng.random() < 0.75 else rng.choice(COLOURS)
    return (
        statements.Kind(colour)
        if scene.towers
        else statements.Kind(colour, model.shape if rng.random() < 0.8 else None)
    )


def _every(rng: random.Random, scene: Scene) -> statements.Every | None:
    quantifier = rng.choice(("all", "all", "no", "not all"))
    if scene.towers:
        kind, predicate = statements.Kind(location=rng.choice(("bottom", "peak"))), statements.Kind(rng.choice(COLOURS))
    else:
        model = rng.choice(scene.visible() or scene.things)
        kind = rng.choice((statements.Kind(model.colour), statements.Kind(shape=model.shape)))
        if rng.random() < 0.45:
            predicate = statements.Kind(location=rng.choice(("wall", "wall", "bottom")))
        else:
            predicate = statements.Kind(shape=model.shape) if kind.colour else statements.Kind(model.colour)
    return statements.Every(quantifier, kind, predicate) if len(kind.among(scene.visible(), scene)) > 1 else None
