"""What a reason claims about an image."""

from dataclasses import dataclass

from explainers.datasets.scenes.conditions import Condition, Kind


@dataclass(frozen=True)
class CountClaim:
    """ "There are two blue circles"; with `predicate` also "and each is (none is) small"."""

    kind: Kind
    count: int
    seen: bool  # "can be seen": about what is not covered
    predicate: Kind | None = None
    denied: bool = False


@dataclass(frozen=True)
class ThingClaim:
    """ "A blue circle in the left box is (not) touching a wall"."""

    kind: Kind
    box: int
    predicate: Kind
    denied: bool


@dataclass(frozen=True)
class BoxesClaim:
    """ "The left and right boxes have …", "the left box does not have …", or, with no `boxes`, "no box has …"."""

    conditions: tuple[Condition, ...]
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
