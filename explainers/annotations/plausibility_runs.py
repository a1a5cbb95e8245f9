"""Plausibility of all methods on items with human rationales: records per item and method, and a row per method.

An item counts where the model predicts its true class, for which people marked the evidence, and where they marked some
but not all of the units that the model reads. All methods explain the predicted class. Methods that ask for many passes
explain the first `costly` of these items only; chance is computed on each method's own items.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.annotations.records import Item
from explainers.annotations.units import marked_units
from explainers.attribution.kernel_shap import KernelShap
from explainers.errors import ExplanationError
from explainers.evaluation.names import POSITION
from explainers.methods.spec import Method, MethodSpec
from explainers.metrics.intervals import paired
from explainers.metrics.plausibility import PLAUSIBILITY, Truth, is_defined, plausibility, plausibility_by_chance
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.settings import Settings

FILE = "items.jsonl"  # a signature, then a line per item with the records of its methods
COSTLY = 10  # passes; methods that ask for more are costly
Record = dict[str, Any]  # {"item": …, "method": …, "values": {metric: value}, "chance": {metric: value}, "seconds": …}


@dataclass(frozen=True)
class PlausibilityPlan:
    """`costly` is the number of items for methods of more than `COSTLY` passes."""

    specs: tuple[MethodSpec, ...]
    settings: Settings
    costly: int

    def signature(self, model: FrozenModel, items: Sequence[Item]) -> Record:
        """Records of runs with equal signatures belong together."""
        names = {"methods": [spec.id for spec in self.specs], "settings": asdict(self.settings), "costly": self.costly}
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


def marked_truth(item: Item, encoding: Encoding) -> Truth:
    """True for every unit that at least half of those who gave a rationale marked, (units,)."""
    truth = np.zeros(len(encoding.units))
    for marked in item.rationale or ():
        truth[list(marked_units(marked, encoding))] += 1
    return truth * 2 >= max(1, len(item.rationale or ()))


def measure_plausibility(
    model: FrozenModel, items: Sequence[Item], plan: PlausibilityPlan, out: Path, progress: Callable[[str], None]
) -> Measured:
    """Measures the items and writes each to `out` as soon as it is done; one that was interrupted goes on.

    Raises `ExplanationError` if `out` holds another run, and if no item can be measured.
    """
    out.mkdir(parents=True, exist_ok=True)
    path, signature = out / FILE, plan.signature(model, items)
    done = _lines(path)
    if done and done[0] != signature:
        raise ExplanationError(f"{path} belongs to another run. Choose another folder or delete it.")
    path.write_text("".join(json.dumps(line) + "\n" for line in done or [signature]), encoding="utf-8")
    lines, started = done[1:], time.monotonic()
    counted = sum(bool(line["records"]) for line in lines)
    with path.open("a", encoding="utf-8") as file:
        for number, item in enumerate(items[len(lines) :], len(lines) + 1):
            line = _line(model, item, plan, costly=counted < plan.costly)
            counted += bool(line["records"])
            lines.append(line)
            print(json.dumps(line), file=file, flush=True)
            progress(f"{number} of {len(items)} items, {time.monotonic() - started:.0f} s")
    if not counted:
        raise ExplanationError(
            f"None of the {len(items):,} items has a class that the model predicts and marks in what it reads."
        )
    return _measured(lines)


def _lines(path: Path) -> list[Record]:
    """Up to the first line that is not whole, because the run was interrupted there."""
    lines: list[Record] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines


def _line(model: FrozenModel, item: Item, plan: PlausibilityPlan, *, costly: bool) -> Record:
    model = model.pooled(AnswerPool())
    encoding = model.encode(item.example, plan.settings.unit)
    label = int(model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool)).argmax())
    truth = marked_truth(item, encoding)
    line = {"right": label == item.example.label, "cut": bool(encoding.warning), "units": len(truth), "records": []}
    if not line["right"] or not is_defined(truth):
        return line
    chance = plausibility_by_chance(truth)
    records = [_record(item, POSITION, truth, tuple(-float(each) for each in range(len(truth))), 0.0)]
    for spec, method in _methods(plan, len(truth), costly=costly):
        started = time.monotonic()
        attribution = method.attribute(model, encoding, label)
        records.append(_record(item, spec.id, truth, attribution.scores, time.monotonic() - started))
    return {**line, "marked": float(truth.mean()), "records": [{**record, "chance": chance} for record in records]}


def _record(item: Item, method: str, truth: Truth, scores: tuple[float, ...], seconds: float) -> Record:
    return {"item": item.id, "method": method, "values": plausibility(truth, scores), "seconds": seconds}


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
        for metric in PLAUSIBILITY:
            values, chance = (np.array([each[part][metric.id] for each in mine]) for part in ("values", "chance"))
            row[metric.id], row[f"{metric.id}_gain"] = vars(paired(values)), vars(paired(values - chance))
            row[f"{metric.id}_chance"] = float(chance.mean())
        rows.append(row | {"seconds": float(np.mean([each["seconds"] for each in mine]))})
    return rows
