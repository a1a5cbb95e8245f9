import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainers.annotations.judged import (
    marked_units,
    marks_of,
    spans_of,
    units_of,
)
from explainers.annotations.records import Marked, Span
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.words import word_spans

FAMILY = "👨‍👩‍👧"  # one emoji of five code points


@pytest.mark.parametrize(
    ("text", "marked", "units"),
    [
        ("It is good.", "good.", ["good", "."]),  # punctuation is a unit of its own
        ("It is good!!!", "!", ["!!!"]),  # half of a run marks the run
        ("un cafe\u0301 noir", "cafe", ["cafe\u0301"]),  # without its combining accent
        ("un cafe\u0301 noir", "\u0301", ["cafe\u0301"]),
        (f"a {FAMILY} film", "\u200d", [FAMILY]),
        ("line\r\nends here", "line\r\nends", ["line", "ends"]),
        ("סרט טוב מאוד", "טוב", ["טוב"]),  # right to left: code points stay in reading order
        ("two  spaces", "  ", []),
    ],
)
def test_a_span_marks_every_unit_that_it_touches(text: str, marked: str, units: list[str]) -> None:
    spans, start = word_spans(text), text.index(marked)
    numbers = units_of([Span(start, start + len(marked))], spans)
    assert [text[slice(*spans[number])] for number in sorted(numbers)] == units


def test_of_a_repeated_word_only_the_marked_one_counts() -> None:
    assert units_of([Span(5, 9)], word_spans("very very very")) == {1}


def test_neighbouring_units_become_one_span_with_the_space_between_them() -> None:
    spans = word_spans("not very good at all")
    assert spans_of({4, 0, 1}, spans) == (Span(0, 8), Span(17, 20))
    assert spans_of((), spans) == ()


@pytest.mark.parametrize("number", [-1, 2])
def test_there_is_no_other_unit(number: int) -> None:
    with pytest.raises(IndexError):
        spans_of({number}, word_spans("two units"))


@given(st.text(max_size=40), st.sets(st.integers(0, 39)))
def test_units_come_back_from_their_spans(text: str, chosen: set[int]) -> None:
    spans = word_spans(text)
    units = {number for number in chosen if number < len(spans)}
    assert units_of(spans_of(units, spans), spans) == units


PAIR_WITH_PATCHES = Encoding(
    ("a b", "c d"),
    (
        Unit("row 1, column 1", 0, 0, box=(0, 0, 8, 8)),
        Unit("row 1, column 2", 0, 0, box=(8, 0, 16, 8)),
        Unit("a", 0, 1),
        Unit("b", 2, 3),
        Unit("c", 0, 1, 1),
        Unit("d", 2, 3, 1),
    ),
    ids=(),
    segments=(),
    owners=(),
)


def test_the_marks_of_both_texts_and_the_image_stay_apart() -> None:
    marked = Marked((Span(2, 3),), (Span(0, 3),), ((8, 0, 16, 8),))
    assert marked_units(marked, PAIR_WITH_PATCHES) == {1, 3, 4, 5}
    assert marks_of({1, 3, 4, 5}, PAIR_WITH_PATCHES) == marked


def test_words_on_both_sides_of_the_border_between_the_texts_are_no_neighbours() -> None:
    assert marks_of({3, 4}, PAIR_WITH_PATCHES) == Marked((Span(2, 3),), (Span(0, 1),))
