"""Where the words of a text are: the boundaries of Unicode's annex 29."""

import unicodedata
from itertools import pairwise

import regex

BOUNDARY = regex.compile(r"\b", regex.WORD | regex.V1)


def word_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Character spans of the words and punctuation marks of `text`, in order; "..." is one mark, spaces are none."""
    cuts = [0, *(match.start() for match in BOUNDARY.finditer(text)), len(text)]
    spans: list[tuple[int, int]] = []
    repeated = ""  # the mark of which the last span is made; empty where it is none
    for start, end in pairwise(cuts):
        piece = text[start:end]
        if not piece.strip():
            continue
        mark = piece[0] if _is_run(piece) else ""
        if mark and mark == repeated and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        repeated = mark
    return tuple(spans)


def _is_run(piece: str) -> bool:
    """One punctuation mark, repeated."""
    return len(set(piece)) == 1 and unicodedata.category(piece[0]).startswith("P")
