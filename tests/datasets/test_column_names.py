"""The column of a table that probably holds the texts."""

import pytest

from explainers.datasets.column_names import guessed, guessed_pair, labelled_column, longest_column
from explainers.datasets.labelled_rows import column_names


@pytest.mark.parametrize(
    ("columns", "kind", "found"),
    [
        (("id", "Review", "label"), "text", "Review"),
        (("id", "body", "label"), "text", "body"),  # the first that is nothing else
        (("Nr", "label"), "text", "Nr"),
        (("id", "body"), "pair", ""),
        (("id", "body", "Gold_Label"), "label", "Gold_Label"),
        ((), "text", ""),
    ],
)
def test_a_column_is_told_by_its_name(columns: tuple[str, ...], kind: str, found: str) -> None:
    assert guessed(kind, columns) == found


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (("text", "premise", "hypothesis"), ("premise", "hypothesis")),  # as without a choice
        (("id", "pair", "text"), ("text", "pair")),
        (("hypothesis",), ("", "hypothesis")),  # one column never holds both
        (("a", "b"), ("a", "")),
    ],
)
def test_the_two_columns_of_pairs_differ(columns: tuple[str, ...], found: tuple[str, str]) -> None:
    assert guessed_pair(columns) == found


def test_where_no_name_tells_the_texts_they_are_the_longest_cells() -> None:
    table = b"nr;Bewertung;Kommentar\n1;positiv;ein sehr guter Film\n2;negativ;langweilig und zu lang\n"
    longest = longest_column(table, "films.csv")
    assert longest == "Kommentar"
    columns = column_names(table, "films.csv")
    assert (guessed("text", columns), guessed("text", columns, longest)) == ("Bewertung", "Kommentar")
    assert guessed("text", ("review", "Kommentar"), longest) == "review"  # a name that tells comes first
    assert guessed("text", ("", "body"), "") == "body"
    assert guessed_pair(("q1", "q2", "Kommentar"), longest) == ("q1", "q2")
    assert longest_column(b'{"a": 1, "b": "a fine film"}\n', "films.jsonl") == "b"
    assert longest_column(b"\xff\xfe", "films.csv") == ""


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("film,mood\na fine film,Positive\na dull one,negative\nanother,\n", "mood"),
        ("film,mood\na fine film,positive\na dull one,mixed\n", ""),  # one is no class
        ("film,mine,yours\na fine film,positive,negative\n", ""),  # which of them cannot be told
        ("film,mood\na fine film,1\na dull one,0\n", ""),  # they may count something else
        ("film,mood\na fine film,\n", ""),
    ],
)
def test_the_column_of_labels_is_the_one_that_holds_names_of_classes(table: str, column: str) -> None:
    assert labelled_column(table.encode(), "films.csv", ("negative", "positive")) == column
