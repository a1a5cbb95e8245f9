import pytest

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.models.asking import (
    SINGLE,
    check_count,
    check_picture,
    check_words,
    example_of,
    in_a_sentence,
    text_names,
)

NLI = ("premise", "hypothesis")


@pytest.mark.parametrize(
    ("asks", "texts", "names"),
    [(NLI, 2, ("Premise", "Hypothesis")), ((), 2, ("Text 1", "Text 2")), ((), 1, ("",)), (SINGLE, 1, ("",))],
)
def test_texts_are_called_what_the_model_calls_them(asks: tuple[str, ...], texts: int, names: tuple[str, ...]) -> None:
    assert text_names(asks, texts) == names


def test_articles_are_right() -> None:
    assert in_a_sentence(("answer", "question")) == "an answer and a question"


def test_a_text_and_its_pair_are_one_example() -> None:
    assert example_of("a", "b") == Example("a", "b")
    assert example_of("a") == example_of(Example("a")) == Example("a")
    with pytest.raises(ExplanationError, match="given twice"):
        example_of(Example("a", "b"), "b")


@pytest.mark.parametrize(
    ("asks", "example", "sentence"),
    [
        (NLI, Example("a"), "m asks for a premise and a hypothesis; the hypothesis is missing."),
        (SINGLE, Example("a", "b"), "m reads a single text, and a second one was given. Leave it away,"),
        (SINGLE, Example("a", ""), "m reads a single text, and a second one was given. Leave it away,"),
    ],
)
def test_too_few_and_too_many_texts_are_a_sentence(asks: tuple[str, ...], example: Example, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        check_count("m", asks, example)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("example", [Example("a"), Example("a", "b")])
def test_of_a_model_of_which_nobody_knows_both_are_allowed(example: Example) -> None:
    check_count("m", (), example)


@pytest.mark.parametrize(
    ("asks", "read", "sentence"),
    [
        (NLI, {0}, "m asks for a premise and a hypothesis; the hypothesis is missing."),
        (NLI, {1}, "m asks for a premise and a hypothesis; the premise is missing."),
        (NLI, set(), "m asks for a premise and a hypothesis; both are missing."),
        ((), {0}, "The second text is empty. Type at least one word, or give only one text."),
        ((), {1}, "The first text is empty."),
        ((), set(), "The text is empty: there is nothing to explain. Type at least one word."),
    ],
)
def test_a_text_of_a_pair_without_words_is_a_sentence(asks: tuple[str, ...], read: set[int], sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        check_words("m", asks, Example(" ", " "), read)
    assert str(raised.value).startswith(sentence)


PICTURE = Picture(b"x")


@pytest.mark.parametrize(
    ("example", "pictured", "sentence"),
    [
        (Example("a"), True, "m asks for a picture and a text; the picture is missing. Add a PNG or JPEG file."),
        (Example("a", "b"), True, "m asks for a picture and a text; the picture is missing."),
        (Example("a", "b", picture=PICTURE), True, "m asks for a picture and one text, and a second text was given."),
        (Example("a", picture=PICTURE), False, "m reads no pictures, and one was given. Leave it away, or choose"),
    ],
)
def test_a_picture_that_is_missing_or_unwanted_is_a_sentence(example: Example, pictured: bool, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        check_picture("m", example, pictured=pictured)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(("example", "pictured"), [(Example("a", picture=PICTURE), True), (Example("a", "b"), False)])
def test_a_picture_where_it_is_asked_for_is_let_through(example: Example, pictured: bool) -> None:
    check_picture("m", example, pictured=pictured)
