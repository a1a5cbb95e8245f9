"""What a model asks for: one text, or a pair such as premise and hypothesis; readable without torch.

A bundle's card says it under "texts". Of other models nobody knows, so theirs is (), and one text or two may come.
"""

from collections.abc import Sequence

from explainers.datasets.example import Example
from explainers.errors import ExplanationError

SINGLE = ("text",)
EMPTY = "The text is empty: there is nothing to explain. Type at least one word."


def text_names(asks: Sequence[str], texts: int) -> tuple[str, ...]:
    """How the texts are called on the page and in files; a text that stands alone needs no name."""
    if texts == 1:
        return ("",)
    return tuple(each.capitalize() for each in asks) if len(asks) == texts else ("Text 1", "Text 2")


def in_a_sentence(asks: Sequence[str]) -> str:
    """ "a premise and a hypothesis"."""
    return " and ".join(f"{'an' if each[0] in 'aeiou' else 'a'} {each}" for each in asks)


def example_of(text: str | Example, text_pair: str | None = None) -> Example:
    """From what somebody typed. A pair that is given twice is nobody's wish."""
    if isinstance(text, str):
        return Example(text, text_pair)
    if text_pair is not None:
        raise ExplanationError("The second text is given twice: in the example and as text_pair. Leave one away.")
    return text


def check_picture(name: str, example: Example, *, pictured: bool) -> None:
    """Raises `ExplanationError` if the model reads pictures and none came, or the other way round."""
    if pictured and example.picture is None:
        raise ExplanationError(f"{name} asks for a picture and a text; the picture is missing. Add a PNG or JPEG file.")
    if pictured and example.pair is not None:
        raise ExplanationError(f"{name} asks for a picture and one text, and a second text was given. Leave it away.")
    if example.picture is not None and not pictured:
        raise ExplanationError(
            f"{name} reads no pictures, and one was given. Leave it away, or choose a model of pictures such as scenes."
        )


def check_count(name: str, asks: Sequence[str], example: Example) -> None:
    """Raises `ExplanationError` if the model reads pairs and one text came, or the other way round."""
    if asks == SINGLE and example.pair is not None:
        raise ExplanationError(
            f"{name} reads a single text, and a second one was given. Leave it away, or choose a model of pairs."
        )
    if len(asks) == 2 and example.pair is None:
        raise ExplanationError(f"{name} asks for {in_a_sentence(asks)}; the {asks[1]} is missing.")


def check_words(name: str, asks: Sequence[str], example: Example, read: set[int]) -> None:
    """Raises `ExplanationError` if one of the texts has no word; `read` are the numbers of those that have."""
    texts = 1 if example.pair is None else 2
    missing = [number for number in range(texts) if number not in read]
    if not missing:
        return
    if texts == 1 or (len(missing) == 2 and not asks):
        raise ExplanationError(EMPTY)
    if not asks:
        which = ("first", "second")[missing[0]]
        raise ExplanationError(f"The {which} text is empty. Type at least one word, or give only one text.")
    said = f"the {asks[missing[0]]} is missing" if len(missing) == 1 else "both are missing"
    raise ExplanationError(f"{name} asks for {in_a_sentence(asks)}; {said}.")
