"""What a model needs as input: one text, or a pair such as premise and hypothesis; readable without torch.

A bundle's card names its texts under "texts". The input names of other models are (): they may get one text or two.

Warnings about an input that may make the scores misleading.

Whether a text is English is guessed: from its script, from the commonest words of English and of ten other languages,
and from the number of word pieces, since an English tokenizer cuts words of other languages into many.
"""

from collections.abc import Sequence

import regex

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, InputRefused
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.models.inputs.words import word_spans

SINGLE_TEXT = ("text",)
EMPTY_TEXT = "The text is empty. Type at least one word."


def display_input_names(input_names: Sequence[str], texts: int) -> tuple[str, ...]:
    """The names of the texts on the page and in files; a text that stands alone needs no name."""
    if texts == 1:
        return ("",)
    return tuple(name.capitalize() for name in input_names) if len(input_names) == texts else ("Text 1", "Text 2")


def with_articles(input_names: Sequence[str]) -> str:
    """ "a premise and a hypothesis"."""
    return " and ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in input_names)


def to_example(text: str | Example | tuple[str, str], text_pair: str | None = None) -> Example:
    """The texts as one example. Raises `ExplanationError` if the second text comes in both arguments, for a tuple of
    more or fewer than two texts, and for what is no text."""
    if isinstance(text, str):
        return Example(text, text_pair)
    parts: tuple[object, ...] = text if isinstance(text, tuple) else ()
    if not isinstance(text, tuple | Example) or not all(isinstance(part, str) for part in parts):
        kinds = ", ".join(type(part).__name__ for part in parts or (text,))
        one = " Give one of its columns." if hasattr(text, "columns") else ""
        raise ExplanationError(f"An input is a text, a pair of texts (text, text) or an Example, not {kinds}.{one}")
    if isinstance(text, tuple) and len(text) != 2:
        raise ExplanationError(f"A pair has two texts, not {len(text)}.")
    if text_pair is not None:
        raise ExplanationError("The second text is given twice: with the first one and as text_pair. Omit one of them.")
    return Example(*text) if isinstance(text, tuple) else text


def check_image(name: str, example: Example, *, multimodal: bool) -> None:
    """Raises `InputRefused` if a multimodal model gets no image or two texts, or a text model an image."""
    if multimodal and example.image is None:
        raise InputRefused(f"{name} needs an image and a text; the image is missing. Add a PNG or JPEG file.")
    if multimodal and example.pair is not None:
        raise InputRefused(f"{name} needs an image and one text. Omit the second text.")
    if example.image is not None and not multimodal:
        raise InputRefused(f"{name} does not read images. Omit the image or choose a multimodal model.")


def check_text_count(name: str, input_names: Sequence[str], example: Example) -> None:
    """Raises `InputRefused` if a model of pairs gets one text, or a model of single texts two."""
    if input_names == SINGLE_TEXT and example.pair is not None:
        raise InputRefused(f"{name} reads a single text. Omit the second text or choose a model of pairs.")
    if len(input_names) == 2 and example.pair is None:
        raise InputRefused(f"{name} needs {with_articles(input_names)}; the {input_names[1]} is missing.")


def check_words_present(name: str, input_names: Sequence[str], example: Example, nonempty: set[int]) -> None:
    """Raises `InputRefused` if a text has no word; `nonempty` are the numbers of the texts that have some."""
    texts = 1 if example.pair is None else 2
    missing = [number for number in range(texts) if number not in nonempty]
    if not missing:
        return
    if texts == 1 or (len(missing) == 2 and not input_names):
        raise InputRefused(EMPTY_TEXT)
    if not input_names:
        which = ("first", "second")[missing[0]]
        raise InputRefused(f"The {which} text is empty. Type at least one word, or omit the second text.")
    reason = f"the {input_names[missing[0]]} is missing" if len(missing) == 1 else "both are missing"
    raise InputRefused(f"{name} needs {with_articles(input_names)}; {reason}.")


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


def input_warnings(name: str, encoding: Encoding, *, foreign: bool) -> str:
    """The encoding's own warning, and those about equal texts and another language, as one text."""
    warnings = [encoding.warning]
    if len(encoding.texts) == 2 and encoding.texts[0].strip() == encoding.texts[1].strip():
        warnings.append(IDENTICAL)
    if foreign:
        warnings.append(FOREIGN.format(name=name))
    return " ".join(filter(None, warnings))


def erasure_warning(name: str, replacement: str, erasure: Erasure) -> str:
    """Return what to know of an operator on a model without a mask token, which has never seen erased words."""
    if erasure == "mask":
        return (
            f"{name} has no mask token: an erased word becomes the {replacement}, to which the model may react by "
            "itself. “delete” is the safer operator for it."
        )
    if erasure == "zero":
        return f"{name} has never seen an embedding of zeros. “delete” is the safer operator for it."
    return ""


def looks_foreign(encoding: Encoding, unknown: int | None) -> bool:
    """Return whether the texts are probably not English. `unknown` is the id of the unknown token."""
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
