"""Phrasing a statement in one of many ways, and why it is entailed, contradicted or neutral in one short sentence.

Words on which the truth of a statement depends are in [brackets] until the end.
"""

import random
import re
import zlib
from dataclasses import dataclass, replace

from explainers.datasets.scenes import statements
from explainers.datasets.scenes.world import BOXES, COLOURS, SHAPES, SIZES, Scene, Thing

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
CONTENT = re.compile(rf"\b(?:{'|'.join((*COLOURS, *SIZES, 'large', *NUMBERS[1:]))}|(?:{'|'.join(SHAPES)})s?|\d)\b")
HELD_OUT = 8  # one form of sentence in eight is kept for the test

PLACES = {
    "wall": "touching a wall",
    "bottom": "touching the bottom",
    "top": "touching the top",
    "left": "touching the left wall",
    "right": "touching the right wall",
    "corner": "in a corner",
    "peak": "at the top of a tower",
}


@dataclass(frozen=True)
class WordedStatement:
    """`decisive` are the character spans of the words on which the truth depends; `form` is the sentence without its
    numbers, colours, shapes and sizes."""

    text: str
    decisive: tuple[tuple[int, int], ...]
    form: str

    @property
    def held_out(self) -> bool:
        return zlib.crc32(self.form.encode()) % HELD_OUT == 0


def put_into_words(statement: statements.Statement, rng: random.Random, *, towers: bool) -> WordedStatement:
    phrasing = Phrasing(rng, towers)
    match statement:
        case statements.Count():
            marked = phrasing.count(statement)
        case statements.Boxes():
            marked = phrasing.boxes(statement)
        case statements.Every():
            marked = phrasing.every(statement)
        case statements.Unanswerable():
            marked = phrasing.unanswerable(statement)
    marked = marked[0].upper() + marked[1:] if rng.random() < 0.7 else marked
    return finished(marked + ("." if rng.random() < 0.6 else ""))


def finished(marked: str) -> WordedStatement:
    """Removes the brackets and keeps the spans of the words in them."""
    text, spans, opened = "", [], 0
    for piece in re.split(r"([\[\]])", marked):
        if piece == "[":
            opened = len(text)
        elif piece == "]":
            spans += [(opened + word.start(), opened + word.end()) for word in re.finditer(r"\S+", text[opened:])]
        else:
            text += piece
    form = CONTENT.sub("*", text.lower().rstrip("."))
    return WordedStatement(text, tuple(spans), re.sub(r"\b(item|object|block)s\b", r"\1", form))


def article(noun: str) -> str:
    """ "an object"."""
    return f"a{'n' * (noun.lstrip('[')[0] in 'aeiou')} {noun}"


@dataclass(frozen=True)
class Phrasing:
    """One phrasing, chosen by `rng`."""

    rng: random.Random
    towers: bool

    def any(self, *ways: str) -> str:
        return self.rng.choice(ways)

    def figure(self, n: int) -> str:
        return NUMBERS[n] if self.rng.random() < 0.6 else str(n)

    def number(self, number: statements.Number) -> tuple[str, bool]:
        """The words before a noun, and whether the noun is in the plural."""
        n = number.n
        if number == statements.Number("exactly", 0):
            return "[no]", self.rng.random() < 0.5
        if number == statements.Number("at least", 1) and self.rng.random() < 0.7:
            return "a", False
        if number.how == "exactly":
            way = self.any("exactly {}", "exactly {}", "{}", "{}", "only {}")
        elif number.how == "at least":
            way = self.any("at least {}", "at least {}", "{} or more", "no fewer than {}", "atleast {}")
            if n > 1 and self.rng.random() < 0.2:
                return f"[more than {self.figure(n - 1)}]", n > 2
        else:
            way = self.any("at most {}", "at most {}", "no more than {}", "{} or fewer")
            if self.rng.random() < 0.2:
                return f"[{self.any('fewer', 'less')} than {self.figure(n + 1)}]", True
        return f"[{way.format(self.figure(n))}]", n != 1 or " or " in way

    def noun(self, kind: statements.Kind, plural: bool) -> str:
        """ "[small] [blue] [squares]"."""
        sizes = {"big": ("big", "large"), "medium": ("medium", "medium sized"), "small": ("small",)}
        size = f"[{self.any(*sizes[kind.size])}] " if kind.size else ""
        colour = f"[{kind.colour}] " if kind.colour else ""
        bare = self.any("block", "block", "block", "square") if self.towers else self.any("item", "object")
        return f"{size}{colour}" + (f"[{kind.shape}{'s' * plural}]" if kind.shape else bare + "s" * plural)

    def location(self, kind: statements.Kind) -> str:
        """ " [touching] the [wall]"; empty if they may be anywhere."""
        if kind.location is None:
            return ""
        if self.towers:
            end = {"bottom": "base", "peak": "top"}[kind.location]
            return " " + self.any(f"at the [{end}]", f"as the [{end}]", f"at the [{end}] of a tower", f"on the [{end}]")
        touching = f"{'[not] ' if kind.apart else ''}{'closely ' if self.rng.random() < 0.2 else ''}[touching] "
        walls = {
            "wall": ("the [wall]", "the [edge]", "any [edge]", "a [wall]", "an [edge]", "a [side] of its box"),
            "bottom": ("the [base]", "the [bottom]", "the [bottom] of a box"),
            "top": ("the [top]", "the [top] of a box"),
            "left": ("the [left] [wall]", "the [left] [side]", "the [left] [edge]"),
            "right": ("the [right] [wall]", "the [right] [side]", "the [right] [edge]"),
            "corner": ("a [corner]", "a [corner] of a box", "a [corner] of its box"),
        }
        return f" {touching}{self.any(*walls[kind.location])}"

    def things(self, kind: statements.Kind, number: statements.Number) -> tuple[str, str, bool]:
        """How many of what, where, and whether it is more than one: "[two] [blue] [squares]", " in a [corner]"."""
        many, plural = self.number(number)
        noun = self.noun(kind, plural)
        return article(noun) if many == "a" else f"{many} {noun}", self.location(kind), plural

    def count(self, statement: statements.Count) -> str:
        what, where, plural = self.things(statement.kind, statement.number)
        be = "are" if plural else "is"
        if where and not where.startswith(" as ") and self.rng.random() < 0.4:
            return f"{what} {be}{where}"
        if where and self.rng.random() < 0.2:
            where = f" that {be}{where}"
        return self.any(
            f"there {be} {what}{where}",
            f"there {be} {what}{where}",
            f"there {be} {what}{where} in the picture",
            f"the picture shows {what}{where}",
            f"one can see {what}{where}",
            f"we see {what}{where}",
            f"in total there {be} {what}{where}",
            f"the boxes hold {what}{where}",
        )

    def boxes(self, statement: statements.Boxes) -> str:
        one, many = ("tower", "towers") if self.towers else ("box", "boxes")
        if (
            isinstance(statement.conditions[0], statements.Next)
            and statement.number == statements.Number("at least", 1)
            and self.rng.random() < 0.6
        ):
            return self.any("there is {}", "there is {} in the picture", "one can see {}").format(
                self.condition(statement.conditions[0])
            )
        what = " and ".join(map(self.condition, statement.conditions))
        if statement.number == statements.Number("exactly", 3):
            return self.any(
                f"[each] {one} has {what}",
                f"[every] {one} contains {what}",
                f"[all] {many} have {what}",
                f"[all] [3] {many} have {what}",
                f"[all] of the {many} contain {what}",
                *([f"there is {what} in [each] {one}"] if what.startswith("a") else ()),
            )
        if statement.number == statements.Number("exactly", 0):
            return self.any(
                f"[no] {one} has {what}", f"there is [no] {one} with {what}", f"[none] of the {many} has {what}"
            )
        number, plural = self.number(statement.number)
        noun, be, have, contain = (many, "are", "have", "contain") if plural else (one, "is", "has", "contains")
        ways = [
            f"there {be} {number} {noun} with {what}",
            f"there {be} {number} {noun} with {what}",
            f"there {be} {number} {noun} that {have} {what}",
            f"there {be} {number} {noun} which {contain} {what}",
            f"{number} {noun} {have} {what}",
        ]
        return self.any(*ways, *([] if number == "a" else [f"{number} of the {many} {have} {what}"]))

    def condition(self, condition: statements.Condition) -> str:
        if isinstance(condition, statements.Has):
            if self.towers and condition.kind.location and condition.kind.colour and self.rng.random() < 0.3:
                return f"a [{condition.kind.colour}] [{'base' if condition.kind.location == 'bottom' else 'top'}]"
            what, where, _ = self.things(condition.kind, condition.number)
            return what + where.replace(" of a tower", "").replace(" of a box", "")
        if isinstance(condition, statements.Only):
            return f"[only] {self.noun(condition.kind, True)}"
        if isinstance(condition, statements.Hues):
            number, plural = self.number(condition.number)
            different = self.any("", "[different] ")
            return f"{self.noun(statements.Kind(), True)} of {number} {different}[colour{'s' * plural}]"
        if isinstance(condition, statements.Next):
            return self.pair(condition)
        raise TypeError(f"There are no words for {condition}.")

    def pair(self, condition: statements.Next) -> str:
        one, other = (article(self.noun(kind, False)) for kind in (condition.one, condition.other))
        ways = {
            "above": ("[above]", "[over]", "[on] [top] of") if self.towers else ("[above]", "[higher] than"),
            "below": ("[below]", "[under]", "[beneath]") if self.towers else ("[below]", "[lower] than"),
            "left": ("to the [left] of", "[left] of"),
            "right": ("to the [right] of", "[right] of"),
        }
        return f"{one} {self.any(*ways[condition.relation])} {other}"

    def every(self, statement: statements.Every) -> str:
        one, many = self.noun(statement.kind, False), self.noun(statement.kind, True)
        if statement.predicate.location:
            is_one = is_many = self.location(statement.predicate).strip()
        elif statement.predicate.shape:
            is_one, is_many = f"a [{statement.predicate.shape}]", f"[{statement.predicate.shape}s]"
        else:
            is_one = is_many = f"[{statement.predicate.colour or statement.predicate.size}]"
        if statement.quantifier == "all":
            return self.any(
                f"[all] {many} are {is_many}", f"[all] the {many} are {is_many}", f"[every] {one} is {is_one}",
                f"[each] {one} is {is_one}", f"[all] of the {many} are {is_many}",
            )  # fmt: skip
        if statement.quantifier == "no":
            return self.any(
                f"[no] {one} is {is_one}", f"[none] of the {many} are {is_many}", f"[none] of the {many} is {is_one}"
            )
        return self.any(f"[not] [all] {many} are {is_many}", f"[not] [every] {one} is {is_one}")

    def unanswerable(self, statement: statements.Unanswerable) -> str:
        one, many = self.noun(statement.kind, False), self.noun(replace(statement.kind, location=None), True)
        return self.any(
            f"there is {article(one)} that is [{statement.quality}]",
            f"the {one} is [{statement.quality}]",
            f"the {many} are [{statement.quality}]",
            f"[all] {many} are [{statement.quality}]",
        )


def reason(statement: statements.Statement, judgement: statements.Judgement, scene: Scene) -> str:
    """Without a capital and a full stop, so that it can stand after "because"."""
    if isinstance(statement, statements.Unanswerable):
        return f"the picture does not show what is {statement.quality}"
    observed = _observation(statement, judgement, scene)
    if judgement.label == statements.NEUTRAL and scene.covered is not None:
        return f"the {BOXES[scene.covered]} box is covered and {observed}"
    return observed


def _observation(
    statement: statements.Count | statements.Boxes | statements.Every, judgement: statements.Judgement, scene: Scene
) -> str:
    if isinstance(statement, statements.Count):
        counted = things(statement.kind, judgement.count, scene.towers)
        return f"there {_be(judgement.count)} {counted}" if scene.covered is None else f"{counted} can be seen"
    if isinstance(statement, statements.Every):
        return _every(statement, judgement, scene)
    noun = "tower" if scene.towers else "box"
    what = " and ".join(_condition(condition, scene.towers) for condition in statement.conditions)
    if (
        statement.number == statements.Number("exactly", 3)
        and judgement.label == statements.CONTRADICTION
        and judgement.boxes
    ):
        return f"the {BOXES[judgement.boxes[0]]} {noun} does not have {what}"
    if not judgement.count:
        return f"no {'visible ' * (scene.covered is not None)}{noun} has {what}"
    places = _listed([BOXES[box] for box in judgement.boxes] if judgement.boxes else list(BOXES))
    return f"the {places} {noun} has {what}" if judgement.count == 1 else f"the {places} {noun}s have {what}".replace(
        "boxs", "boxes"
    )  # fmt: skip


def _every(statement: statements.Every, judgement: statements.Judgement, scene: Scene) -> str:
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


def things(kind: statements.Kind, count: int, towers: bool) -> str:
    """ "two small blue squares touching the bottom"."""
    words = [NUMBERS[count] if count < len(NUMBERS) else str(count), kind.size, kind.colour]
    noun = (kind.shape or ("block" if towers else "item")) + "s" * (count != 1)
    return " ".join(word for word in (*words, noun, location(kind, towers)) if word)


def location(kind: statements.Kind, towers: bool) -> str:
    if kind.location is None:
        return ""
    words = "at the base of a tower" if towers and kind.location == "bottom" else PLACES[kind.location]
    return f"{'not ' * kind.apart}{words}"


def one(kind: statements.Kind, thing: Thing, towers: bool) -> str:
    """ "a blue block at the base of a tower": how it looks, and where it must be to count."""
    noun = "block" if towers else thing.shape
    return f"a {thing.colour} {noun} {location(kind, towers)}".strip()


def _condition(condition: statements.Condition, towers: bool) -> str:
    if isinstance(condition, statements.Has):
        kind, n = condition.kind, condition.number.n
        return f"{_bound(condition.number)}{things(kind, n, towers)}".replace(" of a tower", "")
    if isinstance(condition, statements.Only):
        return "only " + things(condition.kind, 2, towers).removeprefix("two ")
    if isinstance(condition, statements.Hues):
        return f"{_bound(condition.number)}{NUMBERS[condition.number.n]} colour{'s' * (condition.number.n != 1)}"
    if isinstance(condition, statements.Next):
        names = [things(kind, 1, towers).replace("one ", "a ", 1) for kind in (condition.one, condition.other)]
        relation = condition.relation if condition.relation in ("above", "below") else f"to the {condition.relation} of"
        return f"{names[0]} {relation} {names[1]}"
    raise TypeError(condition)


def _bound(number: statements.Number) -> str:
    return f"{number.how} " if number != statements.Number("exactly", 0) else ""


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _listed(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
