"""What people marked in a text or a pair: per person the spans of both texts, as a cell of a table holds them.

[[0, 4], [9, 12]]                                           the spans of one person, in Unicode code points
[{"spans_of_text": [[0, 4]], "spans_of_pair": []}, …]       an object per person, as Annotate writes them
"""

from typing import Any

from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable

Spans = tuple[tuple[int, int], ...]  # start and end (exclusive)
Rationale = tuple[tuple[Spans, Spans], ...]  # per person those of the text and of the second text
FORM = "A rationale is a list of spans, [[0, 4], [9, 12]], or a list of objects with spans_of_text and spans_of_pair."


def parsed_rationale(cell: str, text: str, pair: str | None) -> Rationale:
    """Return what is marked in these texts. Raises `DataUnavailable` for another form, and for spans beyond a text."""
    value = parsed_json(cell)
    if not isinstance(value, list):
        raise DataUnavailable(FORM)
    people = value if any(isinstance(one, dict) for one in value) else [{"spans_of_text": value}] if value else []
    if not all(isinstance(person, dict) for person in people):
        raise DataUnavailable(FORM)
    return tuple(
        (_spans(person.get("spans_of_text", []), text), _spans(person.get("spans_of_pair", []), pair or ""))
        for person in people
    )


def _spans(value: Any, text: str) -> Spans:
    if not isinstance(value, list):
        raise DataUnavailable(FORM)
    spans = []
    for span in value:
        if not (isinstance(span, list) and [type(end) for end in span] == [int, int]):
            raise DataUnavailable(FORM)
        start, end = span
        if not 0 <= start < end <= len(text):
            raise DataUnavailable(f"The span {start} to {end} is not within the text of {len(text):,} characters.")
        spans.append((start, end))
    return tuple(spans)
