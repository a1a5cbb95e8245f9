"""Why a statement is entailed, contradicted or open: one short sentence that is true of the scene."""

from explainers.datasets.scenes.statements import (
    CONTRADICTION,
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


def reason(statement: Statement, judged: Judged, scene: Scene) -> str:
    """Without a capital and a full stop, so that it can stand after "because"."""
    if isinstance(statement, Unsaid):
        return f"the picture does not show what is {statement.quality}"
    seen = _seen(statement, judged, scene)
    if judged.label == NEUTRAL and scene.covered is not None:
        return f"the {BOXES[scene.covered]} box is covered and {seen}"
    return seen


def _seen(statement: Count | Boxes | Every, judged: Judged, scene: Scene) -> str:
    if isinstance(statement, Count):
        found = things(statement.kind, judged.count, scene.towers)
        return f"there {_be(judged.count)} {found}" if scene.covered is None else f"{found} can be seen"
    if isinstance(statement, Every):
        return _every(statement, judged, scene)
    noun = "tower" if scene.towers else "box"
    what = " and ".join(_condition(each, scene.towers) for each in statement.conditions)
    if statement.number == Number("exactly", 3) and judged.label == CONTRADICTION and judged.boxes:
        return f"the {BOXES[judged.boxes[0]]} {noun} does not have {what}"
    if not judged.count:
        return f"no {'visible ' * (scene.covered is not None)}{noun} has {what}"
    places = _listed([BOXES[box] for box in judged.boxes] if judged.boxes else list(BOXES))
    return f"the {places} {noun} has {what}" if judged.count == 1 else f"the {places} {noun}s have {what}".replace(
        "boxs", "boxes"
    )  # fmt: skip


def _every(statement: Every, judged: Judged, scene: Scene) -> str:
    is_so, denied = statement.is_so, statement.quantifier == "no"
    against = [thing for thing in judged.things if is_so.fits(thing, scene) == denied]
    what = place(is_so, scene.towers) or ("a " * bool(is_so.shape) + str(is_so.shape or is_so.colour or is_so.size))
    if against:
        which = one(statement.kind, against[0], scene.towers)
        said = f"{'is' if denied else 'is not'} {what}".replace("is not not", "is")
        return f"{which} in the {BOXES[against[0].box]} box {said}"
    many = things(statement.kind, judged.count, scene.towers)
    there = f"there {_be(judged.count)} {many}" if scene.covered is None else f"{many} can be seen"
    return f"{there} and {'none is' if denied else 'each is'} {what}"


def things(kind: Kind, count: int, towers: bool) -> str:
    """ "two small blue squares touching the bottom"."""
    words = [NUMBERS[count] if count < len(NUMBERS) else str(count), kind.size, kind.colour]
    noun = (kind.shape or ("block" if towers else "item")) + "s" * (count != 1)
    return " ".join(word for word in (*words, noun, place(kind, towers)) if word)


def place(kind: Kind, towers: bool) -> str:
    if kind.place is None:
        return ""
    words = "at the base of a tower" if towers and kind.place == "bottom" else PLACES[kind.place]
    return f"{'not ' * kind.apart}{words}"


def one(kind: Kind, thing: Thing, towers: bool) -> str:
    """ "a blue block at the base of a tower": what is seen of it, and where it must be to count."""
    noun = "block" if towers else thing.shape
    return f"a {thing.colour} {noun} {place(kind, towers)}".strip()


def _condition(said: Condition, towers: bool) -> str:
    if isinstance(said, Has):
        kind, n = said.kind, said.number.n
        return f"{_bound(said.number)}{things(kind, n, towers)}".replace(" of a tower", "")
    if isinstance(said, Only):
        return "only " + things(said.kind, 2, towers).removeprefix("two ")
    if isinstance(said, Hues):
        return f"{_bound(said.number)}{NUMBERS[said.number.n]} colour{'s' * (said.number.n != 1)}"
    if isinstance(said, Next):
        names = [things(kind, 1, towers).replace("one ", "a ", 1) for kind in (said.one, said.other)]
        relation = said.relation if said.relation in ("above", "below") else f"to the {said.relation} of"
        return f"{names[0]} {relation} {names[1]}"
    raise TypeError(said)


def _bound(number: Number) -> str:
    return f"{number.how} " if number != Number("exactly", 0) else ""


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _listed(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
