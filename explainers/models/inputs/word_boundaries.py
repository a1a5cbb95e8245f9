"""Unicode word boundaries (UAX #29), which hold for accents, emoji and every script."""

import unicodedata
from itertools import pairwise

import regex

BOUNDARY = regex.compile(r"\b", regex.WORD | regex.V1)


def word_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Character spans of the words and punctuation marks of `text`, in order; "..." is one mark, spaces are none."""
    cuts = [0, *(match.start() for match in BOUNDARY.finditer(text)), len(text)]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise(cuts):
        piece = text[start:end]
        if not piece.strip():
            continue
        if spans and spans[-1][1] == start and _is_run(text[spans[-1][0] : end]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(spans)


def _is_run(piece: str) -> bool:
    """One punctuation mark, repeated."""
    return len(set(piece)) == 1 and unicodedata.category(piece[0]).startswith("P")
