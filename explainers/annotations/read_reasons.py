"""What people say of given reasons: shares of yes by writer, agreement by question, and a reader's file of marks.

The file is that of `assets/readings/NAME.marks.READER.csv`, which the command `study readings-table` reads.
"""

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from explainers.annotations.formats.tables import guarded_csv
from explainers.annotations.judged import JudgedItem
from explainers.annotations.records import JUDGEMENTS, READ_QUESTIONS, Annotation, Item, ReadReason, latest
from explainers.metrics.bootstrap import Interval, wilson

HOLDS = "holds"
JUDGED = (*READ_QUESTIONS, HOLDS)


@dataclass(frozen=True)
class ReasonShares:
    """By question and `HOLDS` the share of a writer's sentences with yes, each sentence with the mean of its readers.

    `writer` is "" for sentences of unknown writers. Intervals are Wilson's, over sentences.
    """

    writer: str
    readers: int
    shares: Mapping[str, Interval]


def judged_question(annotations: Sequence[Annotation], question: str) -> tuple[JudgedItem, ...]:
    """The newest answers to one of `JUDGED`: places in `JUDGEMENTS`, of `HOLDS` 1 or 0."""
    codes: dict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for annotation, answer in _newest(annotations):
        code = answer.holds if question == HOLDS else JUDGEMENTS.index(answer.judgements[question])
        codes[annotation.item][annotation.annotator] = {question: float(code)}
    return tuple(JudgedItem(item, own) for item, own in codes.items())


def reason_shares(items: Iterable[Item], annotations: Sequence[Annotation]) -> tuple[ReasonShares, ...]:
    """A row per writer, in the order of their names, of the sentences that somebody has read."""
    writers = {item.id: item.reason.writer for item in items if item.reason is not None}
    read: dict[str, dict[str, list[ReadReason]]] = defaultdict(lambda: defaultdict(list))
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


def _share(sentences: Iterable[Sequence[ReadReason]], question: str) -> Interval:
    means = [sum(_yes(answer, question) for answer in answers) / len(answers) for answers in sentences]
    return Interval(sum(means) / len(means), *wilson(sum(means), len(means)), len(means))


def _yes(answer: ReadReason, question: str) -> bool:
    return answer.holds if question == HOLDS else answer.judgements[question] == "yes"


def marks_csv(annotations: Sequence[Annotation], annotator: str) -> str:
    """A person's newest marks, a line per sentence with id, and yes, no or ? for each of `READ_QUESTIONS`."""
    own = [
        (annotation.item, *answer.judgements.values())
        for annotation, answer in _newest(annotations)
        if annotation.annotator == annotator
    ]
    return guarded_csv([("id", *READ_QUESTIONS), *own])


def marks_name(reading: str, annotator: str) -> str:
    """The name of a person's file of marks, NAME.marks.READER.csv."""
    return f"{_in_name(reading)}.marks.{_in_name(annotator)}.csv"


def _in_name(text: str) -> str:
    """The text with a number for every character that separates parts of file names; different texts stay different."""
    return re.sub(r'[\x00-\x1f%./\\:*?"<>|]', lambda match: f"%{ord(match[0]):02X}", text)


def marks_archive(reading: str, annotations: Sequence[Annotation]) -> bytes:
    """A ZIP file with the marks of everybody who has read a reason."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for annotator in dict.fromkeys(annotation.annotator for annotation, _ in _newest(annotations)):
            archive.writestr(marks_name(reading, annotator), marks_csv(annotations, annotator))
    return file.getvalue()


def _newest(annotations: Sequence[Annotation]) -> list[tuple[Annotation, ReadReason]]:
    """The newest version of everybody's answers to the task "read"."""
    return [
        (annotation, annotation.answer)
        for annotation in latest(tuple(annotations))
        if isinstance(annotation.answer, ReadReason)
    ]
