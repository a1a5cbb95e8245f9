"""All methods on a set of texts: every faithfulness figure under every way of erasing, with intervals and controls.

An explanation is made once, erasing as the settings say, and is then scored under all operators. A text's lines
of JSON are written as soon as it and all texts before it are done, so that an interrupted evaluation goes on where it
stopped, and one with more methods, or with a method fitted again, computes only what is new:

    OUT/texts.jsonl    {"text": number, "method": id, "weights": checksum, "figures": {operator: {metric: …}}, …}
    OUT/table.json, OUT/table.csv    means with 95 % paired-bootstrap intervals over the texts
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from explainers.attribution.random_floor import RandomFloor
from explainers.comparison import Question, estimates
from explainers.datasets.example import Example
from explainers.entry import Entry
from explainers.errors import ExplanationError
from explainers.evaluation_names import AVGSEN, CONTROLS, ORDERS, POSITION, RANDOM
from explainers.explanation import Attribution
from explainers.learned.weights import place
from explainers.methods import fitting
from explainers.metrics import evidence
from explainers.metrics.faithfulness import METRICS, Metric
from explainers.metrics.intervals import Interval, paired
from explainers.metrics.masking import PERCENTS, Asked, MaskingPath, masking_path, masks_of, top
from explainers.metrics.sensitivity import sensitivity
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import ERASURES, Encoding, Erasure
from explainers.models.meter import Meter
from explainers.models.processes import shared_out
from explainers.settings import Settings

log = logging.getLogger(__name__)

TOO_DEAR = ("sampled", "fine-tuned")  # to explain ten changed texts for each text
Record = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is evaluated: `sensitive` is the number of texts on which AvgSen is measured."""

    entries: tuple[Entry, ...]
    settings: Settings = field(default_factory=Settings)
    erasures: tuple[Erasure, ...] = ERASURES
    sensitive: int = 0


def evaluate(model: FrozenModel, texts: Sequence[Example], plan: Plan, out: Path, processes: int = 1) -> Iterator[int]:
    """Explains and measures every text; yields how many are done, in their order. Goes on from `OUT/texts.jsonl`.

    Raises `ExplanationError` if that file belongs to other texts, another model or other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    path, signature = out / "texts.jsonl", _signature(model, texts, plan)
    known = list(_lines(path)) if path.is_file() else []
    if known and known[0] != signature:
        raise ExplanationError(f"{path} belongs to another evaluation. Choose another folder or delete it.")
    kept = [record for record in known[1:] if "failed" not in record]  # what failed is tried again
    done = {(record["text"], record["method"], record["weights"]) for record in kept}
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(record) + "\n" for record in (signature, *kept)), encoding="utf-8")
    fresh.replace(path)

    def work(number: int) -> list[Record]:
        other = texts[(number + 1) % len(texts)]
        return list(of_text(model, texts[number], other, number, plan, done))

    with path.open("a", encoding="utf-8") as file, closing(shared_out(work, len(texts), processes)) as found:
        for number, records in enumerate(found):
            for record in records:
                print(json.dumps(record), file=file, flush=True)
            yield number + 1


def of_text(
    model: FrozenModel, example: Example, other: Example, number: int, plan: Plan, done: set[tuple[int, str, str]]
) -> Iterator[Record]:
    """The figures of every method on one text that are not `done`; nothing for a text without units."""
    encoding = model.encode(example, plan.settings.unit)
    entries = fitting(plan.entries, encoding.texts, pictured=encoding.pictured)
    wanted = {each: weights_of(model, each) for each in (*(entry.id for entry in entries), *CONTROLS)}
    missing = [each for each, weights in wanted.items() if (number, each, weights) not in done]
    if not encoding.units or not missing:
        return
    everything = np.ones((1, len(encoding.units)), dtype=bool)
    label = int(model.probabilities(encoding, everything).argmax())
    question = Question(model, encoding, label, plan.settings)
    scores: dict[str, list[tuple[float, ...]]] = {}
    records: dict[str, Record] = {}
    for entry in (each for each in entries if each.id in missing):
        record = records[entry.id] = {"text": number, "method": entry.id, "weights": wanted[entry.id]}
        found = _explained(entry, question, record)
        if found is not None:
            scores[entry.id] = [found.scores]
            if number < plan.sensitive and entry.kind not in TOO_DEAR:
                lent, seed = model.encode(other, plan.settings.unit), plan.settings.seed + number
                with suppress(Exception):  # the figure is then missing for this text
                    record[AVGSEN] = sensitivity(scorer(entry, question), encoding, lent, seed=seed)
    for control, orders in _controls(model, encoding, plan.settings.seed).items():
        if control in missing:
            scores[control] = orders
            records[control] = {"text": number, "method": control, "weights": ""}
    asked = [Asked(model, encoding, erasure) for erasure in plan.erasures]
    for each in asked:
        _ask_together(each, [order for orders in scores.values() for order in orders])
    for method, record in records.items():
        if method in scores:
            record["figures"] = {
                each.erasure: _mean([figures(each, order, label) for order in scores[method]]) for each in asked
            }
            record["evidence"] = _evidence(question, example, method, scores[method])
        yield record


def _explained(entry: Entry, question: Question, record: Record) -> Attribution | None:
    """The explanation; what it cost, or why there is none, goes into the record."""
    try:
        found = final(entry, question)
    except ExplanationError as error:
        record["failed"] = str(error)
    except Exception as error:  # a mistake of ours must not cost hours of the others
        log.exception("%s failed on text %d", entry.id, record["text"])
        record["failed"] = f"Something went wrong inside Crosslight ({type(error).__name__})."
    else:
        record |= {"seconds": found.seconds, "calls": found.model_calls}
        return found
    return None


def _ask_together(asked: Asked, orders: Sequence[tuple[float, ...]]) -> None:
    """Asks what all methods will need in large batches; the answers are remembered. Later flips are asked singly."""
    units = len(asked.encoding.units)
    cuts = tuple(sorted({0, units, *(top(units, percent) for percent in PERCENTS)}))
    early = tuple(range(units * 2 // 5 + 1))
    masks = [
        masks_of(order, points, kept=kept) for order in orders for points, kept in ((cuts, True), (early, False))
    ]  # fmt: skip
    if masks:
        asked.probabilities(np.vstack(masks))


def _controls(model: FrozenModel, encoding: Encoding, seed: int) -> dict[str, list[tuple[float, ...]]]:
    """Scores that have nothing to do with the model."""
    orders = [
        RandomFloor(seed=1000 * (seed + 1) + draw).attribute(model, encoding, 0).scores for draw in range(ORDERS)
    ]  # fmt: skip
    return {RANDOM: orders, POSITION: [tuple(float(-place) for place in range(len(encoding.units)))]}


def _evidence(
    question: Question, example: Example, method: str, orders: Sequence[tuple[float, ...]]
) -> dict[str, float]:
    """How well the scores find what the label follows from; nothing where that is not known."""
    if example.evidence is None or question.label != example.label:
        return {}
    if method == RANDOM:
        return evidence.chance(question.encoding, example.evidence)
    return evidence.found(question.encoding, example.evidence, orders[0])


def _mean(figures: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([each[name] for each in figures])) for name in figures[0]}


def weights_of(model: FrozenModel, method: str) -> str:
    """The checksum of the weights that a learned method uses, so that fitting it again makes its figures old."""
    base, _, variant = method.partition(":")
    try:
        card = place(model.name, model.version, "aml" if base == "faml" else base, variant).card
        return str(card.get("sha256", ""))[:12]
    except ExplanationError:
        return ""


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


def table(records: Sequence[Record]) -> list[Record]:
    """A row per method and operator: each figure with its interval, and its distance to random, paired by text.

    `gain` is positive where the method is better than random, whatever the metric's direction.
    """
    by: dict[str, dict[int, Record]] = {}
    for record in records:
        if "figures" in record:
            by.setdefault(record["method"], {})[record["text"]] = record
    erasures = dict.fromkeys(erasure for mine in by.values() for each in mine.values() for erasure in each["figures"])
    rows = []
    for erasure in erasures:
        for method, mine in by.items():
            row: Record = {"method": method, "erasure": erasure, "texts": len(mine)}
            for metric in METRICS:
                row[metric.id] = vars(paired(_column(mine, erasure, metric.id)))
                if method != RANDOM and RANDOM in by:
                    row[f"{metric.id}_gain"] = vars(paired(_gains(mine, by[RANDOM], erasure, metric)))
            for name in ("seconds", "calls", AVGSEN):
                found = [record[name] for record in mine.values() if name in record]
                if found:
                    row[name] = vars(paired(np.asarray(found))) if name == AVGSEN else float(np.mean(found))
            row |= _of_evidence(mine, by.get(RANDOM, {}) if method != RANDOM else {})
            rows.append(row)
    return rows


def _of_evidence(mine: dict[int, Record], chance: dict[int, Record]) -> Record:
    """Each figure where it is known, and its distance to chance, paired by text."""
    row: Record = {}
    for name in evidence.FIGURES:
        own, other = (
            {text: record["evidence"][name] for text, record in each.items() if name in record.get("evidence", {})}
            for each in (mine, chance)
        )
        if own:
            row[name] = vars(paired(np.asarray(list(own.values()))))
            gains = [own[text] - other[text] for text in own if text in other]
            row |= {f"{name}_gain": vars(paired(np.asarray(gains)))} if gains else {}
    return row


def _column(records: dict[int, Record], erasure: str, metric: str) -> NDArray[np.float64]:
    return np.asarray([record["figures"][erasure][metric] for record in records.values()], dtype=float)


def _gains(mine: dict[int, Record], others: dict[int, Record], erasure: str, metric: Metric) -> NDArray[np.float64]:
    """How much better, text by text, on the texts that both have."""
    sign = 1 if metric.higher_is_better else -1
    both = [text for text in mine if text in others]
    one, two = ({text: records[text] for text in both} for records in (mine, others))
    return sign * (_column(one, erasure, metric.id) - _column(two, erasure, metric.id))


def difference(records: Sequence[Record], one: str, two: str, metric: Metric, erasure: str) -> Interval:
    """How much better `one` is than `two`, paired by text."""
    first, second = ({r["text"]: r for r in records if r["method"] == name and "figures" in r} for name in (one, two))
    return paired(_gains(first, second, erasure, metric))


def read(out: Path, entries: Iterable[str], model: FrozenModel) -> list[Record]:
    """The records of these methods, as fitted now, and of the controls."""
    wanted = {(each, weights_of(model, each)) for each in (*entries, *CONTROLS)}
    return [each for each in list(_lines(out / "texts.jsonl"))[1:] if (each["method"], each["weights"]) in wanted]


def _lines(path: Path) -> Iterator[Record]:
    """What was written in full; a line that was cut off is left out."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _given(example: Example) -> list[str | None]:
    """What tells one input from another: its texts, and of a picture its content or its file's name."""
    picture = example.picture
    if picture is None:
        return [example.text, example.pair]
    seen = picture.path.name if picture.path else hashlib.sha256(picture.content).hexdigest()
    return [example.text, example.pair, seen]


def _signature(model: FrozenModel, texts: Sequence[Example], plan: Plan) -> Record:
    settings = plan.settings
    digest = hashlib.sha256(json.dumps([_given(each) for each in texts]).encode()).hexdigest()
    return {
        "model": [model.name, model.version],
        "texts": [len(texts), digest[:12]],
        "erasures": list(plan.erasures),
        "settings": [settings.unit, settings.erasure, settings.samples, settings.steps, settings.seed],
        "sensitive": plan.sensitive,
        "torch": torch.__version__,
    }
