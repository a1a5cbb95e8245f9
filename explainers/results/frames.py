"""A comparison as pandas frames: a row per method and unit, per method, or per curve point."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from explainers.results.attribution import Attribution, ranking
from explainers.results.events import MethodResult, RandomControl

if TYPE_CHECKING:
    from explainers.models.inputs.encoding import Unit

HEAD = ("method", "label", "versus", "erasure")  # `versus` only where one class is explained rather than another
COSTS = {"seconds": "float64", "model_calls": "Int64", "completeness_gap": "float64"}
Classes = Mapping[str, str]  # names of classes: "label", and "versus" where there is one
SURROGATE = re.compile("[\ud800-\udfff]")
SIDES = ("left", "top", "right", "bottom")
MULTIMODAL_PARTS = ("Text", "Picture")  # values of the column `of`: part of the file format, whatever the screen says


def scores(
    attributions: Iterable[Attribution], target: Classes, parts: Sequence[str], kind_of: Callable[["Unit"], str]
) -> pd.DataFrame:
    """Return a row per method and unit; `parts` names the inputs by `Unit.segment`, `kind_of` is that of a decision.

    Offsets count code points of text number `segment`, named `of`; `end` is exclusive.
    Patches have their sides in pixels of the given image.
    """
    rows, head = list[dict[str, Any]](), _head(target)
    for attribution in attributions:
        names = MULTIMODAL_PARTS if attribution.encoding.multimodal else parts
        ranks = np.argsort(ranking(attribution.scores)) + 1
        spreads = attribution.spread or (None,) * len(attribution.scores)
        units = zip(attribution.encoding.units, attribution.scores, ranks, spreads, strict=True)
        rows += [
            {
                "method": attribution.method,
                **head,
                "unit": _valid(unit.text),
                "kind": kind_of(unit),
                "start": unit.start,
                "end": unit.end,
                "segment": unit.segment,
                "of": names[unit.segment],
                **dict(zip(SIDES, unit.box or (None,) * len(SIDES), strict=True)),
                "score": score,
                "rank": int(rank),
                "spread": spread,
            }
            for unit, score, rank, spread in units
        ]
    columns = ["method", *head, "unit", "kind", "start", "end", "segment", "of", *SIDES, "score", "rank", "spread"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({**dict.fromkeys(SIDES, "Int64"), "spread": "float64"})


def metrics(
    results: Sequence[MethodResult], control: RandomControl | None, target: Classes, erasure: str
) -> pd.DataFrame:
    """Return a row per finished method, then the random control; `<metric>_sd` is the standard deviation by sampling.

    The control's `_sd` is over its orders, and it has no cost.
    """
    head = {**_head(target), "erasure": erasure}
    rows: list[dict[str, Any]] = [
        {
            "method": result.attribution.method,
            **head,
            **_with_deviations(result.metrics, result.noise),
            "seconds": result.attribution.seconds,
            "model_calls": result.attribution.model_calls,
            "completeness_gap": result.attribution.gap,
        }
        for result in results
    ]
    if control is not None:
        rows.append({"method": control.method, **head, **_with_deviations(control.metrics, control.deviations)})
    measured = dict.fromkeys(name for row in rows for name in row if name not in ("method", *head, *COSTS))
    return pd.DataFrame(rows, columns=["method", *head, *measured, *COSTS]).astype(COSTS)


def curves(
    results: Sequence[MethodResult], control: RandomControl | None, target: Classes, erasure: str
) -> pd.DataFrame:
    """The target's probability with that share of the units removed, and kept. Random orders are numbered from 1."""
    lines = [(result.attribution.method, result.curves) for result in results]
    if control is not None:
        orders = enumerate(control.curves, start=1)
        lines += [(f"random order {number}", order) for number, order in orders]
    head = {**_head(target), "erasure": erasure}
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
    columns = ["method", *head, "share", "removed", "kept"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _head(target: Classes) -> dict[str, str]:
    return {column: _valid(name) for column, name in target.items()}


def _valid(text: str) -> str:
    """Lone surrogates, which cannot be encoded, as U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def _with_deviations(values: Mapping[str, float], deviations: Mapping[str, float]) -> dict[str, float]:
    return {
        column: number
        for metric, value in values.items()
        for column, number in ((metric, value), (f"{metric}_sd", deviations[metric]))
    }
