"""Plausibility of all methods on items with human rationales: records per item and method, and a table of both.

An item counts where the model predicts its true class, for which people marked the evidence, and where they marked some
but not all of the units that the model reads. All methods explain the predicted class. Methods that ask for many passes
explain the first `costly` of these items only; chance is computed on each method's own items.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.annotations.judged import marked_truth
from explainers.annotations.records import Item
from explainers.attribution.kernel_shap import KernelShap
from explainers.errors import ExplanationError
from explainers.evaluation.names import POSITION
from explainers.evaluation.record_file import Record, appending, resume_records
from explainers.methods.registry import Method, MethodSpec
from explainers.metrics import bootstrap, plausibility
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.report import evaluation_tables, tables
from explainers.results.decision import Settings
from explainers.results.manifest import libraries

FILE = "items.jsonl"  # a record per item; that of each of its methods is
# {"item": …, "method": …, "values": {metric: value}, "chance": {metric: value}, "seconds": …}
COSTLY = 10  # passes; methods that ask for more are costly


@dataclass(frozen=True)
class PlausibilityPlan:
    """`costly` is the number of items for methods of more than `COSTLY` passes."""

    specs: tuple[MethodSpec, ...]
    settings: Settings
    costly: int

    def signature(self, model: FrozenModel, items: Sequence[Item]) -> Record:
        """Records of runs with equal signatures belong together."""
        names = {
            "methods": [spec.id for spec in self.specs],
            "settings": self.settings.as_dict(),
            "costly": self.costly,
        }
        return {"model": [model.name, model.version], "items": [item.id for item in items], **names}


@dataclass(frozen=True)
class Measured:
    """`right` of the items were classified correctly, and `counted` of these have marks in what the model reads."""

    records: tuple[Record, ...]
    right: int
    counted: int
    cut: int  # of the counted ones, how many are longer than what the model reads
    units: float  # mean number of units of a counted item
    marked: float  # mean share of these that people marked


def measure_plausibility(
    model: FrozenModel, items: Sequence[Item], plan: PlausibilityPlan, out: Path, progress: Callable[[str], None]
) -> Measured:
    """Measures the items and writes each to `out` as soon as it is done; one that was interrupted goes on.

    Raises `ExplanationError` if `out` holds another run, and if no item can be measured.
    """
    lines, started = resume_records(out / FILE, plan.signature(model, items)), time.monotonic()
    counted = sum(bool(line["records"]) for line in lines)
    with appending(out / FILE) as append:
        for number, item in enumerate(items[len(lines) :], len(lines) + 1):
            line = _line(model, item, plan, costly=counted < plan.costly)
            counted += bool(line["records"])
            lines.append(line)
            append(line)
            progress(f"{number} of {len(items)} items, {time.monotonic() - started:.0f} s")
    if not counted:
        raise ExplanationError(
            f"None of the {len(items):,} items has a class that the model predicts and marks in what it reads."
        )
    return _measured(lines)


def _line(model: FrozenModel, item: Item, plan: PlausibilityPlan, *, costly: bool) -> Record:
    model = model.pooled(PredictionCache())
    encoding = model.encode(item.example, plan.settings.unit)
    label = int(model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool)).argmax())
    truth = marked_truth(item.rationale or (), encoding)
    line = {"right": label == item.example.label, "cut": bool(encoding.warning), "units": len(truth), "records": []}
    if not line["right"] or not plausibility.is_defined(truth):
        return line
    chance = plausibility.plausibility_by_chance(truth)
    records = [_record(item, POSITION, truth, tuple(-float(place) for place in range(len(truth))), 0.0)]
    for spec, method in _methods(plan, len(truth), costly=costly):
        started = time.monotonic()
        attribution = method.attribute(model, encoding, label)
        records.append(_record(item, spec.id, truth, attribution.scores, time.monotonic() - started))
    return {**line, "marked": float(truth.mean()), "records": [{**record, "chance": chance} for record in records]}


def _record(item: Item, method: str, truth: plausibility.Truth, scores: tuple[float, ...], seconds: float) -> Record:
    return {"item": item.id, "method": method, "values": plausibility.plausibility(truth, scores), "seconds": seconds}


def _methods(plan: PlausibilityPlan, units: int, *, costly: bool) -> Iterator[tuple[MethodSpec, Method]]:
    """KernelSHAP draws no more samples than the settings say, where it would draw more for a long text."""
    settings = plan.settings
    for spec in plan.specs:
        if costly or spec.passes(units, settings.samples, settings.steps) <= COSTLY:
            method = spec.made_with(settings)
            yield spec, replace(method, most=settings.samples) if isinstance(method, KernelShap) else method


def _measured(lines: Sequence[Record]) -> Measured:
    counted = [line for line in lines if line["records"]]
    return Measured(
        tuple(record for line in counted for record in line["records"]),
        right=sum(line["right"] for line in lines),
        counted=len(counted),
        cut=sum(line["cut"] for line in counted),
        units=float(np.mean([line["units"] for line in counted])),
        marked=float(np.mean([line["marked"] for line in counted])),
    )


def plausibility_rows(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Per method every metric as an interval over its items, its chance value there, and the gain over it, paired."""
    by_method: dict[str, list[Record]] = {}
    for record in records:
        by_method.setdefault(record["method"], []).append(record)
    rows = []
    for method, mine in by_method.items():
        row: dict[str, Any] = {"method": method, "items": len(mine)}
        for metric in plausibility.PLAUSIBILITY:
            values, chance = (np.array([row[part][metric.id] for row in mine]) for part in ("values", "chance"))
            row[metric.id], row[f"{metric.id}_gain"] = (
                vars(bootstrap.mean_interval(values)),
                vars(bootstrap.difference_interval(values, chance)),
            )
            row[f"{metric.id}_chance"] = float(chance.mean())
        rows.append(row | {"seconds": float(np.mean([row["seconds"] for row in mine]))})
    return rows


PLAUSIBILITY_FILE = "plausibility.json"  # in a bundle's folder and in that of a run
TABLE_FILE = "plausibility.md"
PLAUSIBILITY_NOTE = (
    "Means with half of the 95 % bootstrap interval over items; in brackets what a random order is expected to reach "
    "on the same items. ° not clearly better than that, by the paired interval of the difference. Agreement with "
    "people does not mean that a method shows what the model used."
)
ABOUT = (
    "`{name}`: {items:,} items, of which {right:,} are classified correctly, and {counted:,} of these have marks in "
    "what the model reads: {units:.0f} units on average, {share:.0f} % of them marked. {cut:,} of the {counted:,} are "
    "longer than that, and only the units that the model reads count. Methods explain the predicted class; those that "
    "ask the model more than 10 times per item explain fewer items (LIME and KernelSHAP with {samples} samples, "
    "integrated gradients with {steps} steps)."
)


def plausibility_markdown(table: Mapping[str, Any]) -> str:
    """A sentence about the items, the table, and how to read it."""
    data = table["data"]
    about = ABOUT.format(**data, **table["settings"], share=100 * data["marked"])
    rows = sorted(table["rows"], key=lambda row: row["method"] == POSITION)  # the control last
    return "\n\n".join([about, TABLE.markdown(rows), PLAUSIBILITY_NOTE])


def plausibility_section(path: Path) -> Iterator[str]:
    """The section of a model card: command and table; nothing where the file is missing."""
    if path.is_file():
        table = json.loads(path.read_text(encoding="utf-8"))
        yield "## Plausibility"
        yield tables.command_block(table["command"])
        yield plausibility_markdown(table)


def _metric(metric: plausibility.PlausibilityMetric) -> tables.TableColumn[Mapping[str, Any]]:
    """The mean, whether it is clearly better than a random order, and what that is expected to reach."""

    def by_chance(row: Mapping[str, Any]) -> str:
        clear = "" if row[f"{metric.id}_gain"]["low"] > 0 else "°"
        return f"{clear} ({row[f'{metric.id}_chance']:.3f})"

    return tables.TableColumn(f"{metric.name} ↑", lambda row: row[metric.id], tables.plus_minus(), note=by_chance)


TABLE: tables.Table[Mapping[str, Any]] = tables.Table(
    (
        evaluation_tables.METHOD,
        *map(_metric, plausibility.PLAUSIBILITY),
        tables.key_column("items", written=","),
        tables.key_column("seconds", written=".2f"),
    )
)


def plausibility_table(
    model: FrozenModel, measured: Measured, settings: Settings, command: str, data: str, items: int
) -> dict[str, Any]:
    """Everything but the data's texts."""

    about = {name: getattr(measured, name) for name in ("right", "counted", "cut", "units", "marked")}
    return {
        "model": {"name": model.name, "version": model.version},
        "data": {"name": data, "items": items, **about},
        "settings": settings.as_dict(),
        "command": command,
        "libraries": libraries(),
        "rows": plausibility_rows(measured.records),
    }
