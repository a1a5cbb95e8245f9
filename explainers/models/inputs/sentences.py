"""Sentences as units: of long texts the sentences are explained first, and then the words of those that matter.

A sentence ends at a line break, and at . ! ? … or their like in other scripts, with closing quotes and brackets, before
a space, unless what follows begins in lower case or the point belongs to an abbreviation or an initial. In tokenised
text, where a space stands before the point, it always ends there.

What has more than `MOST_WORDS` words, as text without points does, is cut into pieces of at most `PIECE` words: at the
last comma or other mark in them, or without one after so many words.
"""

from collections.abc import Sequence

import regex

END = regex.compile(
    r"(?:<br\s*/?>|\n)+"  # a line break, also as it stands in reviews from the web
    r"|(?<=\s)[.!?](?=\s)"
    r"|(?<![.!?…])[.!?…]++[\p{Pe}\p{Pf}\"'”’]*+(?=\s++(?!\p{Ll}))"
    r"|[。！？｡।؟]+[\p{Pe}\p{Pf}]*"
)
ABBREVIATION = regex.compile(r"\b(?:[Mm]rs?|[Mm]s|[Dd]rs?|[Pp]rof|[Ss]t|vs|i\.e|e\.g|(?![IA]\.)\p{Lu})\.\Z")
NUMBERED = regex.compile(r"\b(?:[Nn]o|[Ff]ig|[Vv]ol)\.\Z")  # before a number
MOST_WORDS, PIECE, SHORTEST_PIECE = 100, 40, 10  # words
MARKS = (",", ";", ":", ")", "–", "—")
LONGEST = 12  # characters in which an abbreviation is looked for
Span = tuple[int, int]


def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return the characters of the sentences in order, without the spaces around them; together all but spaces."""
    spans: list[Span] = []
    begin = 0
    for match in END.finditer(text):
        if _is_abbreviation(text[max(begin, match.end() - LONGEST) : match.end()], text[match.end() :][:LONGEST]):
            continue
        spans.append((begin, match.end()))
        begin = match.end()
    spans.append((begin, len(text)))
    stripped = (_stripped(text, *span) for span in spans)
    return tuple(piece for span in stripped if span[0] < span[1] for piece in _pieces(text, *span))


def _pieces(text: str, begin: int, end: int) -> list[Span]:
    words = [match.span() for match in regex.finditer(r"\S+", text, pos=begin, endpos=end)]
    pieces: list[Span] = []
    while len(words) > (PIECE if pieces else MOST_WORDS):
        marks = [at for at in range(SHORTEST_PIECE, PIECE + 1) if text.endswith(MARKS, 0, words[at - 1][1])]
        taken = marks[-1] if marks else PIECE
        pieces.append((words[0][0], words[taken - 1][1]))
        words = words[taken:]
    return [*pieces, (words[0][0], words[-1][1])]


def _is_abbreviation(before: str, after: str) -> bool:
    return bool(ABBREVIATION.search(before) or (NUMBERED.search(before) and after.lstrip()[:1].isdecimal()))


def _stripped(text: str, begin: int, end: int) -> Span:
    """Without spaces at both ends."""
    piece = text[begin:end]
    return begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())


def sentences_of(texts: Sequence[str]) -> tuple[tuple[int, Span], ...]:
    """Return all sentences of an input, each with the number of its text: the place here is the sentence's number."""
    return tuple((segment, span) for segment, text in enumerate(texts) for span in sentence_spans(text))
