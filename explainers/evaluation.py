"""All methods on a set of texts: every faithfulness figure under every way of erasing, with intervals and controls.

An explanation is made once, erasing as the settings say, and is then scored under all operators. One line of JSON per
text is written as soon as it is done, so that an interrupted evaluation goes on where it stopped:

    OUT/texts.jsonl    {"text": number, "method": id, "erasure": …, "aopc_c": …, …, "seconds": …, "calls": …}
    OUT/table.json, OUT/table.csv    means with 95 % paired-bootstrap intervals over the texts
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from explainers.attribution.random_floor import RandomFloor
from explainers.comparison import ORDERS, Question, estimates
from explainers.datasets.example import Example
from explainers.entry import Entry
from explainers.errors import ExplanationError
from explainers.explanation import Attribution
from explainers.metrics.faithfulness import METRICS, Metric
from explainers.metrics.intervals import Interval, paired
from explainers.metrics.masking import PERCENTS, Asked, MaskingPath, masking_path, top
from explainers.metrics.sensitivity import sensitivity
from explainers.models.classifier import TextClassifier
from explainers.models.encoding import ERASURES, Encoding, Erasure
from explainers.models.meter import Meter
from explainers.settings import Settings

RANDOM, POSITION, AVGSEN = "random", "position", "avgsen"
CONTROLS = {RANDOM: f"Random, mean of {ORDERS} orders", POSITION: "Position only (first words first)"}
TOO_DEAR = ("sampled", "fine-tuned")  # to explain ten changed texts for each text
Record = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is evaluated: `sensitive` is the number of texts on which AvgSen is measured."""

    entries: tuple[Entry, ...]
    settings: Settings = field(default_factory=Settings)
    erasures: tuple[Erasure, ...] = ERASURES
    sensitive: int = 0


def evaluate(model: TextClassifier, texts: Sequence[Example], plan: Plan, out: Path) -> Iterator[int]:
    """Explains and measures every text, one after the other; yields how many are done. Goes on from `OUT/texts.jsonl`.

    Raises `ExplanationError` if that file belongs to another evaluation.
    """
    out.mkdir(parents=True, exist_ok=True)
    path, signature = out / "texts.jsonl", _signature(model, texts, plan)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    known = [json.loads(line) for line in lines if line.endswith("}")]
    if known and known[0] != signature:
        raise ExplanationError(f"{path} belongs to another evaluation. Choose another folder or delete it.")
    done = {record["text"] for record in known[1:] if "done" in record}
    whole = [record for record in known[1:] if record["text"] in done]  # a text that was cut off is done again
    with path.open("w", encoding="utf-8") as file:
        for record in [signature, *whole]:
            print(json.dumps(record), file=file)
        for number, example in enumerate(texts):
            if number not in done:
                other = model.encode(texts[(number + 1) % len(texts)], plan.settings.unit)
                for record in of_text(model, model.encode(example, plan.settings.unit), other, number, plan):
                    print(json.dumps({"text": number, **record}), file=file)
                print(json.dumps({"text": number, "done": True}), file=file, flush=True)
            yield number + 1


def of_text(model: TextClassifier, encoding: Encoding, other: Encoding, number: int, plan: Plan) -> Iterator[Record]:
    """The figures of every method on one text, under every operator; nothing for a text without units."""
    if not encoding.units:
        return
    everything = np.ones((1, len(encoding.units)), dtype=bool)
    label = int(model.probabilities(encoding, everything).argmax())
    question = Question(model, encoding, label, plan.settings)
    asked = {erasure: Asked(model, encoding, erasure) for erasure in plan.erasures}
    for entry in plan.entries:
        try:
            found = final(entry, question)
        except ExplanationError as error:
            yield {"method": entry.id, "failed": str(error)}
            continue
        cost = {"seconds": found.seconds, "calls": found.model_calls}
        if number < plan.sensitive and entry.kind not in TOO_DEAR:
            cost[AVGSEN] = sensitivity(scorer(entry, question), encoding, other, seed=plan.settings.seed + number)
        for erasure in plan.erasures:
            yield {"method": entry.id, "erasure": erasure, **figures(asked[erasure], found.scores, label), **cost}
    for erasure in plan.erasures:
        orders = [
            RandomFloor(seed=1000 * (plan.settings.seed + 1) + draw).attribute(model, encoding, label).scores
            for draw in range(ORDERS)
        ]
        each = [figures(asked[erasure], order, label) for order in orders]
        yield {"method": RANDOM, "erasure": erasure} | {id: float(np.mean([one[id] for one in each])) for id in each[0]}
        first = tuple(float(-place) for place in range(len(encoding.units)))
        yield {"method": POSITION, "erasure": erasure, **figures(asked[erasure], first, label)}


def final(entry: Entry, question: Question) -> Attribution:
    """The last of a method's estimates."""
    *_, last = estimates(entry, question, Meter())
    return last


def scorer(entry: Entry, question: Question) -> Callable[[Encoding], tuple[float, ...]]:
    """The method's scores of another input for its predicted class."""

    def scores(encoding: Encoding) -> tuple[float, ...]:
        everything = np.ones((1, len(encoding.units)), dtype=bool)
        label = int(question.model.probabilities(encoding, everything).argmax())
        return final(entry, Question(question.model, encoding, label, question.settings)).scores

    return scores


def figures(asked: Asked, scores: tuple[float, ...], label: int) -> dict[str, float]:
    """Every metric, asking only where a metric looks and no further than the first decision flip."""
    units = len(scores)
    cuts = tuple(sorted({0, units, *(top(units, percent) for percent in PERCENTS)}))
    path = masking_path(asked, scores, label, cuts)
    found = {metric.id: metric.score(path) for metric in METRICS if metric.id != "dffot"}
    return found | {"dffot": _flip(asked, scores, label, path)}


def _flip(asked: Asked, scores: tuple[float, ...], label: int, path: MaskingPath) -> float:
    """DFFOT exactly: the counts are asked one after the other, in blocks."""
    units = len(scores)
    first = int(path.removed[0].argmax())
    for start in range(1, units + 1, 5):
        counts = (0, *range(start, min(start + 5, units + 1)))
        classes = masking_path(asked, scores, label, counts, kept=False).removed.argmax(axis=1)
        flipped = [count for count, its in zip(counts, classes, strict=True) if its != first]
        if flipped:
            return float(flipped[0] / units)
    return 1.0


def table(records: Iterable[Record]) -> list[Record]:
    """A row per method and operator: each figure with its interval, and its distance to random, paired by text.

    `gain` is positive where the method is better than random, whatever the metric's direction.
    """
    by: dict[tuple[str, str], dict[int, Record]] = {}
    for record in records:
        if "erasure" in record:
            by.setdefault((record["method"], record["erasure"]), {})[record["text"]] = record
    rows = []
    for (method, erasure), mine in by.items():
        row: Record = {"method": method, "erasure": erasure, "texts": len(mine)}
        for metric in METRICS:
            floor = by.get((RANDOM, erasure), {})
            row[metric.id] = vars(paired(_column(mine, metric.id)))
            if method != RANDOM and floor:
                row[f"{metric.id}_gain"] = vars(paired(_gains(mine, floor, metric)))
        for name in ("seconds", "calls", AVGSEN):
            found = [record[name] for record in mine.values() if name in record]
            if found:
                row[name] = vars(paired(np.asarray(found))) if name == AVGSEN else float(np.mean(found))
        rows.append(row)
    return rows


def _column(records: dict[int, Record], name: str) -> NDArray[np.float64]:
    return np.asarray([record[name] for record in records.values()], dtype=float)


def _gains(mine: dict[int, Record], floor: dict[int, Record], metric: Metric) -> NDArray[np.float64]:
    sign = 1 if metric.higher_is_better else -1
    return np.asarray([sign * (mine[text][metric.id] - floor[text][metric.id]) for text in mine if text in floor])


def difference(records: Iterable[Record], one: str, two: str, metric: Metric, erasure: str) -> Interval:
    """How much better `one` is than `two`, paired by text."""
    kept = [record for record in records if record.get("erasure") == erasure]
    first, second = ({r["text"]: r for r in kept if r["method"] == name} for name in (one, two))
    return paired(_gains(first, second, metric))


def read(out: Path) -> list[Record]:
    """The records of an evaluation, without its head."""
    lines = (out / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def _signature(model: TextClassifier, texts: Sequence[Example], plan: Plan) -> Record:
    settings = plan.settings
    return {
        "model": [model.name, model.version],
        "methods": [entry.id for entry in plan.entries],
        "texts": len(texts),
        "erasures": list(plan.erasures),
        "settings": [settings.unit, settings.erasure, settings.samples, settings.steps, settings.seed],
        "sensitive": plan.sensitive,
        "torch": torch.__version__,
    }
