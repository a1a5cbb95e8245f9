"""What a reader must know about a text before believing the figures, without being told that it is wrong.

Whether a text is English is guessed: from its script, from the commonest words of English and of ten other languages,
and from the number of word pieces, since a tokenizer of English cuts other languages' words into many.
"""

import regex

from explainers.models.encoding import Encoding
from explainers.models.words import words

IDENTICAL = "Both texts are the same, letter by letter."
FOREIGN = (
    "This does not look like English, and {name} has learned from English only: the figures below are about what the "
    "model does with these words, not about the language."
)
FEWEST = 5  # words; of fewer nothing can be guessed
SCRIPT, UNKNOWN = 0.3, 0.1  # shares of letters that are not Latin, and of tokens that the vocabulary does not have
PIECES, MANY_PIECES, RARE = 1.6, 2.5, 0.1  # pieces per word; share of English words that is next to none
LETTER, NOT_LATIN = regex.compile(r"\p{L}"), regex.compile(r"(?!\p{Latin})\p{L}")
COMMON = (
    "the a an of and or but to in on at is are was were it its he she they his her their this that these those with "
    "for from by as be been not no i you we my your who which there has have had do does than so very too all some"
)
ELSEWHERE = (
    "der die das dem ein eine einen einer und ist nicht ich es sich mit auf von zu für im wie auch "  # German
    "le la les un une et est que qui dans pour ce cette il elle je au aux "  # French
    "el los las en por se lo del muy más de di che non è sono della "  # Spanish, Italian
    "het een van niet met zijn os um uma não com och att som är på af er jeg nie"  # Dutch, Portuguese, Nordic, Polish
)
ENGLISH, OTHERS = frozenset(COMMON.split()), frozenset(ELSEWHERE.split())


def notices(name: str, encoding: Encoding, unknown: int | None, *, english: bool) -> str:
    """Sentences about this input: what its encoding says already, equal texts, another language."""
    found = [encoding.notice]
    if len(encoding.texts) == 2 and encoding.texts[0].strip() == encoding.texts[1].strip():
        found.append(IDENTICAL)
    if english and looks_foreign(encoding, unknown):
        found.append(FOREIGN.format(name=name))
    return " ".join(filter(None, found))


def looks_foreign(encoding: Encoding, unknown: int | None) -> bool:
    """Whether the texts are probably not English. `unknown` is the id of the unknown token."""
    text = " ".join(encoding.texts)
    said = [text[start:end].lower() for start, end in words(text) if LETTER.search(text[start:end])]
    if len(said) < FEWEST:
        return False
    if len(NOT_LATIN.findall(text)) > SCRIPT * len(LETTER.findall(text)):
        return True
    english, others = (sum(word in known for word in said) for known in (ENGLISH, OTHERS))
    pieces, strange = pieces_per_word(encoding), share_unknown(encoding, unknown)
    return (
        strange > UNKNOWN
        or others > max(english, 1)
        or (pieces > PIECES and english <= RARE * len(said))
        or pieces > MANY_PIECES
    )


def with_letters(encoding: Encoding) -> frozenset[int]:
    """The numbers of the units that are no punctuation, number or emoji."""
    return frozenset(number for number, unit in enumerate(encoding.units) if LETTER.search(unit.text))


def pieces_per_word(encoding: Encoding) -> float:
    """Tokens for each unit with letters, on average; 1 where the units are tokens."""
    named = with_letters(encoding)
    return sum(owner in named for owner in encoding.owners) / max(1, len(named))


def share_unknown(encoding: Encoding, unknown: int | None) -> float:
    """Of the tokens of units with letters."""
    named = with_letters(encoding)
    owned = [token for token, owner in zip(encoding.ids, encoding.owners, strict=True) if owner in named]
    return sum(token == unknown for token in owned) / max(1, len(owned))
