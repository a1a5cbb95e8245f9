"""Whether a reason is true of an image, by the rules by which the generator writes reasons.

The contents of the image are recovered from its pixels, which is exact for the generator's images. What a covered box
holds is not known: a claim that depends on it can be neither true nor false.

A reason is parsed to the claim that it makes about an image, the inverse of `wording.py`: only the generator's own
forms, in the singular or the plural. A plain number means "exactly".

A reason is on topic if it is about what the true reason is about. It must make the same kind of claim (a count, a
counterexample, what boxes have, what the picture does not show; denied or not; with or without a covered box), about
the same colours, shapes, sizes, places, relations and qualities. What boxes have must be the same conditions with the
same bounds on numbers, in any order, and boxes that are listed because they meet them must be the same boxes. What
only the image decides is left to `reason_checker`: the count itself, which box is covered, and in which box a
counterexample is. So a reason that is on topic and true of the image is right.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from explainers.datasets.entailment import ReasonTruth
from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes import generator, nlvr, statements, wording
from explainers.datasets.scenes.world import BOXES, COLOURS, SHAPES, SIZES, Scene


@dataclass(frozen=True)
class CountClaim:
    """ "There are two blue circles"; with `predicate` also "and each is (none is) small"."""

    kind: statements.Kind
    count: int
    seen: bool  # "can be seen": about what is not covered
    predicate: statements.Kind | None = None
    denied: bool = False


@dataclass(frozen=True)
class ThingClaim:
    """ "A blue circle in the left box is (not) touching a wall"."""

    kind: statements.Kind
    box: int
    predicate: statements.Kind
    denied: bool


@dataclass(frozen=True)
class BoxesClaim:
    """ "The left and right boxes have …", "the left box does not have …", or, with no `boxes`, "no box has …"."""

    conditions: tuple[statements.Condition, ...]
    boxes: tuple[int, ...]
    denied: bool = False
    seen: bool = False  # "no visible box"


@dataclass(frozen=True)
class QualityClaim:
    """ "The picture does not show what is made of wood"."""

    quality: str


@dataclass(frozen=True)
class Reason:
    """`covered` is the box that is said to be covered. `towers` tells whether blocks or towers are named."""

    claim: CountClaim | ThingClaim | BoxesClaim | QualityClaim
    covered: int | None
    towers: bool


AT_LEAST_ONE = statements.Number("at least", 1)
LOCATIONS = {words: name for name, words in wording.PLACES.items()} | {
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
    for form in (_quality, _parsed_boxes, _parsed_thing, _parsed_count):
        claim = form(text)
        if claim is not None:
            return Reason(claim, covered, towers)
    return None


def _quality(text: str) -> QualityClaim | None:
    match = re.fullmatch(r"the picture does not show what is (.+)", text)
    return QualityClaim(match[1]) if match else None


def _parsed_count(text: str) -> CountClaim | None:
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


def _parsed_thing(text: str) -> ThingClaim | None:
    match = re.fullmatch(rf"an? (.+) in the ({'|'.join(BOXES)}) box is (not )?(.+)", text)
    kind = _kind(match[1]) if match else None
    predicate = _predicate(match[4]) if match else None
    if match is None or kind is None or predicate is None:
        return None
    return ThingClaim(kind, BOXES.index(match[2]), predicate, bool(match[3]))


def _parsed_boxes(text: str) -> BoxesClaim | None:
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
    return BoxesClaim(tuple(condition for condition in conditions if condition), boxes, denied, bool(match["seen"]))


def _condition(text: str) -> statements.Condition | None:
    if text.startswith("only "):
        kind = _kind(text.removeprefix("only "))
        return None if kind is None else statements.Only(kind)
    if match := re.fullmatch(r"an? (.+) (above|below|to the left of|to the right of) an? (.+)", text):
        one, other = _kind(match[1]), _kind(match[3])
        relation = match[2].removeprefix("to the ").removesuffix(" of")
        return None if one is None or other is None else statements.Next(one, relation, other)
    match = re.fullmatch(r"(?:(exactly|at least|at most) )?(\w+) (.+)", text)
    number = _number(match[2]) if match else None
    if match is None or (number is None and match[2] not in ("a", "an")):
        return None
    bound = AT_LEAST_ONE if number is None else statements.Number(match[1] or "exactly", number)
    if match[3] in ("colour", "colours"):
        return statements.Hues(bound)
    kind = _kind(match[3])
    return None if kind is None else statements.Has(kind, bound)


def _number(word: str) -> int | None:
    return wording.NUMBERS.index(word) if word in wording.NUMBERS else int(word) if word.isdecimal() else None


def _kind(text: str) -> statements.Kind | None:
    """ "Small blue squares not touching a wall"."""
    match = re.fullmatch(
        rf"(?:({'|'.join(SIZES)}) )?(?:({'|'.join(COLOURS)}) )?({'|'.join((*SHAPES, 'item', 'block'))})s?"
        rf"(?: (not )?({'|'.join(LOCATIONS)}))?",
        text,
    )
    if match is None:
        return None
    size, colour, noun, apart, location = match.groups()
    return statements.Kind(colour, noun if noun in SHAPES else None, size, LOCATIONS.get(location), bool(apart))


def _predicate(text: str) -> statements.Kind | None:
    """ "Touching a wall", "a circle", "blue", "small"."""
    text = text.removeprefix("a ")
    if text in LOCATIONS or text.removeprefix("not ") in LOCATIONS:
        return statements.Kind(location=LOCATIONS[text.removeprefix("not ")], apart=text.startswith("not "))
    if text in COLOURS:
        return statements.Kind(text)
    if text in SIZES:
        return statements.Kind(size=text)
    return statements.Kind(shape=text) if text in SHAPES else None


COVERED = "it depends on what the covered box holds"
FALSE = "the image shows something else"


def check_reason(reason: str, example: Example) -> ReasonTruth:
    """Check a reason, which is given without "because"."""
    scene = None if example.image is None else _contents(example.image)
    if scene is None:
        return ReasonTruth(None, "the contents of this image are not known")
    parsed = parse_reason(reason)
    if parsed is None:
        return ReasonTruth(None, "its reason has none of the forms that the rules can check")
    return reason_truth(parsed, scene)


@lru_cache(maxsize=64)
def _contents(image: InputImage) -> Scene | None:
    return nlvr.recover_scene(image.pixels())


def reason_truth(reason: Reason, scene: Scene) -> ReasonTruth:
    """Check a reason by the scene's contents."""
    if reason.covered is not None and reason.covered != scene.covered:
        return ReasonTruth(False, f"the {BOXES[reason.covered]} box is not covered")
    if reason.towers and not scene.towers:
        return ReasonTruth(False, "the image has no towers")
    claim = reason.claim
    if isinstance(claim, CountClaim):
        return _count(claim, scene)
    if isinstance(claim, QualityClaim):
        if claim.quality in generator.QUALITIES:
            return ReasonTruth(True, "no image of this kind shows it")
        return ReasonTruth(None, "the rules do not know this quality")
    holds = _thing(claim, scene) if isinstance(claim, ThingClaim) else _boxes(claim, scene)
    return ReasonTruth(holds, {True: "the image shows it", False: FALSE, None: COVERED}[holds])


def _count(claim: CountClaim, scene: Scene) -> ReasonTruth:
    matches = claim.kind.among(scene.visible(), scene)
    unknown = scene.covered is not None and not claim.seen
    label = statements.Number("exactly", claim.count).judge(len(matches), float("inf") if unknown else len(matches))
    if label == statements.CONTRADICTION:
        return ReasonTruth(False, f"the image shows {len(matches)} of them")
    if claim.predicate is not None and any(claim.predicate.fits(match, scene) == claim.denied for match in matches):
        return ReasonTruth(False, f"not so for all {len(matches)} of them" if not claim.denied else "so for some")
    certain = label == statements.ENTAILMENT and not unknown
    return ReasonTruth(True if certain else None, "the image shows it" if certain else COVERED)


def _thing(claim: ThingClaim, scene: Scene) -> bool | None:
    if claim.box == scene.covered:
        return None
    candidates = claim.kind.among(scene.box(claim.box), scene)
    return any(claim.predicate.fits(candidate, scene) != claim.denied for candidate in candidates)


def _boxes(claim: BoxesClaim, scene: Scene) -> bool | None:
    def holds(box: int) -> bool | None:
        return None if box == scene.covered else all(condition.holds(box, scene) for condition in claim.conditions)

    if not claim.boxes:
        boxes = (box for box in range(len(BOXES)) if not (claim.seen and box == scene.covered))
        return _all(_not(holds(box)) for box in boxes)
    return _all(_not(holds(box)) if claim.denied else holds(box) for box in claim.boxes)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: Iterable[bool | None]) -> bool | None:
    known = tuple(values)
    return False if False in known else None if None in known else True


@dataclass(frozen=True)
class Topic:
    """What a reason is about; two reasons are on the same topic if these are equal."""

    claim: type[CountClaim | ThingClaim | BoxesClaim | QualityClaim]
    cover: bool  # whether a box is said to be covered
    about: (
        statements.Kind | str | frozenset[statements.Condition]
    )  # the things counted or shown, the quality, or what boxes have
    predicate: statements.Kind | None = None  # what the things are said to be
    denied: bool = False
    boxes: frozenset[int] = frozenset()  # those that have it


def on_topic(reason: str, references: Sequence[str]) -> bool | None:
    """Whether it has the topic of one of the references, all without "because"; None if no reference can be parsed.

    A reason that cannot be parsed is not on topic.
    """
    topics = {topic_of(parsed) for reference in references if (parsed := parse_reason(reference))}
    if not topics:
        return None
    parsed_reason = parse_reason(reason)
    return parsed_reason is not None and topic_of(parsed_reason) in topics


def topic_of(reason: Reason) -> Topic:
    claim, cover = reason.claim, reason.covered is not None
    if isinstance(claim, QualityClaim):
        return Topic(QualityClaim, cover, claim.quality)
    if isinstance(claim, BoxesClaim):
        named = frozenset() if claim.denied else frozenset(claim.boxes)
        return Topic(BoxesClaim, cover, frozenset(claim.conditions), None, claim.denied or not claim.boxes, named)
    predicate, denied = claim.predicate, claim.denied
    if predicate is not None and predicate.apart:  # "each is not touching a wall" is "none is touching a wall"
        predicate, denied = replace(predicate, apart=False), not denied
    return Topic(type(claim), cover, claim.kind, predicate, denied)
