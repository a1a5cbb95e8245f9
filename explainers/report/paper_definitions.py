"""The faithfulness metrics of the papers as published, where they differ from the project's own definitions.

They share the names COMP and SUFF with ERASER, and differ in the operator, the cuts, the rounding and in what SUFF
removes, so that values of two papers cannot be compared. n is the number of units, p the probability of the class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from explainers.results.attribution import PERCENTS, ErasureCurves, top_count

if TYPE_CHECKING:
    from explainers.models.inputs.encoding import Erasure

AML_PERCENT = 20
AML_DIVISOR = len(PERCENTS) + 1  # of the authors' code; the paper's text says |B|, which is one less
SMALLEST = 1e-9  # probability of which a logarithm is taken
CIMI_COUNTS = (1, 5, 10, 20, 50)
CIEM_PERCENTS = (10, 20, 30, 40, 45)


@dataclass(frozen=True)
class PublishedMetric:
    """`score` reads curves that were measured under `erasure` at `counts` of n, to which both ends are added."""

    id: str
    name: str
    source: str
    erasure: "Erasure"
    counts: Callable[[int], tuple[int, ...]]
    score: Callable[[ErasureCurves], float]
    higher_is_better: bool
    meaning: str

    def points(self, units: int) -> tuple[int, ...]:
        """The counts at which the curves are measured."""
        return tuple(sorted({0, units, *self.counts(units)}))


def removed(curves: ErasureCurves, count: int) -> float:
    """p(x) - p(x without the top `count` units)."""
    return curves.full - float(curves.removed[curves.counts.index(count), curves.label])


def kept(curves: ErasureCurves, count: int) -> float:
    """p(x) - p(only the top `count` units)."""
    return curves.full - float(curves.kept[curves.counts.index(count), curves.label])


def rounded_down(units: int, percent: float) -> int:
    return int(units * percent / 100 + 1e-9)


def aml_counts(units: int) -> tuple[int, ...]:
    return tuple(rounded_down(units, percent) for percent in (AML_PERCENT, *PERCENTS))


def aml_kept(curves: ErasureCurves, percent: float) -> float:
    """As in the authors' code 0, "nothing is lost", where no unit is kept."""
    count = rounded_down(curves.units, percent)
    return kept(curves, count) if count else 0.0


def aml_aopc_c(curves: ErasureCurves) -> float:
    return sum(removed(curves, rounded_down(curves.units, percent)) for percent in PERCENTS) / AML_DIVISOR


def aml_aopc_s(curves: ErasureCurves) -> float:
    return sum(aml_kept(curves, percent) for percent in PERCENTS) / AML_DIVISOR


def aml_log_odds(curves: ErasureCurves) -> float:
    removed_p = curves.full - removed(curves, rounded_down(curves.units, AML_PERCENT))
    return log(max(removed_p, SMALLEST)) - log(max(curves.full, SMALLEST))


def cimi_counts(units: int) -> tuple[int, ...]:
    return tuple(min(count, units) for count in CIMI_COUNTS)


def cimi_comp(curves: ErasureCurves) -> float:
    return float(np.mean([removed(curves, count) for count in cimi_counts(curves.units)]))


def cimi_suff(curves: ErasureCurves) -> float:
    return float(np.mean([kept(curves, count) for count in cimi_counts(curves.units)]))


def ciem_counts(units: int) -> tuple[int, ...]:
    tops = [top_count(units, percent) for percent in CIEM_PERCENTS]
    return tuple({*tops, *(units - top for top in tops)})


def ciem_comp(curves: ErasureCurves) -> float:
    return float(np.mean([removed(curves, top_count(curves.units, percent)) for percent in CIEM_PERCENTS]))


def ciem_suff(curves: ErasureCurves) -> float:
    """The least important units are removed, where ERASER keeps only the most important ones."""
    counts = [curves.units - top_count(curves.units, percent) for percent in CIEM_PERCENTS]
    return float(np.mean([kept(curves, count) for count in counts]))


def cimi_dffot(curves: ErasureCurves) -> float:
    """The share of units without which p has crossed 0.5, from above or from below; 1 where it never does."""
    above = curves.removed[:, curves.label] >= 0.5
    changed = np.flatnonzero(above != above[0])
    return (curves.counts[int(changed[0])] if len(changed) else curves.units) / curves.units


def ivra_counts(units: int) -> tuple[int, ...]:
    return tuple(top_count(units, percent) for percent in PERCENTS)


def ivra_comp(curves: ErasureCurves) -> float:
    return float(np.mean([removed(curves, count) for count in ivra_counts(curves.units)]))


def ivra_suff(curves: ErasureCurves) -> float:
    return float(np.mean([kept(curves, count) for count in ivra_counts(curves.units)]))


AML, CIMI, CIEM = "Barkan et al., 2024, A.5", "Wu et al., 2023, A.1.3", "Liu, Zhang et al., Table 2"
IVRA = "Xie et al., 2024, §3.2; operator and rounding are ours, the paper names none"
AOPC_CODE = "1, 5, 10, 20 and 50 % rounded down, the sum divided by 6 as in the authors' code"

PUBLISHED: tuple[PublishedMetric, ...] = (
    PublishedMetric(
        "aml_comp",
        "AML Comp",
        AML,
        "delete",
        aml_counts,
        lambda curves: removed(curves, rounded_down(curves.units, AML_PERCENT)),
        True,
        "Fall of p when the top 20 %, rounded down, are deleted.",
    ),
    PublishedMetric(
        "aml_suff",
        "AML Suff",
        AML,
        "delete",
        aml_counts,
        lambda curves: aml_kept(curves, AML_PERCENT),
        False,
        "Fall of p when all but the top 20 %, rounded down, are deleted; 0 where that is no unit.",
    ),
    PublishedMetric(
        "aml_lo",
        "AML LO",
        AML,
        "mask",
        aml_counts,
        aml_log_odds,
        False,
        "ln p without the top 20 %, rounded down, which are masked, less ln p.",
    ),
    PublishedMetric("aml_aopc_c", "AML A-C", AML, "delete", aml_counts, aml_aopc_c, True, f"Its Comp at {AOPC_CODE}."),
    PublishedMetric("aml_aopc_s", "AML A-S", AML, "delete", aml_counts, aml_aopc_s, False, f"Its Suff at {AOPC_CODE}."),
    PublishedMetric(
        "cimi_comp",
        "CIMI COMP",
        CIMI,
        "zero",
        cimi_counts,
        cimi_comp,
        True,
        "Mean fall of p when the top 1, 5, 10, 20 and 50 units, not percent, become zero embeddings.",
    ),
    PublishedMetric(
        "cimi_suff",
        "CIMI SUFF",
        CIMI,
        "zero",
        cimi_counts,
        cimi_suff,
        False,
        "Mean fall of p when only the top 1, 5, 10, 20 and 50 units are kept; 0 for counts of n and more.",
    ),
    PublishedMetric(
        "cimi_dffot",
        "CIMI DFFOT",
        CIMI,
        "zero",
        lambda units: tuple(range(units + 1)),
        cimi_dffot,
        False,
        "Share of units that become zero embeddings, most important first, until p crosses 0.5; 1 where it never does.",
    ),
    PublishedMetric(
        "ciem_comp",
        "CIEM COMP",
        CIEM,
        "zero",
        ciem_counts,
        ciem_comp,
        True,
        "Mean fall of p when the top 10, 20, 30, 40 and 45 % become zero embeddings.",
    ),
    PublishedMetric(
        "ciem_suff",
        "CIEM SUFF",
        CIEM,
        "zero",
        ciem_counts,
        ciem_suff,
        False,
        "Mean fall of p when the least important 10, 20, 30, 40 and 45 % become zero embeddings.",
    ),
    PublishedMetric(
        "ivra_comp",
        "IvRA Comp",
        IVRA,
        "delete",
        ivra_counts,
        ivra_comp,
        True,
        "Mean fall of p when the top 1, 5, 10, 20 and 50 %, rounded up, are deleted.",
    ),
    PublishedMetric(
        "ivra_suff",
        "IvRA Suff",
        IVRA,
        "delete",
        ivra_counts,
        ivra_suff,
        False,
        "Mean fall of p when all but the top 1, 5, 10, 20 and 50 %, rounded up, are deleted.",
    ),
)
