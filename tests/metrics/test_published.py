"""The published metrics on curves that are written down, with their papers' formulas worked out by hand."""

import numpy as np
import pytest

from explainers.report.paper_definitions import PUBLISHED, PublishedMetric
from explainers.results.attribution import ErasureCurves

BY_ID = {metric.id: metric for metric in PUBLISHED}
UNITS = 12


def curves(metric: PublishedMetric, units: int = UNITS) -> ErasureCurves:
    """p = 0.9 - 0.05 k without the top k units, and 0.3 + 0.05 k with only the top k; of the whole text 0.9."""
    counts = metric.points(units)
    removed = np.array([0.9 - 0.05 * count for count in counts])
    kept = np.array([0.9 if count == units else 0.3 + 0.05 * count for count in counts])
    return ErasureCurves(counts, np.stack([1 - removed, removed], 1), np.stack([1 - kept, kept], 1), label=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aml_comp", 0.05 * 2),  # 20 % of 12 is 2.4, rounded down
        ("aml_suff", 0.6 - 0.05 * 2),
        ("aml_lo", np.log(0.9 - 0.05 * 2) - np.log(0.9)),
        ("aml_aopc_c", 0.05 * (0 + 0 + 1 + 2 + 6) / 6),  # 1, 5, 10, 20, 50 %
        ("aml_aopc_s", (0 + 0 + 0.55 + 0.5 + 0.3) / 6),  # no unit kept counts as nothing lost
        ("cimi_comp", 0.05 * (1 + 5 + 10 + 12 + 12) / 5),  # counts, at most all
        ("cimi_suff", (0.55 + 0.35 + 0.1 + 0 + 0) / 5),
        ("cimi_dffot", 9 / 12),  # of the values 0.9, 0.85, … the ninth after the first is below 0.5
        ("ivra_comp", 0.05 * (1 + 1 + 2 + 3 + 6) / 5),  # 1, 5, 10, 20, 50 %, rounded up
        ("ivra_suff", (0.55 + 0.55 + 0.5 + 0.45 + 0.3) / 5),
        ("ciem_comp", 0.05 * (2 + 3 + 4 + 5 + 6) / 5),  # 10, 20, 30, 40, 45 %, rounded up
        ("ciem_suff", (0.6 - 0.05 * 10 + 0.6 - 0.05 * 9 + 0.6 - 0.05 * 8 + 0.6 - 0.05 * 7 + 0.6 - 0.05 * 6) / 5),
    ],
)
def test_every_metric_is_its_papers_formula(name: str, expected: float) -> None:
    assert BY_ID[name].score(curves(BY_ID[name])) == pytest.approx(expected)


def test_every_metric_has_a_case_above_and_a_definition_of_its_own() -> None:
    assert len(BY_ID) == len(PUBLISHED) == 12
    assert len({metric.meaning for metric in PUBLISHED}) == 12


@pytest.mark.parametrize("units", [1, 2, 3, 59, 200])
def test_every_length_of_text_has_values(units: int) -> None:
    for metric in PUBLISHED:
        assert metric.points(units)[0] == 0
        assert metric.points(units)[-1] == units
        assert np.isfinite(metric.score(curves(metric, units)))
