"""Warnings about an input that may make the scores misleading.

Whether a text is English is guessed: from its script, from the commonest words of English and of ten other languages,
and from the number of word pieces, since an English tokenizer cuts words of other languages into many.
"""

import regex

from explainers.models.inputs.encoding import Encoding
from explainers.models.inputs.word_boundaries import word_spans

IDENTICAL = "Both texts are the same, letter by letter."
FOREIGN = (
    "This does not look like English, and {name} was trained on English only: the scores below describe how the model "
    "treats these words, not what they mean."
)
MIN_WORDS = 5  # words; fewer are not enough for a guess
SCRIPT, UNKNOWN = 0.3, 0.1  # shares of letters that are not Latin, and of tokens that the vocabulary does not have
PIECES, MANY_PIECES, RARE = 1.6, 2.5, 0.1  # pieces per word; share of English words that counts as none
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


def input_warnings(name: str, encoding: Encoding, unknown: int | None, *, english_only: bool) -> str:
    """The encoding's own warning, and those about equal texts and another language, as one text."""
    warnings = [encoding.warning]
    if len(encoding.texts) == 2 and encoding.texts[0].strip() == encoding.texts[1].strip():
        warnings.append(IDENTICAL)
    if english_only and looks_foreign(encoding, unknown):
        warnings.append(FOREIGN.format(name=name))
    return " ".join(filter(None, warnings))


def looks_foreign(encoding: Encoding, unknown: int | None) -> bool:
    """Whether the texts are probably not English. `unknown` is the id of the unknown token."""
    text = " ".join(encoding.texts)
    words = [text[start:end].lower() for start, end in word_spans(text) if LETTER.search(text[start:end])]
    if len(words) < MIN_WORDS:
        return False
    if len(NOT_LATIN.findall(text)) > SCRIPT * len(LETTER.findall(text)):
        return True
    english, others = (sum(word in vocabulary for word in words) for vocabulary in (ENGLISH, OTHERS))
    pieces, unknown_tokens = pieces_per_word(encoding), unknown_share(encoding, unknown)
    return (
        unknown_tokens > UNKNOWN
        or others > max(english, 1)
        or (pieces > PIECES and english <= RARE * len(words))
        or pieces > MANY_PIECES
    )


def units_with_letters(encoding: Encoding) -> frozenset[int]:
    """The numbers of the units other than punctuation, numbers and emoji."""
    return frozenset(number for number, unit in enumerate(encoding.units) if LETTER.search(unit.text))


def pieces_per_word(encoding: Encoding) -> float:
    """Tokens for each unit with letters, on average; 1 where the units are tokens."""
    lettered = units_with_letters(encoding)
    return sum(owner in lettered for owner in encoding.owners) / max(1, len(lettered))


def unknown_share(encoding: Encoding, unknown: int | None) -> float:
    """The share of unknown tokens among those of units with letters."""
    lettered = units_with_letters(encoding)
    owned = [token for token, owner in zip(encoding.ids, encoding.owners, strict=True) if owner in lettered]
    return sum(token == unknown for token in owned) / max(1, len(owned))
