"""Sentences as units: of long texts the sentences are explained first, and then the words of those that matter.

A sentence ends at a line break, and at . ! ? … or their like in other scripts, with closing quotes and brackets, before
a space, unless what follows begins in lower case or the point belongs to an abbreviation or an initial. In tokenised
text, where a space stands before the point, it always ends there.
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
    return tuple(span for span in (_stripped(text, *span) for span in spans) if span[0] < span[1])


def _is_abbreviation(before: str, after: str) -> bool:
    return bool(ABBREVIATION.search(before) or (NUMBERED.search(before) and after.lstrip()[:1].isdecimal()))


def _stripped(text: str, begin: int, end: int) -> Span:
    """Without spaces at both ends."""
    piece = text[begin:end]
    return begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())


def sentences_of(texts: Sequence[str]) -> tuple[tuple[int, Span], ...]:
    """Return all sentences of an input, each with the number of its text: the place here is the sentence's number."""
    return tuple((segment, span) for segment, text in enumerate(texts) for span in sentence_spans(text))
