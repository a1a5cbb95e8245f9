"""Saying a statement in one of many ways. Words on which the truth depends are in [brackets] until the end."""

import random
import re
import zlib
from dataclasses import dataclass, replace

from explainers.datasets.scenes.statements import (
    Boxes,
    Condition,
    Count,
    Every,
    Has,
    Hues,
    Kind,
    Next,
    Number,
    Only,
    Statement,
    Unsaid,
)  # fmt: skip
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIZES

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
CONTENT = re.compile(rf"\b(?:{'|'.join((*COLOURS, *SIZES, 'large', *NUMBERS[1:]))}|(?:{'|'.join(SHAPES)})s?|\d)\b")
HELD_OUT = 8  # one form of sentence in so many is kept for the test


@dataclass(frozen=True)
class Worded:
    """`decisive` are spans of characters of the words on which the truth depends; `form` is the sentence without its
    numbers, colours, shapes and sizes."""

    text: str
    decisive: tuple[tuple[int, int], ...]
    form: str

    @property
    def held_out(self) -> bool:
        return zlib.crc32(self.form.encode()) % HELD_OUT == 0


def worded(statement: Statement, chance: random.Random, *, towers: bool) -> Worded:
    say = Saying(chance, towers)
    match statement:
        case Count():
            marked = say.count(statement)
        case Boxes():
            marked = say.boxes(statement)
        case Every():
            marked = say.every(statement)
        case Unsaid():
            marked = say.unsaid(statement)
    marked = marked[0].upper() + marked[1:] if chance.random() < 0.7 else marked
    return finished(marked + ("." if chance.random() < 0.6 else ""))


def finished(marked: str) -> Worded:
    """Takes the brackets out and remembers where their words were."""
    text, spans, opened = "", [], 0
    for piece in re.split(r"([\[\]])", marked):
        if piece == "[":
            opened = len(text)
        elif piece == "]":
            spans += [(opened + found.start(), opened + found.end()) for found in re.finditer(r"\S+", text[opened:])]
        else:
            text += piece
    form = CONTENT.sub("*", text.lower().rstrip("."))
    return Worded(text, tuple(spans), re.sub(r"\b(item|object|block)s\b", r"\1", form))


def article(noun: str) -> str:
    """ "an object"."""
    return f"a{'n' * (noun.lstrip('[')[0] in 'aeiou')} {noun}"


@dataclass(frozen=True)
class Saying:
    """One way of saying it, drawn by `chance`."""

    chance: random.Random
    towers: bool

    def any(self, *ways: str) -> str:
        return self.chance.choice(ways)

    def figure(self, n: int) -> str:
        return NUMBERS[n] if self.chance.random() < 0.6 else str(n)

    def number(self, number: Number) -> tuple[str, bool]:
        """The words before a noun, and whether the noun is in the plural."""
        n = number.n
        if number == Number("exactly", 0):
            return "[no]", self.chance.random() < 0.5
        if number == Number("at least", 1) and self.chance.random() < 0.7:
            return "a", False
        if number.how == "exactly":
            way = self.any("exactly {}", "exactly {}", "{}", "{}", "only {}")
        elif number.how == "at least":
            way = self.any("at least {}", "at least {}", "{} or more", "no fewer than {}", "atleast {}")
            if n > 1 and self.chance.random() < 0.2:
                return f"[more than {self.figure(n - 1)}]", n > 2
        else:
            way = self.any("at most {}", "at most {}", "no more than {}", "{} or fewer")
            if self.chance.random() < 0.2:
                return f"[{self.any('fewer', 'less')} than {self.figure(n + 1)}]", True
        return f"[{way.format(self.figure(n))}]", n != 1 or " or " in way

    def noun(self, kind: Kind, plural: bool) -> str:
        """ "[small] [blue] [squares]"."""
        sizes = {"big": ("big", "large"), "medium": ("medium", "medium sized"), "small": ("small",)}
        size = f"[{self.any(*sizes[kind.size])}] " if kind.size else ""
        colour = f"[{kind.colour}] " if kind.colour else ""
        bare = self.any("block", "block", "block", "square") if self.towers else self.any("item", "object")
        return f"{size}{colour}" + (f"[{kind.shape}{'s' * plural}]" if kind.shape else bare + "s" * plural)

    def place(self, kind: Kind) -> str:
        """ " [touching] the [wall]"; nothing for things anywhere."""
        if kind.place is None:
            return ""
        if self.towers:
            end = {"bottom": "base", "peak": "top"}[kind.place]
            return " " + self.any(f"at the [{end}]", f"as the [{end}]", f"at the [{end}] of a tower", f"on the [{end}]")
        touching = f"{'[not] ' if kind.apart else ''}{'closely ' if self.chance.random() < 0.2 else ''}[touching] "
        walls = {
            "wall": ("the [wall]", "the [edge]", "any [edge]", "a [wall]", "an [edge]", "a [side] of its box"),
            "bottom": ("the [base]", "the [bottom]", "the [bottom] of a box"),
            "top": ("the [top]", "the [top] of a box"),
            "left": ("the [left] [wall]", "the [left] [side]", "the [left] [edge]"),
            "right": ("the [right] [wall]", "the [right] [side]", "the [right] [edge]"),
            "corner": ("a [corner]", "a [corner] of a box", "a [corner] of its box"),
        }
        return f" {touching}{self.any(*walls[kind.place])}"

    def things(self, kind: Kind, number: Number) -> tuple[str, str, bool]:
        """How many of what, where, and whether it is more than one: "[two] [blue] [squares]", " in a [corner]"."""
        many, plural = self.number(number)
        noun = self.noun(kind, plural)
        return article(noun) if many == "a" else f"{many} {noun}", self.place(kind), plural

    def count(self, said: Count) -> str:
        what, where, plural = self.things(said.kind, said.number)
        be = "are" if plural else "is"
        if where and not where.startswith(" as ") and self.chance.random() < 0.4:
            return f"{what} {be}{where}"
        if where and self.chance.random() < 0.2:
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

    def boxes(self, said: Boxes) -> str:
        one, many = ("tower", "towers") if self.towers else ("box", "boxes")
        if isinstance(said.conditions[0], Next) and said.number == Number("at least", 1) and self.chance.random() < 0.6:
            return self.any("there is {}", "there is {} in the picture", "one can see {}").format(
                self.condition(said.conditions[0])
            )
        what = " and ".join(map(self.condition, said.conditions))
        if said.number == Number("exactly", 3):
            return self.any(
                f"[each] {one} has {what}",
                f"[every] {one} contains {what}",
                f"[all] {many} have {what}",
                f"[all] [3] {many} have {what}",
                f"[all] of the {many} contain {what}",
                *([f"there is {what} in [each] {one}"] if what.startswith("a") else ()),
            )
        if said.number == Number("exactly", 0):
            return self.any(
                f"[no] {one} has {what}", f"there is [no] {one} with {what}", f"[none] of the {many} has {what}"
            )
        number, plural = self.number(said.number)
        noun, be, have, contain = (many, "are", "have", "contain") if plural else (one, "is", "has", "contains")
        ways = [
            f"there {be} {number} {noun} with {what}",
            f"there {be} {number} {noun} with {what}",
            f"there {be} {number} {noun} that {have} {what}",
            f"there {be} {number} {noun} which {contain} {what}",
            f"{number} {noun} {have} {what}",
        ]
        return self.any(*ways, *([] if number == "a" else [f"{number} of the {many} {have} {what}"]))

    def condition(self, said: Condition) -> str:
        if isinstance(said, Has):
            if self.towers and said.kind.place and said.kind.colour and self.chance.random() < 0.3:
                return f"a [{said.kind.colour}] [{'base' if said.kind.place == 'bottom' else 'top'}]"
            what, where, _ = self.things(said.kind, said.number)
            return what + where.replace(" of a tower", "").replace(" of a box", "")
        if isinstance(said, Only):
            return f"[only] {self.noun(said.kind, True)}"
        if isinstance(said, Hues):
            number, plural = self.number(said.number)
            different = self.any("", "[different] ")
            return f"{self.noun(Kind(), True)} of {number} {different}[colour{'s' * plural}]"
        if isinstance(said, Next):
            return self.pair(said)
        raise TypeError(f"There are no words for {said}.")

    def pair(self, said: Next) -> str:
        one, other = (article(self.noun(kind, False)) for kind in (said.one, said.other))
        ways = {
            "above": ("[above]", "[over]", "[on] [top] of") if self.towers else ("[above]", "[higher] than"),
            "below": ("[below]", "[under]", "[beneath]") if self.towers else ("[below]", "[lower] than"),
            "left": ("to the [left] of", "[left] of"),
            "right": ("to the [right] of", "[right] of"),
        }
        return f"{one} {self.any(*ways[said.relation])} {other}"

    def every(self, said: Every) -> str:
        one, many = self.noun(said.kind, False), self.noun(said.kind, True)
        if said.is_so.place:
            is_one = is_many = self.place(said.is_so).strip()
        elif said.is_so.shape:
            is_one, is_many = f"a [{said.is_so.shape}]", f"[{said.is_so.shape}s]"
        else:
            is_one = is_many = f"[{said.is_so.colour or said.is_so.size}]"
        if said.quantifier == "all":
            return self.any(
                f"[all] {many} are {is_many}", f"[all] the {many} are {is_many}", f"[every] {one} is {is_one}",
                f"[each] {one} is {is_one}", f"[all] of the {many} are {is_many}",
            )  # fmt: skip
        if said.quantifier == "no":
            return self.any(
                f"[no] {one} is {is_one}", f"[none] of the {many} are {is_many}", f"[none] of the {many} is {is_one}"
            )
        return self.any(f"[not] [all] {many} are {is_many}", f"[not] [every] {one} is {is_one}")

    def unsaid(self, said: Unsaid) -> str:
        one, many = self.noun(said.kind, False), self.noun(replace(said.kind, place=None), True)
        return self.any(
            f"there is {article(one)} that is [{said.quality}]",
            f"the {one} is [{said.quality}]",
            f"the {many} are [{said.quality}]",
            f"[all] {many} are [{said.quality}]",
        )
