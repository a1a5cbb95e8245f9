"""Why a statement is entailed, contradicted or neutral: one short sentence that is true of the scene."""

from explainers.datasets.scenes.conditions import CONTRADICTION, NEUTRAL, Condition, Has, Hues, Kind, Next, Number, Only
from explainers.datasets.scenes.statements import (
    Boxes,
    Count,
    Every,
    Judgement,
    Statement,
    Unanswerable,
)
from explainers.datasets.scenes.wording import NUMBERS
from explainers.datasets.scenes.world import BOXES, Scene, Thing

PLACES = {
    "wall": "touching a wall",
    "bottom": "touching the bottom",
    "top": "touching the top",
    "left": "touching the left wall",
    "right": "touching the right wall",
    "corner": "in a corner",
    "peak": "at the top of a tower",
}


def reason(statement: Statement, judgement: Judgement, scene: Scene) -> str:
    """Without a capital and a full stop, so that it can stand after "because"."""
    if isinstance(statement, Unanswerable):
        return f"the picture does not show what is {statement.quality}"
    observed = _observation(statement, judgement, scene)
    if judgement.label == NEUTRAL and scene.covered is not None:
        return f"the {BOXES[scene.covered]} box is covered and {observed}"
    return observed


def _observation(statement: Count | Boxes | Every, judgement: Judgement, scene: Scene) -> str:
    if isinstance(statement, Count):
        counted = things(statement.kind, judgement.count, scene.towers)
        return f"there {_be(judgement.count)} {counted}" if scene.covered is None else f"{counted} can be seen"
    if isinstance(statement, Every):
        return _every(statement, judgement, scene)
    noun = "tower" if scene.towers else "box"
    what = " and ".join(_condition(condition, scene.towers) for condition in statement.conditions)
    if statement.number == Number("exactly", 3) and judgement.label == CONTRADICTION and judgement.boxes:
        return f"the {BOXES[judgement.boxes[0]]} {noun} does not have {what}"
    if not judgement.count:
        return f"no {'visible ' * (scene.covered is not None)}{noun} has {what}"
    places = _listed([BOXES[box] for box in judgement.boxes] if judgement.boxes else list(BOXES))
    return f"the {places} {noun} has {what}" if judgement.count == 1 else f"the {places} {noun}s have {what}".replace(
        "boxs", "boxes"
    )  # fmt: skip


def _every(statement: Every, judgement: Judgement, scene: Scene) -> str:
    predicate, denied = statement.predicate, statement.quantifier == "no"
    against = [thing for thing in judgement.things if predicate.fits(thing, scene) == denied]
    what = location(predicate, scene.towers) or (
        "a " * bool(predicate.shape) + str(predicate.shape or predicate.colour or predicate.size)
    )
    if against:
        which = one(statement.kind, against[0], scene.towers)
        verb_phrase = f"{'is' if denied else 'is not'} {what}".replace("is not not", "is")
        return f"{which} in the {BOXES[against[0].box]} box {verb_phrase}"
    many = things(statement.kind, judgement.count, scene.towers)
    there = f"there {_be(judgement.count)} {many}" if scene.covered is None else f"{many} can be seen"
    return f"{there} and {'none is' if denied else 'each is'} {what}"


def things(kind: Kind, count: int, towers: bool) -> str:
    """ "two small blue squares touching the bottom"."""
    words = [NUMBERS[count] if count < len(NUMBERS) else str(count), kind.size, kind.colour]
    noun = (kind.shape or ("block" if towers else "item")) + "s" * (count != 1)
    return " ".join(word for word in (*words, noun, location(kind, towers)) if word)


def location(kind: Kind, towers: bool) -> str:
    if kind.location is None:
        return ""
    words = "at the base of a tower" if towers and kind.location == "bottom" else PLACES[kind.location]
    return f"{'not ' * kind.apart}{words}"


def one(kind: Kind, thing: Thing, towers: bool) -> str:
    """ "a blue block at the base of a tower": how it looks, and where it must be to count."""
    noun = "block" if towers else thing.shape
    return f"a {thing.colour} {noun} {location(kind, towers)}".strip()


def _condition(condition: Condition, towers: bool) -> str:
    if isinstance(condition, Has):
        kind, n = condition.kind, condition.number.n
        return f"{_bound(condition.number)}{things(kind, n, towers)}".replace(" of a tower", "")
    if isinstance(condition, Only):
        return "only " + things(condition.kind, 2, towers).removeprefix("two ")
    if isinstance(condition, Hues):
        return f"{_bound(condition.number)}{NUMBERS[condition.number.n]} colour{'s' * (condition.number.n != 1)}"
    if isinstance(condition, Next):
        names = [things(kind, 1, towers).replace("one ", "a ", 1) for kind in (condition.one, condition.other)]
        relation = condition.relation if condition.relation in ("above", "below") else f"to the {condition.relation} of"
        return f"{names[0]} {relation} {names[1]}"
    raise TypeError(condition)


def _bound(number: Number) -> str:
    return f"{number.how} " if number != Number("exactly", 0) else ""


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _listed(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
