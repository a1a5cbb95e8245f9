"""Parsing reasons: the inverse of `reasons.py`, from a generated sentence to the claim it makes about an image.

Only the generator's own forms are parsed, in the singular or the plural. A plain number means "exactly".
"""

import re

from explainers.datasets.scenes.conditions import Condition, Has, Hues, Kind, Next, Number, Only
from explainers.datasets.scenes.reason_claims import BoxesClaim, CountClaim, QualityClaim, Reason, ThingClaim
from explainers.datasets.scenes.reasons import PLACES
from explainers.datasets.scenes.wording import NUMBERS
from explainers.datasets.scenes.world import BOXES, COLOURS, SHAPES, SIZES

AT_LEAST_ONE = Number("at least", 1)
LOCATIONS = {words: name for name, words in PLACES.items()} | {
    "at the base of a tower": "bottom",
    "at the base": "bottom",
    "at the top": "peak",
}


def parse_reason(reason: str) -> Reason | None:
    """None if it has none of the generator's forms."""
    text = " ".join(reason.lower().strip().rstrip(".").split())
    towers = bool(re.search(r"\b(?:block|tower)s?\b", text))
    covered = None
    if prefix := re.match(rf"the ({'|'.join(BOXES)}) box is covered and ", text):
        covered, text = BOXES.index(prefix[1]), text[prefix.end() :]
    for form in (_quality, _boxes, _thing, _count):
        claim = form(text)
        if claim is not None:
            return Reason(claim, covered, towers)
    return None


def _quality(text: str) -> QualityClaim | None:
    match = re.fullmatch(r"the picture does not show what is (.+)", text)
    return QualityClaim(match[1]) if match else None


def _count(text: str) -> CountClaim | None:
    match = re.fullmatch(
        r"(?:there (?:is|are) )?(?P<n>\w+) (?P<kind>.+?)(?P<seen> can be seen)?"
        r"(?: and (?P<quantifier>each|none) is (?P<predicate>.+))?",
        text,
    )
    if not match or text.startswith("there ") == bool(match["seen"]):
        return None
    number, kind = _number(match["n"]), _kind(match["kind"])
    predicate = _predicate(match["predicate"]) if match["predicate"] else None
    if number is None or kind is None or (match["predicate"] and predicate is None):
        return None
    return CountClaim(kind, number, bool(match["seen"]), predicate, match["quantifier"] == "none")


def _thing(text: str) -> ThingClaim | None:
    match = re.fullmatch(rf"an? (.+) in the ({'|'.join(BOXES)}) box is (not )?(.+)", text)
    kind = _kind(match[1]) if match else None
    predicate = _predicate(match[4]) if match else None
    if match is None or kind is None or predicate is None:
        return None
    return ThingClaim(kind, BOXES.index(match[2]), predicate, bool(match[3]))


def _boxes(text: str) -> BoxesClaim | None:
    match = re.fullmatch(
        r"(?:no (?P<seen>visible )?|the (?P<boxes>[a-z, ]+?) )(?:box|tower)(?:e?s)? "
        r"(?P<verb>has|have|does not have) (?P<what>.+)",
        text,
    )
    if not match:
        return None
    names = re.split(r", | and ", match["boxes"]) if match["boxes"] else []
    conditions = [_condition(part) for part in match["what"].split(" and ")]
    if any(name not in BOXES for name in names) or None in conditions:
        return None
    denied = match["verb"] == "does not have"
    boxes = tuple(BOXES.index(name) for name in names)
    return BoxesClaim(tuple(each for each in conditions if each), boxes, denied, bool(match["seen"]))


def _condition(text: str) -> Condition | None:
    if text.startswith("only "):
        kind = _kind(text.removeprefix("only "))
        return None if kind is None else Only(kind)
    if match := re.fullmatch(r"an? (.+) (above|below|to the left of|to the right of) an? (.+)", text):
        one, other = _kind(match[1]), _kind(match[3])
        relation = match[2].removeprefix("to the ").removesuffix(" of")
        return None if one is None or other is None else Next(one, relation, other)
    match = re.fullmatch(r"(?:(exactly|at least|at most) )?(\w+) (.+)", text)
    number = _number(match[2]) if match else None
    if match is None or (number is None and match[2] not in ("a", "an")):
        return None
    bound = AT_LEAST_ONE if number is None else Number(match[1] or "exactly", number)
    if match[3] in ("colour", "colours"):
        return Hues(bound)
    kind = _kind(match[3])
    return None if kind is None else Has(kind, bound)


def _number(word: str) -> int | None:
    return NUMBERS.index(word) if word in NUMBERS else int(word) if word.isdecimal() else None


def _kind(text: str) -> Kind | None:
    """ "Small blue squares not touching a wall"."""
    match = re.fullmatch(
        rf"(?:({'|'.join(SIZES)}) )?(?:({'|'.join(COLOURS)}) )?({'|'.join((*SHAPES, 'item', 'block'))})s?"
        rf"(?: (not )?({'|'.join(LOCATIONS)}))?",
        text,
    )
    if match is None:
        return None
    size, colour, noun, apart, location = match.groups()
    return Kind(colour, noun if noun in SHAPES else None, size, LOCATIONS.get(location), bool(apart))


def _predicate(text: str) -> Kind | None:
    """ "Touching a wall", "a circle", "blue", "small"."""
    text = text.removeprefix("a ")
    if text in LOCATIONS or text.removeprefix("not ") in LOCATIONS:
        return Kind(location=LOCATIONS[text.removeprefix("not ")], apart=text.startswith("not "))
    if text in COLOURS:
        return Kind(text)
    if text in SIZES:
        return Kind(size=text)
    return Kind(shape=text) if text in SHAPES else None
