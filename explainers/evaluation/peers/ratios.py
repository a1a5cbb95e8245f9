"""Runs of the same method and setting over all sentences, and how much longer others take for the same accuracy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from explainers.comparison.leaders import VISIBLE
from explainers.evaluation.peers.comparison import MeasuredRun, PeerComparison
from explainers.evaluation.peers.names import COUNTS, KERNEL_SHAP, LIME, OCCLUSION, SHAPLEY, TOGETHER, shared
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


def together(some: Sequence[Total], package: str) -> EqualAccuracy | None:
    """LIME, KernelSHAP and Occlusion of a package that has them, and here with the fewest masks that are as good.

    As good: the error of KernelSHAP is not larger, and what LIME's scores show in the metrics not visibly worse.
    """
    theirs = [_largest([each for each in some if (each.package, each.method) == (package, part)]) for part in PARTS]
    lime, kernel_shap, _ = theirs
    if lime is None or kernel_shap is None or None in theirs:
        return None
    parts = [each for each in theirs if each is not None]
    whole = Total(
        package, TOGETHER, lime.setting, sum(each.seconds for each in parts), sum(each.passes for each in parts),
        kernel_shap.error, lime.evidence,
    )  # fmt: skip
    here = {(each.method, each.setting): each for each in some if each.package == CROSSLIGHT.name}
    for setting in map(shared, COUNTS):
        own_lime, own_shap = (here.get((method, setting)) for method in (LIME, KERNEL_SHAP))
        if (TOGETHER, setting) in here and _as_good(own_lime, own_shap, lime, kernel_shap):
            return EqualAccuracy(whole, here[TOGETHER, setting])
    return EqualAccuracy(whole, None)


def _as_good(lime: Total | None, shap: Total | None, their_lime: Total, their_shap: Total) -> bool:
    if lime is None or shap is None or shap.error is None or their_shap.error is None:
        return False
    shown, needed = lime.evidence, their_lime.evidence
    return shap.error <= their_shap.error and shown is not None and needed is not None and shown >= needed - VISIBLE


def _largest(some: Sequence[Total]) -> Total | None:
    """Of several settings the one with the most passes."""
    return max(some, key=lambda each: each.passes, default=None)


def slower(some: Sequence[Total], package: str, method: str) -> EqualAccuracy | None:
    """A method of a package, and the same here by default or in the only setting."""
    theirs = next((each for each in some if (each.package, each.method) == (package, method)), None)
    ours = next((each for each in some if (each.package, each.method) == (CROSSLIGHT.name, method)), None)
    return None if theirs is None else EqualAccuracy(theirs, ours)
