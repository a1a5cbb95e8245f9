"""Runs of the same method and setting over all sentences, and how much longer others take for the same accuracy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from explainers.comparison.leaders import VISIBLE
from explainers.evaluation.peers.comparison import MeasuredRun, PeerComparison
from explainers.evaluation.peers.names import (
    DEFAULT,
    FOUR,
    GROUP_COUNTS,
    KERNEL_SHAP,
    LIME,
    OCCLUSION,
    PARTITION,
    SHAPLEY,
    TOGETHER,
    shared,
)
from explainers.evaluation.peers.packages import CROSSLIGHT

PARTS = (LIME, KERNEL_SHAP, OCCLUSION)


@dataclass(frozen=True)
class Total:
    """Of a package's method over some sentences: sums of seconds and passes, means of error and evidence."""

    package: str
    method: str
    setting: str
    seconds: float
    passes: int
    error: float | None
    evidence: float | None


@dataclass(frozen=True)
class EqualAccuracy:
    """`ours` is the quickest of our settings that is at least as good as `theirs`, None if none is."""

    theirs: Total
    ours: Total | None

    @property
    def times(self) -> float | None:
        return None if self.ours is None else self.theirs.seconds / self.ours.seconds


def totals(comparison: PeerComparison, *, longer: bool) -> tuple[Total, ...]:
    """Over the longer sentence alone, or over the others."""
    here = [each for each in comparison.runs if (each.run.sentence == comparison.job.long) is longer]
    keys = dict.fromkeys((each.package, each.run.method, each.run.setting) for each in here)
    return tuple(_total([each for each in here if _key(each) == key]) for key in keys)


def _key(each: MeasuredRun) -> tuple[str, str, str]:
    return each.package, each.run.method, each.run.setting


def _total(runs: Sequence[MeasuredRun]) -> Total:
    return Total(
        *_key(runs[0]),
        sum(each.run.seconds for each in runs),
        sum(each.run.passes for each in runs),
        _mean([each.error for each in runs]),
        _mean([each.evidence for each in runs]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def equal_accuracy(some: Sequence[Total]) -> Iterator[EqualAccuracy]:
    """Of every peer's estimate of Shapley values, with KernelSHAP here."""
    ours = [each for each in some if each.package == CROSSLIGHT.name and each.method == KERNEL_SHAP]
    for theirs in some:
        if theirs.package != CROSSLIGHT.name and theirs.method in SHAPLEY and theirs.error is not None:
            good = [each for each in ours if each.error is not None and each.error <= theirs.error]
            yield EqualAccuracy(theirs, min(good, key=lambda each: each.seconds, default=None))


def together(some: Sequence[Total], package: str) -> list[EqualAccuracy]:
    """LIME, KernelSHAP and Occlusion of a package that has them: against the default here, and `as_good`."""
    theirs = [_largest([each for each in some if (each.package, each.method) == (package, part)]) for part in PARTS]
    parts = [each for each in theirs if each is not None]
    if len(parts) < len(PARTS):
        return []
    seconds, passes = sum(each.seconds for each in parts), sum(each.passes for each in parts)
    whole = Total(package, TOGETHER, parts[0].setting, seconds, passes, None, None)
    return _both(some, whole, parts[0], parts[1])


def explained_and_evaluated(some: Sequence[Total], package: str) -> list[EqualAccuracy]:
    """The four methods of ferret with its evaluation: against the default here, and `as_good`."""
    theirs = {each.method: each for each in some if each.package == package}
    if not {FOUR, LIME, PARTITION} <= set(theirs):
        return []
    return _both(some, theirs[FOUR], theirs[LIME], theirs[PARTITION])


def _both(some: Sequence[Total], whole: Total, lime: Total, shap: Total) -> list[EqualAccuracy]:
    here = {(each.method, each.setting): each for each in some if each.package == CROSSLIGHT.name}
    pairs = [EqualAccuracy(whole, here[whole.method, DEFAULT])] if (whole.method, DEFAULT) in here else []
    for setting in map(shared, GROUP_COUNTS):
        own = [here.get((method, setting)) for method in (LIME, KERNEL_SHAP, whole.method)]
        own_lime, own_shap, own_whole = own
        if own_lime and own_shap and own_whole and as_good(own_lime, own_shap, lime, shap):
            return [*pairs, EqualAccuracy(whole, own_whole)]
    return [*pairs, EqualAccuracy(whole, None)]


def as_good(lime: Total, shap: Total, their_lime: Total, their_shap: Total) -> bool:
    """Whether the Shapley values' error is not larger, and what LIME's scores show in the metrics not visibly worse.

    Where no exact values are known, the metrics decide for both.
    """
    if their_shap.error is None or shap.error is None:
        return _shows_as_much(shap, their_shap) and _shows_as_much(lime, their_lime)
    return shap.error <= their_shap.error and _shows_as_much(lime, their_lime)


def _shows_as_much(ours: Total, theirs: Total) -> bool:
    if ours.evidence is None or theirs.evidence is None:
        return False
    return ours.evidence >= theirs.evidence - VISIBLE


def _largest(some: Sequence[Total]) -> Total | None:
    """Of several settings the one with the most passes."""
    return max(some, key=lambda each: each.passes, default=None)


def slower(some: Sequence[Total], package: str, method: str) -> EqualAccuracy | None:
    """A method of a package, and the same here by default or in the only setting."""
    theirs = next((each for each in some if (each.package, each.method) == (package, method)), None)
    ours = next((each for each in some if (each.package, each.method) == (CROSSLIGHT.name, method)), None)
    return None if theirs is None else EqualAccuracy(theirs, ours)
