from itertools import pairwise

import pytest

from explainers.models.inputs.words import word_spans


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \t\n ", []),
        ("good", ["good"]),
        ("a good film", ["a", "good", "film"]),
        ("good, bad.", ["good", ",", "bad", "."]),
        ("well...", ["well", "..."]),
        ("what?!", ["what", "?", "!"]),
        ("!!!", ["!!!"]),
        ("! !", ["!", "!"]),
        ("don't", ["don't"]),
        ("3.14 and 1,000", ["3.14", "and", "1,000"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),  # e and a combining accent
        ("👍🏽 yes", ["👍🏽", "yes"]),  # a skin tone belongs to its hand
        ("👩‍👩‍👧 yes", ["👩‍👩‍👧", "yes"]),  # a family is joined by zero-width joiners
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),  # two letters make a flag
        ("שלום עולם", ["שלום", "עולם"]),
        ("فيلم جيد!", ["فيلم", "جيد", "!"]),
        ("good good", ["good", "good"]),
    ],
)
def test_words_are_what_a_person_counts_as_words(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize(
    "text", ["a\u00a0b", "x\x00y", "a--b", "snake_case", "e\u0301\u0301e", "😀😀 😀", "日本語です"]
)
def test_words_are_in_order_do_not_overlap_and_leave_out_only_spaces(text: str) -> None:
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(pieces(text)) == "".join(text.split())
