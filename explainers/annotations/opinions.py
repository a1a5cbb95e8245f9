"""What people say of given reasons and which methods they prefer, by writer and by method.

What people say of reasons is written as a file in the form of `assets/readings/NAME.marks.READER.csv`, which the
command `study readings-table` reads.
"""

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explainers.annotations import judged, records
from explainers.annotations.formats.tables import guarded_csv
from explainers.metrics import agreement, bootstrap, plausibility

HOLDS = "holds"
JUDGED = (*records.READ_QUESTIONS, HOLDS)
Kind = Literal["rank", "relatedness", "fluency"]
KINDS: tuple[Kind, ...] = ("rank", "relatedness", "fluency")
LOWER_IS_BETTER: tuple[Kind, ...] = ("rank",)
ByItem = dict[str, dict[str, float]]  # item → method → value
FEW_METHODS = "No item has two methods with both a preference and a metric that differ."


@dataclass(frozen=True)
class ReasonShares:
    """The share of a writer's sentences with yes, by question and for `HOLDS`; a sentence is the mean of its readers.

    `writer` is "" for sentences of unknown writers. Intervals are Wilson's, over sentences.
    """

    writer: str
    readers: int
    shares: Mapping[str, bootstrap.Interval]


def judged_question(annotations: Sequence[records.Annotation], question: str) -> tuple[judged.JudgedItem, ...]:
    """The newest answers to one of `JUDGED`: places in `JUDGEMENTS`, of `HOLDS` 1 or 0."""
    codes: dict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for annotation, answer in _newest(annotations):
        code = answer.holds if question == HOLDS else records.JUDGEMENTS.index(answer.judgements[question])
        codes[annotation.item][annotation.annotator] = {question: float(code)}
    return tuple(judged.JudgedItem(item, own) for item, own in codes.items())


def reason_shares(items: Iterable[records.Item], annotations: Sequence[records.Annotation]) -> tuple[ReasonShares, ...]:
    """A row per writer, in the order of their names, of the sentences that somebody has read."""
    writers = {item.id: item.reason.writer for item in items if item.reason is not None}
    read: dict[str, dict[str, list[records.ReadReason]]] = defaultdict(lambda: defaultdict(list))
    readers: dict[str, set[str]] = defaultdict(set)
    for annotation, answer in _newest(annotations):
        if annotation.item in writers:
            writer = writers[annotation.item]
            read[writer][annotation.item].append(answer)
            readers[writer].add(annotation.annotator)
    return tuple(
        ReasonShares(
            writer, len(readers[writer]), {question: _share(read[writer].values(), question) for question in JUDGED}
        )
        for writer in sorted(read)
    )


def _share(sentences: Iterable[Sequence[records.ReadReason]], question: str) -> bootstrap.Interval:
    means = [sum(_yes(answer, question) for answer in answers) / len(answers) for answers in sentences]
    return bootstrap.Interval(sum(means) / len(means), *bootstrap.wilson(sum(means), len(means)), len(means))


def _yes(answer: records.ReadReason, question: str) -> bool:
    return answer.holds if question == HOLDS else answer.judgements[question] == "yes"


def marks_csv(annotations: Sequence[records.Annotation], annotator: str) -> str:
    """A person's newest marks, a line per sentence with id, and yes, no or ? for each of `READ_QUESTIONS`."""
    own = [
        (annotation.item, *answer.judgements.values())
        for annotation, answer in _newest(annotations)
        if annotation.annotator == annotator
    ]
    return guarded_csv([("id", *records.READ_QUESTIONS), *own])


def marks_name(reading: str, annotator: str) -> str:
    """The name of a person's file of marks, NAME.marks.READER.csv."""
    return f"{_in_name(reading)}.marks.{_in_name(annotator)}.csv"


def _in_name(text: str) -> str:
    """The text with a number for every character that separates parts of file names; different texts stay different."""
    return re.sub(r'[\x00-\x1f%./\\:*?"<>|]', lambda match: f"%{ord(match[0]):02X}", text)


def marks_archive(reading: str, annotations: Sequence[records.Annotation]) -> bytes:
    """A ZIP file with the marks of everybody who has read a reason."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for annotator in dict.fromkeys(annotation.annotator for annotation, _ in _newest(annotations)):
            archive.writestr(marks_name(reading, annotator), marks_csv(annotations, annotator))
    return file.getvalue()


def _newest(annotations: Sequence[records.Annotation]) -> list[tuple[records.Annotation, records.ReadReason]]:
    """The newest version of everybody's answers to the task "read"."""
    return [
        (annotation, annotation.answer)
        for annotation in records.latest(tuple(annotations))
        if isinstance(annotation.answer, records.ReadReason)
    ]


@dataclass(frozen=True)
class Preference:
    """A method's mean rank (1 is the best) or rating (1 to 5), the interval over items, and how often it was judged."""

    method: str
    kind: Kind
    interval: bootstrap.Interval
    judgements: int


@dataclass(frozen=True)
class Correlation:
    """The mean over items of Spearman's ρ between preference and a metric; None with a reason if no item has one."""

    interval: bootstrap.Interval | None
    reason: str = ""


@dataclass(frozen=True)
class DifferentUnits:
    """An item with the same answer for different reasons: the share of marked units among as many of the highest-scored
    ones, beside the share that a random order is expected to reach."""

    item: str
    shared: float
    random_order: float


def judgements(annotations: Sequence[records.Annotation], kind: Kind) -> dict[str, dict[str, list[float]]]:
    """Map each item and method to how people judged, each in the newest version."""
    values: dict[str, dict[str, list[float]]] = {}
    for annotation in records.latest(tuple(annotations)):
        pairs: list[tuple[str, float]] = []
        if kind == "rank" and isinstance(annotation.answer, records.Ranked):
            pairs = [(method, float(place)) for place, method in enumerate(annotation.answer.methods, 1)]
        elif kind != "rank" and isinstance(annotation.answer, records.Rated):
            pairs = [(score.method, float(getattr(score, kind))) for score in annotation.answer.scores]
        for method, value in pairs:
            values.setdefault(annotation.item, {}).setdefault(method, []).append(value)
    return values


def preferences(annotations: Sequence[records.Annotation], kind: Kind) -> tuple[Preference, ...]:
    """The methods, the preferred first. An item counts once, with the mean over the people who judged it."""
    by_item = judgements(annotations, kind)
    rows = []
    for method in dict.fromkeys(method for own in by_item.values() for method in own):
        items = [own[method] for own in by_item.values() if method in own]
        interval = bootstrap.mean_interval(np.array([np.mean(values) for values in items]))
        rows.append(Preference(method, kind, interval, sum(map(len, items))))
    return tuple(sorted(rows, key=lambda row: row.interval.mean * (1 if kind in LOWER_IS_BETTER else -1)))


def mean_preferences(annotations: Sequence[records.Annotation], kind: Kind) -> ByItem:
    """Map each item and method to the mean over people, of ranks with a minus, so that higher is better in any kind."""
    sign = -1 if kind in LOWER_IS_BETTER else 1
    by_item = judgements(annotations, kind)
    return {
        item: {method: sign * float(np.mean(values)) for method, values in own.items()} for item, own in by_item.items()
    }


def preference_follows(
    preferred: Mapping[str, Mapping[str, float]], metric: Mapping[str, Mapping[str, float]]
) -> Correlation:
    """Over the items that have both: ρ across the methods of an item, whose mean is 0 if preference ignores the metric.

    Higher is better in both. Items where all methods are equal in either do not count.
    """
    values = []
    for item, own in preferred.items():
        methods = [method for method in own if method in metric.get(item, {})]
        one, other = tuple(own[method] for method in methods), tuple(metric[item][method] for method in methods)
        if len(set(one)) > 1 and len(set(other)) > 1:
            values.append(agreement.spearman(one, other))
    return Correlation(bootstrap.mean_interval(np.array(values))) if values else Correlation(None, FEW_METHODS)


def right_for_other_reasons(
    marks: Mapping[str, AbstractSet[int]],
    scores: Mapping[str, tuple[float, ...]],
    predicted: Mapping[str, int],
    label: Mapping[str, int],
) -> tuple[DifferentUnits, ...]:
    """The items whose predicted class is people's own, where a method finds no more of the marked units than a
    random order.

    All four are by item: the units that people marked, a method's score of every unit, and the classes. Items of which
    all units or none are marked do not count. The largest difference to a random order
    comes first.
    """
    items = []
    for item, units in marks.items():
        if item not in scores or item not in label or predicted.get(item) != label[item]:
            continue
        truth = np.isin(np.arange(len(scores[item])), sorted(units))
        if plausibility.is_defined(truth):
            shared, random_order = plausibility.f1(truth, scores[item]), float(truth.mean())
            items += [DifferentUnits(item, shared, random_order)] if shared <= random_order else []
    return tuple(sorted(items, key=lambda item: item.shared - item.random_order))
