"""Offsets as browsers count them, in UTF-16 code units, and as we do, in code points; an emoji is two of the former."""

from bisect import bisect_left

from explainers.annotations.records import Span
from explainers.errors import DataUnavailable


def utf16_offsets(text: str) -> list[int]:
    """The UTF-16 offset of every code point, and of the end."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets


def to_utf16(span: Span, offsets: list[int]) -> tuple[int, int]:
    """`offsets` are those of the text."""
    return offsets[span.start], offsets[span.end]


def from_utf16(start: int, end: int, offsets: list[int]) -> Span:
    """Raises `DataUnavailable` for an offset within a character, and for one beyond the text."""
    first, last = bisect_left(offsets, start), bisect_left(offsets, end)
    if last >= len(offsets) or offsets[first] != start or offsets[last] != end:
        raise DataUnavailable(
            f"The offsets {start} to {end} are not those of characters of the text, in UTF-16 code units."
        )
    return checked_span(first, last, len(offsets) - 1)


def checked_span(start: int, end: int, length: int) -> Span:
    """Raises `DataUnavailable` for a span that is empty or ends beyond the text."""
    if not 0 <= start < end <= length:
        raise DataUnavailable(f"The span {start} to {end} is not within the text of {length:,} characters.")
    return Span(start, end)
