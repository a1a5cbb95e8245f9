"""A comparison as pandas frames: a row per method and unit, per method, or per curve point."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from explainers.results.attribution import ranking

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

HEAD = ("method", "label", "erasure")
COSTS = {"seconds": "float64", "model_calls": "Int64", "completeness_gap": "float64"}
SURROGATE = re.compile("[\ud800-\udfff]")
SIDES = ("left", "top", "right", "bottom")
MULTIMODAL_PARTS = ("Text", "Picture")  # values of the column `of`: part of the file format, whatever the screen says


def scores(comparison: "Comparison") -> pd.DataFrame:
    """Offsets count code points of text number `segment`, named `of`; `end` is exclusive.

    Patches have their sides in pixels of the given image.
    """
    parts = MULTIMODAL_PARTS if comparison.question.encoding.multimodal else comparison.names
    label, rows = _valid(comparison.label), list[dict[str, Any]]()
    for result in comparison.results:
        attribution = result.attribution
        ranks = np.argsort(ranking(attribution.scores)) + 1
        spreads = attribution.spread or (None,) * len(attribution.scores)
        units = zip(attribution.encoding.units, attribution.scores, ranks, spreads, strict=True)
        rows += [
            {
                "method": attribution.method,
                "label": label,
                "unit": _valid(unit.text),
                "kind": unit.kind,
                "start": unit.start,
                "end": unit.end,
                "segment": unit.segment,
                "of": parts[unit.segment],
                **dict(zip(SIDES, unit.box or (None,) * len(SIDES), strict=True)),
                "score": score,
                "rank": int(rank),
                "spread": spread,
            }
            for unit, score, rank, spread in units
        ]
    columns = ["method", "label", "unit", "kind", "start", "end", "segment", "of", *SIDES, "score", "rank", "spread"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({**dict.fromkeys(SIDES, "Int64"), "spread": "float64"})


def metrics(comparison: "Comparison") -> pd.DataFrame:
    """The finished methods, then the random control; `<metric>_sd` is the standard deviation by sampling.

    The control's `_sd` is over its orders, and it has no cost.
    """
    head = {"label": _valid(comparison.label), "erasure": comparison.question.settings.erasure}
    rows: list[dict[str, Any]] = [
        {
            "method": result.attribution.method,
            **head,
            **_with_deviations(result.metrics, result.noise),
            "seconds": result.attribution.seconds,
            "model_calls": result.attribution.model_calls,
            "completeness_gap": result.attribution.gap,
        }
        for result in comparison.displayed_results
    ]
    control = comparison.random_control
    if control is not None:
        rows.append({"method": control.method, **head, **_with_deviations(control.metrics, control.deviations)})
    measured = dict.fromkeys(name for row in rows for name in row if name not in (*HEAD, *COSTS))
    return pd.DataFrame(rows, columns=[*HEAD, *measured, *COSTS]).astype(COSTS)


def curves(comparison: "Comparison") -> pd.DataFrame:
    """p(label) with that share of the units removed, and kept. Random orders are numbered from 1."""
    lines = [(result.attribution.method, result.curves) for result in comparison.results]
    if comparison.random_control is not None:
        orders = enumerate(comparison.random_control.curves, start=1)
        lines += [(f"random order {number}", order) for number, order in orders]
    head = {"label": _valid(comparison.label), "erasure": comparison.question.settings.erasure}
    parts = [
        pd.DataFrame(
            {
                "method": name,
                **head,
                "share": line.shares,
                "removed": line.removed[:, line.label],
                "kept": line.kept[:, line.label],
            }
        )
        for name, line in lines
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*HEAD, "share", "removed", "kept"])


def _valid(text: str) -> str:
    """Lone surrogates, which cannot be encoded, as U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def _with_deviations(values: Mapping[str, float], deviations: Mapping[str, float]) -> dict[str, float]:
    return {
        column: number
        for metric, value in values.items()
        for column, number in ((metric, value), (f"{metric}_sd", deviations[metric]))
    }
