"""A comparison as files for other programs: CSV with a guard against formulas, and JSON."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from explainers.explanation import ranking
from explainers.metrics.faithfulness import METRICS
from explainers.report.rows import MetricRow, metric_rows
from explainers.report.text import visible

if TYPE_CHECKING:
    from explainers.api import Comparison

__all__ = ["MetricRow", "as_json", "csv_curves", "csv_metrics", "csv_scores", "metric_rows"]

Cell = str | float | int | None
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_scores(comparison: "Comparison") -> str:
    """A row per method and unit. Offsets count code points of text number `segment`, whose name is `of`; `end` is
    exclusive. Patches have their sides in pixels of the given picture."""
    sides = ("left", "top", "right", "bottom")
    head = ("method", "label", "unit", "kind", "start", "end", "segment", "of", *sides, "score", "rank", "spread")
    rows: list[tuple[Cell, ...]] = []
    for result in comparison.results:
        found = result.attribution
        ranks = np.argsort(ranking(found.scores)) + 1
        spreads = found.spread or (None,) * len(found.scores)
        for unit, score, rank, spread in zip(found.encoding.units, found.scores, ranks, spreads, strict=True):
            place: tuple[Cell, ...] = (
                unit.text,
                unit.kind,
                unit.start,
                unit.end,
                unit.segment,
                comparison.names[unit.segment],
            )
            place += unit.box or (None,) * len(sides)
            rows.append((found.method, comparison.label, *place, score, int(rank), spread))
    return _written(head, rows)


def csv_metrics(comparison: "Comparison") -> str:
    """A row per method, the random control last. `_sd` is the standard deviation that chance causes."""
    ids = [metric.id for metric in METRICS]
    figures = [column for metric in ids for column in (metric, f"{metric}_sd")]
    head = ("method", "label", "erasure", *figures, "seconds", "model_calls", "completeness_gap", "best", "tied_at")
    rows = [
        (
            row.method,
            comparison.label,
            comparison.question.settings.erasure,
            *(cell for metric in ids for cell in (row.metrics[metric], row.noise[metric])),
            *(row.seconds, row.calls, row.gap),
            " ".join(metric for metric in ids if metric in row.best),
            " ".join(map(str, row.ties)),
        )
        for row in metric_rows(comparison)
    ]
    return _written(head, rows)


def csv_curves(comparison: "Comparison") -> str:
    """A row per point: p(label) with that share of the units removed or kept. Random orders are numbered from 1."""
    paths = [(result.attribution.method, result.path) for result in comparison.results]
    if comparison.chance:
        paths += [(f"random order {number}", path) for number, path in enumerate(comparison.chance.paths, 1)]
    rows = [
        (name, comparison.label, comparison.question.settings.erasure, float(share), float(gone), float(left))
        for name, path in paths
        for share, gone, left in zip(path.shares, path.removed[:, path.label], path.kept[:, path.label], strict=True)
    ]
    return _written(("method", "label", "erasure", "share", "removed", "kept"), rows)


def _written(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: Cell) -> Cell:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay numbers."""
    if not isinstance(value, str):
        return value if value is None else float(value) if isinstance(value, float) else int(value)
    shown = visible(value)
    return f"'{shown}" if shown.startswith(FORMULA_STARTS) else shown


def as_json(comparison: "Comparison") -> str:
    """All that was found, in full precision."""
    return comparison.as_json()
