"""Character spans to the units of a text, and back.

A span marks every unit of which it covers at least one character, so that half a word marks the word. Back,
neighbouring units become one span, with the spaces between them.
"""

from collections.abc import Collection, Sequence

from explainers.annotations.records import Marked, Span
from explainers.models.inputs.encoding import Encoding

UnitSpan = tuple[int, int]  # start and end (exclusive) in code points


def units_of(spans: Collection[Span], unit_spans: Sequence[UnitSpan]) -> set[int]:
    """The numbers of the units that the spans touch."""
    return {
        number
        for number, (start, end) in enumerate(unit_spans)
        if any(span.start < end and start < span.end for span in spans)
    }


def spans_of(units: Collection[int], unit_spans: Sequence[UnitSpan]) -> tuple[Span, ...]:
    """In the order of the text. Raises `IndexError` for a number that is no unit's."""
    spans: list[Span] = []
    before = -2
    for number in sorted(set(units)):
        if number < 0:
            raise IndexError(f"there is no unit {number}")
        start, end = unit_spans[number]
        if number == before + 1:
            start = spans.pop().start
        spans.append(Span(start, end))
        before = number
    return tuple(spans)


def marked_units(marked: Marked, encoding: Encoding) -> set[int]:
    """The units of an encoding that a person marked: words by their characters, patches by any shared pixel."""
    numbers: set[int] = set()
    for segment, spans in enumerate((marked.spans_of_text, marked.spans_of_pair)):
        own = _of_segment(encoding, segment)
        touched = units_of(spans, [(encoding.units[number].start, encoding.units[number].end) for number in own])
        numbers |= {own[each] for each in touched}
    for number, unit in enumerate(encoding.units):
        if unit.box is not None:
            left, top, right, bottom = unit.box
            if any(a < right and left < c and b < bottom and top < d for a, b, c, d in marked.patches):
                numbers.add(number)
    return numbers


def marks_of(units: Collection[int], encoding: Encoding) -> Marked:
    """Units of an encoding as marks: spans of either text, and the boxes of patches."""
    spans = []
    for segment in (0, 1):
        own = _of_segment(encoding, segment)
        unit_spans = [(encoding.units[number].start, encoding.units[number].end) for number in own]
        spans.append(spans_of([place for place, number in enumerate(own) if number in units], unit_spans))
    boxes = (encoding.units[number].box for number in sorted(units))
    return Marked(spans[0], spans[1], tuple(box for box in boxes if box is not None))


def _of_segment(encoding: Encoding, segment: int) -> list[int]:
    """The numbers of the words of one text, in its order."""
    return [n for n, unit in enumerate(encoding.units) if unit.box is None and unit.segment == segment]
