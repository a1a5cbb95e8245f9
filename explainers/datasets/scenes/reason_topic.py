"""Whether a reason is on topic: whether it is about what the true reason is about.

It must make the same kind of claim (a count, a counterexample, what boxes have, what the picture does not show; denied
or not; with or without a covered box), about the same colours, shapes, sizes, places, relations and qualities. What
boxes have must be the same conditions with the same bounds on numbers, in any order, and boxes that are listed because
they meet them must be the same boxes. What only the image decides is left to `reason_checker`: the count itself, which
box is covered, and in which box a counterexample is. So a reason that is on topic and true of the image is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from explainers.datasets.scenes.conditions import Condition, Kind
from explainers.datasets.scenes.reason_claims import BoxesClaim, CountClaim, QualityClaim, Reason, ThingClaim
from explainers.datasets.scenes.reason_parser import parse_reason


@dataclass(frozen=True)
class Topic:
    """What a reason is about; two reasons are on the same topic if these are equal."""

    claim: type[CountClaim | ThingClaim | BoxesClaim | QualityClaim]
    cover: bool  # whether a box is said to be covered
    about: Kind | str | frozenset[Condition]  # the things counted or shown, the quality, or what boxes have
    predicate: Kind | None = None  # what the things are said to be
    denied: bool = False
    boxes: frozenset[int] = frozenset()  # those that have it


def on_topic(reason: str, references: Sequence[str]) -> bool | None:
    """Whether it has the topic of one of the references, all without "because"; None if no reference can be parsed.

    A reason that cannot be parsed is not on topic.
    """
    topics = {topic_of(parsed) for each in references if (parsed := parse_reason(each))}
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
