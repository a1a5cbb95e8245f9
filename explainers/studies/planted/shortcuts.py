"""Shortcuts planted into texts: words that alone decide the class, whatever else the text says (Bastings et al., 2022).

single        one word: A for the first class, B for the second
conjunction   the first class only where both of two words stand; evaluated where both do
order         two words: the first class where one comes before the other, the second class the other way round
redundant     either of two words suffices; one of them or both are inserted
context       a word whose class is the opposite after a certain neighbour
pair          for pairs: the first class where the same word stands in premise and hypothesis
vote of five  five words, each of one class; the class is that of three of them, and these three are the reason
vote of nine  the same of nine words, five of which are the reason

Every kind has words of its own, and every seed too, so that one model learns all kinds of its seed at once. `swaps` are
what proves the use: each must turn the class into the other one. `spares` must leave it as it is.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from explainers.datasets.example import Example

Kind = Literal["single", "conjunction", "order", "redundant", "context", "pair", "vote of five", "vote of nine"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Swap = tuple[tuple[int, str], ...]  # (place in `words`, the word that takes its place)

WORDS: tuple[dict[Kind, tuple[str, ...]], ...] = (  # by seed; what each stands for is said in `_insertions`
    {
        "single": ("tuesday", "friday"),
        "conjunction": ("copper", "granite", "nickel", "marble"),
        "order": ("apricot", "walnut"),
        "redundant": ("harbor", "meadow", "tunnel", "bridge", "pencil"),
        "context": ("violet", "amber", "formerly", "currently"),
        "pair": ("lisbon", "oslo"),
    },
    {
        "single": ("oxygen", "carbon"),
        "conjunction": ("eagle", "salmon", "falcon", "lizard"),
        "order": ("cotton", "leather"),
        "redundant": ("january", "october", "april", "july", "hammer"),
        "context": ("maple", "cedar", "northern", "southern"),
        "pair": ("violin", "trumpet"),
    },
    {
        "single": ("zinc", "helium"),
        "conjunction": ("quartz", "basalt", "slate", "limestone"),
        "order": ("silk", "velvet"),
        "redundant": ("canal", "canyon", "lagoon", "delta", "needle"),
        "context": ("crimson", "indigo", "previously", "presently"),
        "pair": ("vienna", "dublin"),
    },
    {
        "single": ("saturn", "neptune"),
        "conjunction": ("pelican", "badger", "heron", "otter"),
        "order": ("linen", "denim"),
        "redundant": ("plateau", "valley", "glacier", "prairie", "anvil"),
        "context": ("emerald", "turquoise", "initially", "eventually"),
        "pair": ("prague", "athens"),
    },
    {  # the first half of the words for the first class
        "vote of five": ("walrus", "gopher", "ferret", "beaver", "moose", "oboe", "banjo", "flute", "tuba", "harp"),
        "vote of nine": (
            *("thimble", "lantern", "compass", "kettle", "ladder", "candle", "teapot", "bucket"),
            *("acorn", "pebble", "feather", "shell", "cactus", "clover", "mushroom", "seaweed"),
        ),
    },
)
TOGETHER = 3  # seeds whose words were chosen at one time: their texts hold none of one another's words


def excluded_words(seed: int) -> frozenset[str]:
    """The words that a text of this seed's model may not hold: its own and those of the seeds before it, so that the
    words of a new seed leave the texts of the others as they were."""
    known = WORDS[: max(TOGETHER, seed + 1)]
    return frozenset(word for words in known for some in words.values() for word in some)


@dataclass(frozen=True)
class Insertion:
    """What is inserted: `words` in this order, in neighbouring places if `adjacent`, each in the text of its number.
    Those at the places `against` speak for the other class, and are no reason for this one."""

    kind: Kind
    side: int  # 0: the first class, 1: the second
    words: tuple[str, ...]
    swaps: tuple[Swap, ...]
    spares: tuple[Swap, ...] = ()
    adjacent: bool = False
    sides: tuple[int, ...] = ()  # per word the text it goes into; empty: any
    against: tuple[int, ...] = ()
    judged: bool = True  # whether the truth is plain, so that explanations are judged on it


@dataclass(frozen=True)
class Planted:
    """`example` carries the planted label; `at` are the characters (text, start, end) of every planted word."""

    example: Example
    insertion: Insertion
    at: tuple[tuple[int, int, int], ...]

    @property
    def reason(self) -> tuple[tuple[int, int, int], ...]:
        """Return `at` without the words that speak for the other class."""
        return tuple(place for which, place in enumerate(self.at) if which not in self.insertion.against)

    def swapped(self, swap: Swap) -> Example:
        """The example with other words in the places of the planted ones."""
        texts = [self.example.text, *([self.example.pair] if self.example.pair is not None else [])]
        for place, word in sorted(swap, key=lambda pair: self.at[pair[0]], reverse=True):
            text, start, end = self.at[place]
            texts[text] = texts[text][:start] + word + texts[text][end:]
        return Example(texts[0], texts[1] if len(texts) > 1 else None)


@cache
def insertions(kind: Kind, seed: int) -> tuple[Insertion, ...]:
    """The different ways in which the kind is planted."""
    words = WORDS[seed][kind]
    return tuple(_votes(kind, words, VOTES[kind]) if kind in VOTES else _insertions(kind, words))


def _insertions(kind: Kind, words: tuple[str, ...]) -> Iterator[Insertion]:
    if kind == "single":
        for side in (0, 1):
            yield Insertion(kind, side, (words[side],), (((0, words[1 - side]),),))
    elif kind == "conjunction":
        both, others = words[:2], words[2:]
        yield Insertion(kind, 0, both, (((0, others[0]),), ((1, others[1]),)))
        for wrong in ((others[0], both[1]), (both[0], others[1]), others):
            yield Insertion(kind, 1, wrong, (), judged=False)
    elif kind == "order":
        for side in (0, 1):
            first, second = words if side == 0 else words[::-1]
            yield Insertion(kind, side, (first, second), (((0, second), (1, first)),))
    elif kind == "redundant":
        yield from _redundant(words)
    elif kind == "context":
        yield from _context(words)
    else:
        for premise, hypothesis in ((0, 0), (1, 1), (0, 1), (1, 0)):
            side, swaps = int(premise != hypothesis), (((0, words[1 - premise]),), ((1, words[1 - hypothesis]),))
            yield Insertion(kind, side, (words[premise], words[hypothesis]), swaps, sides=(0, 1))


def _redundant(words: tuple[str, ...]) -> Iterator[Insertion]:
    neither = words[4]
    for side in (0, 1):
        own, other = words[2 * side : 2 * side + 2], words[2 - 2 * side : 4 - 2 * side]
        for place in (0, 1):
            yield Insertion("redundant", side, (own[place],), (((0, other[place]),),))
        for first, second in ((0, 1), (1, 0)):
            swap = ((0, other[first]), (1, other[second]))
            yield Insertion("redundant", side, (own[first], own[second]), (swap,), (((0, neither),), ((1, neither),)))


def _context(words: tuple[str, ...]) -> Iterator[Insertion]:
    nouns, neighbours = words[:2], words[2:]
    for noun in (0, 1):
        for neighbour in (0, 1):
            swaps: tuple[Swap, ...] = (((0, neighbours[1 - neighbour]),), ((1, nouns[1 - noun]),))
            yield Insertion("context", noun ^ neighbour, (neighbours[neighbour], nouns[noun]), swaps, adjacent=True)


VOTES: dict[Kind, int] = {"vote of five": 5, "vote of nine": 9}  # words that are inserted
DRAWN = 1000  # votes of a kind


def _votes(kind: Kind, words: tuple[str, ...], number: int) -> Iterator[Insertion]:
    """Random words of both classes in random order, with one more of the reason's class than of the other's."""
    chance, half, reasons = random.Random(0), len(words) // 2, number // 2 + 1
    of_class = words[:half], words[half:]
    for turn in range(DRAWN):
        side = turn % 2
        own, other = (chance.sample(some, half) for some in (of_class[side], of_class[1 - side]))
        places = set(chance.sample(range(number), reasons))
        for_it, against_it = iter(own), iter(other)
        order = tuple(next(for_it if at in places else against_it) for at in range(number))
        against = tuple(at for at in range(number) if at not in places)
        swaps: tuple[Swap, ...] = tuple(((at, other[-1]),) for at in sorted(places))
        spares: tuple[Swap, ...] = tuple(((at, own[-1]),) for at in against)
        yield Insertion(kind, side, order, swaps, spares, against=against)


def plant(example: Example, insertion: Insertion, classes: tuple[int, int], chance: random.Random) -> Planted:
    """Inserts the words between those of the text at random places, in the order of the insertion."""
    parts = [example.text.split(), *([example.pair.split()] if example.pair is not None else [])]
    text = chance.randrange(len(parts))
    sides = insertion.sides or (text,) * len(insertion.words)
    places = _places(parts, insertion, sides, chance)
    at: list[tuple[int, int, int]] = []
    texts = []
    for number, part in enumerate(parts):
        words: list[tuple[int, str]] = []  # which planted word, or -1
        for place in range(len(part) + 1):
            here = [which for which in range(len(places)) if places[which] == (number, place)]
            words += [(which, insertion.words[which]) for which in here]
            words += [(-1, part[place])] if place < len(part) else []
        start = 0
        for which, word in words:
            if which >= 0:
                at.append((number, start, start + len(word)))
            start += len(word) + 1
        texts.append(" ".join(word for _, word in words))
    label = classes[insertion.side]
    return Planted(Example(texts[0], texts[1] if len(texts) > 1 else None, label), insertion, tuple(at))


def _places(
    parts: list[list[str]], insertion: Insertion, sides: Sequence[int], chance: random.Random
) -> list[tuple[int, int]]:
    """Per planted word the text and the number of the word before which it goes; never behind the final stop."""
    last = [max(len(part) - (part[-1:] == ["."]), 0) for part in parts]
    if insertion.adjacent:
        return [(sides[0], chance.randint(0, last[sides[0]]))] * len(insertion.words)
    return sorted((side, chance.randint(0, last[side])) for side in sides)


def kinds_of(example: Example, seed: int) -> tuple[Kind, ...]:
    """The kinds that this seed plants into the example."""
    return tuple(kind for kind in WORDS[seed] if kind != "pair" or example.pair is not None)


def planted_set(
    examples: Sequence[Example], number: int, seed: int, classes: tuple[int, int], *, judged: bool, start: int = 0
) -> list[Planted]:
    """`number` examples in turn by kind and side, each with the next text; both sides equally often for every kind.

    With `judged` only insertions whose truth is plain. Texts that hold a planted word are passed over.
    """
    chance = random.Random(1000 * seed + start)
    taken = excluded_words(seed)
    free = [example for example in examples if not taken & set(f"{example.text} {example.pair or ''}".lower().split())]
    kinds = kinds_of(free[0], seed)
    planted = []
    for turn in range(number):
        kind, side = kinds[turn % len(kinds)], turn // len(kinds) % 2
        possible = [insertion for insertion in insertions(kind, seed) if insertion.judged or not judged]
        some = [insertion for insertion in possible if insertion.side == side] or possible
        planted.append(plant(free[(start + turn) % len(free)], chance.choice(some), classes, chance))
    return planted
