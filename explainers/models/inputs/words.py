"""Where the words of a text are, by the boundaries of Unicode's annex 29, and where its sentences are.

Of long texts the sentences are explained first, and then the words of those that matter.

A sentence ends at a line break, and at . ! ? … or their like in other scripts, with closing quotes and brackets, before
a space, unless what follows begins in lower case or the point belongs to an abbreviation or an initial. In tokenised
text, where a space stands before the point, it always ends there.

What has more than `MOST_WORDS` words and marks, as text without points does, is cut into pieces of at most `PIECE`:
after the last comma or other mark in them, or without one at the last space.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate, pairwise

import regex

BOUNDARY = regex.compile(r"\b", regex.WORD | regex.V1)
END = regex.compile(
    r"(?:<br\s*/?>|\n)+"  # a line break, also as it stands in reviews from the web
    r"|(?<=\s)[.!?](?=\s)"
    r"|(?<![.!?…])[.!?…]++[\p{Pe}\p{Pf}\"'”’]*+(?=\s++(?!\p{Ll}))"
    r"|[。！？｡।؟]+[\p{Pe}\p{Pf}]*"
)
ABBREVIATION = regex.compile(r"\b(?:[Mm]rs?|[Mm]s|[Dd]rs?|[Pp]rof|[Ss]t|vs|i\.e|e\.g|(?![IA]\.)\p{Lu})\.\Z")
NUMBERED = regex.compile(r"\b(?:[Nn]o|[Ff]ig|[Vv]ol)\.\Z")  # before a number
MOST_WORDS, PIECE, SHORTEST_PIECE = 100, 40, 10  # words and punctuation marks
MARKS = tuple(",;:)–—，、；：،؛")
LONGEST = 12  # characters in which an abbreviation is looked for
Span = tuple[int, int]


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


def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return the characters of the sentences in order, without the spaces around them; together all but spaces."""
    return tuple(piece for span in _undivided(text) for piece in _pieces(text, *span))


def _undivided(text: str) -> list[Span]:
    """Sentences before the long ones are cut into pieces."""
    spans: list[Span] = []
    begin = 0
    for match in END.finditer(text):
        if _is_abbreviation(text[max(begin, match.end() - LONGEST) : match.end()], text[match.end() :][:LONGEST]):
            continue
        spans.append((begin, match.end()))
        begin = match.end()
    spans.append((begin, len(text)))
    stripped = (_stripped(text, *span) for span in spans)
    return [span for span in stripped if span[0] < span[1]]


def _pieces(text: str, begin: int, end: int) -> list[Span]:
    words = [(begin + start, begin + stop) for start, stop in word_spans(text[begin:end])]
    if len(words) <= MOST_WORDS:
        return [(begin, end)]
    pieces: list[Span] = []
    at = 0
    while len(words) - at > PIECE:
        ends = range(at + SHORTEST_PIECE, min(at + PIECE, len(words) - SHORTEST_PIECE) + 1)
        marks = [stop for stop in ends if text.endswith(MARKS, 0, words[stop - 1][1])]
        gaps = [stop for stop in ends if text[words[stop - 1][1]].isspace()]  # not within "well-known"
        stop = (marks or gaps or ends)[-1]
        pieces.append((words[at][0], words[stop - 1][1]))
        at = stop
    return [*pieces, (words[at][0], end)]


def _is_abbreviation(before: str, after: str) -> bool:
    return bool(ABBREVIATION.search(before) or (NUMBERED.search(before) and after.lstrip()[:1].isdecimal()))


def _stripped(text: str, begin: int, end: int) -> Span:
    """Without spaces at both ends."""
    piece = text[begin:end]
    return begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())


def sentences_of(texts: Sequence[str]) -> tuple[tuple[int, Span], ...]:
    """Return all sentences of an input, each with the number of its text: the place here is the sentence's number."""
    return tuple((segment, span) for segment, text in enumerate(texts) for span in sentence_spans(text))


def pieces_of(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return, for every sentence before the long ones are cut into pieces, the numbers of its pieces in
    `sentences_of`."""
    counts = [len(_pieces(text, *span)) for text in texts for span in _undivided(text)]
    return tuple(tuple(range(begin, end)) for begin, end in pairwise(accumulate(counts, initial=0)))
