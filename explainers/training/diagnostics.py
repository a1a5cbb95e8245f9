"""The known ways in which a learned explanation collapses, detected in its scores of validation texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

FLAT, POSITIONAL, UNIFORM, SAME, SATURATED, WHOLE = 0.02, 0.7, 0.995, 0.02, 0.98, 0.85


@dataclass(frozen=True)
class ScoreShape:
    """Statistics of the scores of a set of texts, logged after every epoch."""

    mean: float  # of all scores
    within: float  # mean standard deviation within a text
    low: float  # share of scores below 0.05
    high: float  # share above 0.95
    position: float  # mean Spearman correlation with the position in the text
    entropy: float  # of scores as a distribution, as a share of the highest possible
    between: float  # how far the profiles of different texts differ, as a share of their spread within a text


def score_shape(scores: Sequence[Sequence[float]]) -> ScoreShape:
    """From the scores of several texts, each of at least one unit."""
    rows = [np.asarray(row, dtype=float) for row in scores]
    long = [row for row in rows if len(row) > 2]
    every = np.concatenate(rows)
    ramps = [
        float(spearmanr(row, np.arange(len(row))).statistic) if np.ptp(row) > 0 else 0.0 for row in long
    ]  # fmt: skip
    profiles = [np.interp(np.linspace(0, 1, 10), np.linspace(0, 1, len(row)), row) for row in long]
    within = float(np.mean([row.std() for row in rows]))
    return ScoreShape(
        mean=float(every.mean()),
        within=within,
        low=float((every < 0.05).mean()),
        high=float((every > 0.95).mean()),
        position=float(np.mean(ramps)) if ramps else 0.0,
        entropy=float(np.mean([_entropy(row) for row in long])) if long else 1.0,
        between=float(np.std(profiles, axis=0).mean() / (within + 1e-12)) if len(profiles) > 1 else 1.0,
    )


def collapse_warnings(shape: ScoreShape, *, distribution: bool) -> tuple[str, ...]:
    """One sentence for each collapse. `distribution`: the scores of a text sum to 1 (IvRA), else they are masks."""
    warnings = []
    if distribution and shape.entropy > UNIFORM:
        warnings.append("Uniform: every word gets nearly the same share, so that chance decides the ranking.")
    if not distribution and shape.within < FLAT:
        warnings.append("Constant mask: the words of a text hardly differ.")
    if not distribution and max(shape.low, shape.high) > SATURATED:
        kind = "0" if shape.low > shape.high else "1"
        warnings.append(f"Saturated mask: nearly every word has {kind}.")
    elif not distribution and shape.mean > WHOLE:
        warnings.append(f"The mask keeps nearly everything: its mean is {shape.mean:.2f}, so it separates little.")
    if abs(shape.position) > POSITIONAL:
        warnings.append("Positional ramp: the score follows the position in the text, whatever the word.")
    if shape.between < SAME:
        warnings.append("The same profile for every text: the explanation does not read the text.")
    return tuple(warnings)


def _entropy(row: np.ndarray) -> float:
    shares = np.clip(row, 0, None) / max(np.clip(row, 0, None).sum(), 1e-12)
    return float(-(shares * np.log(shares + 1e-12)).sum() / np.log(len(row)))
