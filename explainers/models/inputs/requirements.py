"""What a model needs as input: one text, or a pair such as premise and hypothesis; readable without torch.

A bundle's card names its texts under "texts". The input names of other models are (): they may get one text or two.
"""

from collections.abc import Sequence

from explainers.datasets.example import Example
from explainers.errors import ExplanationError

SINGLE_TEXT = ("text",)
EMPTY_TEXT = "The text is empty. Type at least one word."


def display_input_names(input_names: Sequence[str], texts: int) -> tuple[str, ...]:
    """The names of the texts on the page and in files; a text that stands alone needs no name."""
    if texts == 1:
        return ("",)
    return tuple(each.capitalize() for each in input_names) if len(input_names) == texts else ("Text 1", "Text 2")


def with_articles(input_names: Sequence[str]) -> str:
    """ "a premise and a hypothesis"."""
    return " and ".join(f"{'an' if each[0] in 'aeiou' else 'a'} {each}" for each in input_names)


def to_example(text: str | Example, text_pair: str | None = None) -> Example:
    """The texts as one example. Raises `ExplanationError` if the second text comes in both arguments."""
    if isinstance(text, str):
        return Example(text, text_pair)
    if text_pair is not None:
        raise ExplanationError("The second text is given twice: in the example and as text_pair. Omit one of them.")
    return text


def check_image(name: str, example: Example, *, multimodal: bool) -> None:
    """Raises `ExplanationError` if a multimodal model gets no image or two texts, or a text model an image."""
    if multimodal and example.image is None:
        raise ExplanationError(f"{name} needs an image and a text; the image is missing. Add a PNG or JPEG file.")
    if multimodal and example.pair is not None:
        raise ExplanationError(f"{name} needs an image and one text. Omit the second text.")
    if example.image is not None and not multimodal:
        raise ExplanationError(f"{name} does not read images. Omit the image or choose a multimodal model.")


def check_text_count(name: str, input_names: Sequence[str], example: Example) -> None:
    """Raises `ExplanationError` if a model of pairs gets one text, or a model of single texts two."""
    if input_names == SINGLE_TEXT and example.pair is not None:
        raise ExplanationError(f"{name} reads a single text. Omit the second text or choose a model of pairs.")
    if len(input_names) == 2 and example.pair is None:
        raise ExplanationError(f"{name} needs {with_articles(input_names)}; the {input_names[1]} is missing.")


def check_words_present(name: str, input_names: Sequence[str], example: Example, nonempty: set[int]) -> None:
    """Raises `ExplanationError` if a text has no word; `nonempty` are the numbers of the texts that have some."""
    texts = 1 if example.pair is None else 2
    missing = [number for number in range(texts) if number not in nonempty]
    if not missing:
        return
    if texts == 1 or (len(missing) == 2 and not input_names):
        raise ExplanationError(EMPTY_TEXT)
    if not input_names:
        which = ("first", "second")[missing[0]]
        raise ExplanationError(f"The {which} text is empty. Type at least one word, or omit the second text.")
    reason = f"the {input_names[missing[0]]} is missing" if len(missing) == 1 else "both are missing"
    raise ExplanationError(f"{name} needs {with_articles(input_names)}; {reason}.")
