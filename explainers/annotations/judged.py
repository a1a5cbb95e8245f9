"""What several people decided about the same items, as numbers that can be compared.

Marks are compared by unit: a span marks every unit of which it covers at least one character, so that half a word marks
the word. Back, neighbouring units become one span, with the spaces between them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explainers.annotations import records
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.words import word_spans

UnitSpan = tuple[int, int]  # start and end (exclusive) in code points


def units_of(spans: Collection[records.Span], unit_spans: Sequence[UnitSpan]) -> set[int]:
    """The numbers of the units that the spans touch."""
    return {
        number
        for number, (start, end) in enumerate(unit_spans)
        if any(span.start < end and start < span.end for span in spans)
    }


def spans_of(units: Collection[int], unit_spans: Sequence[UnitSpan]) -> tuple[records.Span, ...]:
    """In the order of the text. Raises `IndexError` for a number that is no unit's."""
    spans: list[records.Span] = []
    before = -2
    for number in sorted(set(units)):
        if number < 0:
            raise IndexError(f"there is no unit {number}")
        start, end = unit_spans[number]
        if number == before + 1:
            start = spans.pop().start
        spans.append(records.Span(start, end))
        before = number
    return tuple(spans)


def marked_units(marked: records.Marked, encoding: Encoding) -> set[int]:
    """The units of an encoding that a person marked: words by their characters, patches by any shared pixel. Raises
    `ExplanationError` where the units are examples of a prompt, of which no mark says anything."""
    if encoding.examples:
        raise ExplanationError("The marks are in the text, and the units are the examples of the prompt.")
    numbers: set[int] = set()
    for segment, spans in enumerate((marked.spans_of_text, marked.spans_of_pair)):
        own = _of_segment(encoding, segment)
        touched = units_of(spans, [(encoding.units[number].start, encoding.units[number].end) for number in own])
        numbers |= {own[unit] for unit in touched}
    for number, unit in enumerate(encoding.units):
        if unit.box is not None:
            left, top, right, bottom = unit.box
            if any(a < right and left < c and b < bottom and top < d for a, b, c, d in marked.patches):
                numbers.add(number)
    return numbers


def marked_truth(rationale: Sequence[records.Marked], encoding: Encoding) -> NDArray[np.bool_]:
    """True for every unit that at least half of those who gave a rationale marked, (units,)."""
    marks = np.zeros(len(encoding.units))
    for marked in rationale:
        marks[list(marked_units(marked, encoding))] += 1
    return np.asarray(marks * 2 >= max(1, len(rationale)))


def marks_of(units: Collection[int], encoding: Encoding) -> records.Marked:
    """Units of an encoding as marks: spans of either text, and the boxes of patches."""
    spans = []
    for segment in (0, 1):
        own = _of_segment(encoding, segment)
        unit_spans = [(encoding.units[number].start, encoding.units[number].end) for number in own]
        spans.append(spans_of([place for place, number in enumerate(own) if number in units], unit_spans))
    boxes = (encoding.units[number].box for number in sorted(units))
    return records.Marked(spans[0], spans[1], tuple(box for box in boxes if box is not None))


def _of_segment(encoding: Encoding, segment: int) -> list[int]:
    """The numbers of the words of one text, in its order."""
    return [n for n, unit in enumerate(encoding.units) if unit.box is None and unit.segment == segment]


Codes = Mapping[str, float]  # by question: a unit, a method, or the item itself; what was not answered is missing
TextSpan = tuple[int, int, int]  # number of the text, start and end
CLASS = "class"  # the question of `judged_classes`
ORDINAL: tuple[records.Task, ...] = ("rate", "rank")  # tasks whose numbers have an order; those of the others are names


@dataclass(frozen=True)
class JudgedItem:
    """Map each annotator to the `codes` of an item's questions and, where evidence was marked, the `spans`."""

    id: str
    codes: Mapping[str, Codes]
    spans: Mapping[str, frozenset[TextSpan]] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[str, ...]:
        """Those that somebody answered."""
        return tuple(dict.fromkeys(question for own in self.codes.values() for question in own))


def word_encoding(example: Example) -> Encoding:
    """The words of both texts as units, without a model."""
    texts = example.texts
    words = ((segment, text, span) for segment, text in enumerate(texts) for span in word_spans(text))
    units = tuple(Unit(text[slice(*span)], *span, segment) for segment, text, span in words)
    return Encoding(texts, units, (), (), ())


def judged_item(
    item: records.Item,
    marks: Mapping[str, records.Marked],
    encoding: Encoding,
    classes: Mapping[str, str] | None = None,
) -> JudgedItem:
    """The marks of several people on one item, snapped to the units of its encoding. A question is a unit and the class
    that it is evidence for, so that people who gave different `classes` answered different questions."""
    units = {person: marked_units(marked, encoding) for person, marked in marks.items()}
    prefixes = {person: f"{own}: " if own else "" for person, own in (classes or {}).items()}
    codes = {
        person: {f"{prefixes.get(person, '')}{number}": float(number in own) for number in range(len(encoding.units))}
        for person, own in units.items()
    }
    snapped = {person: marks_of(own, encoding) for person, own in units.items()}
    spans = {
        person: frozenset(
            (segment, span.start, span.end)
            for segment, marks in enumerate((marked.spans_of_text, marked.spans_of_pair))
            for span in marks
        )
        for person, marked in snapped.items()
    }
    return JudgedItem(item.id, codes, spans)


def judged_classes(classes: Mapping[str, Mapping[str, str]]) -> tuple[JudgedItem, ...]:
    """The class that each person gave each item, by item and person; "" is a missing answer."""
    names = sorted({name for own in classes.values() for name in own.values()})
    given = {
        item: {person: {CLASS: float(names.index(name))} for person, name in own.items() if name}
        for item, own in classes.items()
    }
    return tuple(JudgedItem(item, codes) for item, codes in given.items() if codes)


def judged_answers(annotations: Sequence[records.Annotation], task: records.Task) -> tuple[JudgedItem, ...]:
    """The newest answers to a task other than marking: labels, verdicts, ranks and ratings as numbers."""
    codes: dict[str, dict[str, Codes]] = {}
    for annotation in records.latest(tuple(annotations)):
        if annotation.task == task and annotation.answer is not None:
            codes.setdefault(annotation.item, {})[annotation.annotator] = answer_codes(annotation.answer)
    return tuple(JudgedItem(item, own) for item, own in codes.items())


def answer_codes(answer: records.Answer) -> Codes:
    """A number per question. Raises `ValueError` for marks and sentences, which are no numbers."""
    if isinstance(answer, records.Several):
        return {question: code for single in answer.answers for question, code in answer_codes(single).items()}
    if isinstance(answer, records.Simulated):
        return {answer.method: float(answer.label)}
    if isinstance(answer, records.Inspected):
        return {answer.method: float(records.VERDICTS.index(answer.verdict))}
    if isinstance(answer, records.Ranked):
        return {method: float(place) for place, method in enumerate(answer.methods, 1)}
    if isinstance(answer, records.ReadReason):
        return {question: float(records.JUDGEMENTS.index(judged)) for question, judged in answer.judgements.items()}
    if isinstance(answer, records.Rated):
        return {
            f"{score.method}: {name}": float(value)
            for score in answer.scores
            for name, value in (("relatedness", score.relatedness), ("fluency", score.fluency))
        }
    raise ValueError(f"{type(answer).__name__} is no number.")
