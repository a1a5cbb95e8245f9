"""Whether a reason is true of an image, by the rules by which the generator writes reasons.

The contents of the image are recovered from its pixels, which is exact for the generator's images. What a covered box
holds is not known: a claim that depends on it can be neither true nor false.
"""

from collections.abc import Iterable
from functools import lru_cache

from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.datasets.reason_truth import ReasonTruth
from explainers.datasets.scenes.conditions import CONTRADICTION, ENTAILMENT, Number
from explainers.datasets.scenes.generator import QUALITIES
from explainers.datasets.scenes.reason_claims import BoxesClaim, CountClaim, QualityClaim, Reason, ThingClaim
from explainers.datasets.scenes.reason_parser import parse_reason
from explainers.datasets.scenes.scene_recovery import recover_scene
from explainers.datasets.scenes.world import BOXES, Scene

COVERED = "it depends on what the covered box holds"
FALSE = "the image shows something else"


def check_reason(reason: str, example: Example) -> ReasonTruth:
    """Of a reason without "because"."""
    scene = None if example.image is None else _contents(example.image)
    if scene is None:
        return ReasonTruth(None, "the contents of this image are not known")
    parsed = parse_reason(reason)
    if parsed is None:
        return ReasonTruth(None, "its reason has none of the forms that the rules can check")
    return reason_truth(parsed, scene)


@lru_cache(maxsize=64)
def _contents(image: InputImage) -> Scene | None:
    return recover_scene(image.pixels())


def reason_truth(reason: Reason, scene: Scene) -> ReasonTruth:
    """By the scene's contents."""
    if reason.covered is not None and reason.covered != scene.covered:
        return ReasonTruth(False, f"the {BOXES[reason.covered]} box is not covered")
    if reason.towers and not scene.towers:
        return ReasonTruth(False, "the image has no towers")
    claim = reason.claim
    if isinstance(claim, CountClaim):
        return _count(claim, scene)
    if isinstance(claim, QualityClaim):
        if claim.quality in QUALITIES:
            return ReasonTruth(True, "no image of this kind shows it")
        return ReasonTruth(None, "the rules do not know this quality")
    holds = _thing(claim, scene) if isinstance(claim, ThingClaim) else _boxes(claim, scene)
    return ReasonTruth(holds, {True: "the image shows it", False: FALSE, None: COVERED}[holds])


def _count(claim: CountClaim, scene: Scene) -> ReasonTruth:
    matches = claim.kind.among(scene.visible(), scene)
    unknown = scene.covered is not None and not claim.seen
    label = Number("exactly", claim.count).judge(len(matches), float("inf") if unknown else len(matches))
    if label == CONTRADICTION:
        return ReasonTruth(False, f"the image shows {len(matches)} of them")
    if claim.predicate is not None and any(claim.predicate.fits(each, scene) == claim.denied for each in matches):
        return ReasonTruth(False, f"not so for all {len(matches)} of them" if not claim.denied else "so for some")
    certain = label == ENTAILMENT and not unknown
    return ReasonTruth(True if certain else None, "the image shows it" if certain else COVERED)


def _thing(claim: ThingClaim, scene: Scene) -> bool | None:
    if claim.box == scene.covered:
        return None
    candidates = claim.kind.among(scene.box(claim.box), scene)
    return any(claim.predicate.fits(each, scene) != claim.denied for each in candidates)


def _boxes(claim: BoxesClaim, scene: Scene) -> bool | None:
    def holds(box: int) -> bool | None:
        return None if box == scene.covered else all(each.holds(box, scene) for each in claim.conditions)

    if not claim.boxes:
        boxes = (box for box in range(len(BOXES)) if not (claim.seen and box == scene.covered))
        return _all(_not(holds(box)) for box in boxes)
    return _all(_not(holds(box)) if claim.denied else holds(box) for box in claim.boxes)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: Iterable[bool | None]) -> bool | None:
    known = tuple(values)
    return False if False in known else None if None in known else True
