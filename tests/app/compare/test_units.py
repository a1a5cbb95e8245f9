import pytest

from app.compare import units
from app.compare.state import AUTO
from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import Settings

SENTENCE = "The film was a good one and not dull at all."
LONG = " ".join([SENTENCE] * 8)


@pytest.mark.parametrize(
    ("example", "chosen", "unit"),
    [
        (Example(SENTENCE), AUTO, "word"),
        (Example(LONG), AUTO, "sentence"),
        (Example(LONG), "word", "word"),
        (Example(SENTENCE), "sentence", "sentence"),
        (Example(LONG.replace(".", ",")), AUTO, "word"),  # one long sentence says nothing
        (Example(" ".join([SENTENCE] * 4), " ".join([SENTENCE] * 4)), AUTO, "sentence"),
    ],
)
def test_the_sentences_of_long_texts_come_first(example: Example, chosen: str, unit: str) -> None:
    assert units.kind(example, chosen) == unit


@pytest.mark.parametrize(
    ("example", "note"),
    [
        (Example(SENTENCE), ""),
        (Example(LONG), ""),
        (Example(LONG.replace(".", ",")), "By word: 1 sentence found, and the test against random orders needs 5."),
        (Example(LONG.replace(".", ","), SENTENCE), "By word: 2 sentences found"),
    ],
)
def test_a_long_text_without_sentences_says_why_words_are_explained(example: Example, note: str) -> None:
    assert units.why_words(example).startswith(note)
    assert bool(units.why_words(example)) == bool(note)


def test_only_sentences_that_are_units_can_be_opened(bert: FrozenModel) -> None:
    encoding, settings = bert.encode(LONG).within_sentences([1]), Settings("sentence", opened=(1,))
    words = tuple(range(len(encoding.units)))
    assert units.closed_sentences(encoding, settings, words) == ()
    whole = bert.encode(LONG).by_sentence()
    assert units.closed_sentences(whole, Settings("sentence"), (5, 0)) == (5, 0)
    short = bert.encode("Very good. The film was not bad, but dull.").by_sentence()
    assert units.closed_sentences(short, Settings("sentence"), (0,)) == ()  # three words: too few for a test
    assert units.closed_sentences(short, Settings("sentence"), (1, 0)) == (1, 0)
    assert units.closed_sentences(bert.encode(LONG), Settings(), words) == ()
    assert units.has_actions((), settings)
    assert not units.has_actions((), Settings("sentence"))
