import pytest

from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.models.inputs.requirements import (
    SINGLE_TEXT,
    check_image,
    check_text_count,
    check_words_present,
    display_input_names,
    to_example,
    with_articles,
)

NLI = ("premise", "hypothesis")


@pytest.mark.parametrize(
    ("input_names", "texts", "names"),
    [(NLI, 2, ("Premise", "Hypothesis")), ((), 2, ("Text 1", "Text 2")), ((), 1, ("",)), (SINGLE_TEXT, 1, ("",))],
)
def test_texts_have_the_models_input_names(input_names: tuple[str, ...], texts: int, names: tuple[str, ...]) -> None:
    assert display_input_names(input_names, texts) == names


def test_articles_are_right() -> None:
    assert with_articles(("answer", "question")) == "an answer and a question"


def test_a_text_and_its_pair_are_one_example() -> None:
    assert to_example("a", "b") == Example("a", "b")
    assert to_example("a") == to_example(Example("a")) == Example("a")
    with pytest.raises(ExplanationError, match="given twice"):
        to_example(Example("a", "b"), "b")


@pytest.mark.parametrize(
    ("input_names", "example", "sentence"),
    [
        (NLI, Example("a"), "m needs a premise and a hypothesis; the hypothesis is missing."),
        (SINGLE_TEXT, Example("a", "b"), "m reads a single text. Omit the second text"),
        (SINGLE_TEXT, Example("a", ""), "m reads a single text. Omit the second text"),
    ],
)
def test_too_few_and_too_many_texts_are_a_sentence(
    input_names: tuple[str, ...], example: Example, sentence: str
) -> None:
    with pytest.raises(ExplanationError) as raised:
        check_text_count("m", input_names, example)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("example", [Example("a"), Example("a", "b")])
def test_a_model_without_input_names_accepts_one_text_or_two(example: Example) -> None:
    check_text_count("m", (), example)


@pytest.mark.parametrize(
    ("input_names", "nonempty", "sentence"),
    [
        (NLI, {0}, "m needs a premise and a hypothesis; the hypothesis is missing."),
        (NLI, {1}, "m needs a premise and a hypothesis; the premise is missing."),
        (NLI, set(), "m needs a premise and a hypothesis; both are missing."),
        ((), {0}, "The second text is empty. Type at least one word, or omit the second text."),
        ((), {1}, "The first text is empty."),
        ((), set(), "The text is empty. Type at least one word."),
    ],
)
def test_a_text_of_a_pair_without_words_is_a_sentence(
    input_names: tuple[str, ...], nonempty: set[int], sentence: str
) -> None:
    with pytest.raises(ExplanationError) as raised:
        check_words_present("m", input_names, Example(" ", " "), nonempty)
    assert str(raised.value).startswith(sentence)


IMAGE = InputImage(b"x")


@pytest.mark.parametrize(
    ("example", "multimodal", "sentence"),
    [
        (Example("a"), True, "m needs an image and a text; the image is missing. Add a PNG or JPEG file."),
        (Example("a", "b"), True, "m needs an image and a text; the image is missing."),
        (Example("a", "b", image=IMAGE), True, "m needs an image and one text. Omit the second text."),
        (Example("a", image=IMAGE), False, "m does not read images. Omit the image"),
    ],
)
def test_a_missing_or_superfluous_image_is_a_sentence(example: Example, multimodal: bool, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        check_image("m", example, multimodal=multimodal)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(("example", "multimodal"), [(Example("a", image=IMAGE), True), (Example("a", "b"), False)])
def test_an_image_is_accepted_by_a_multimodal_model_only(example: Example, multimodal: bool) -> None:
    check_image("m", example, multimodal=multimodal)
