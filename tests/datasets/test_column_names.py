"""The column of a table that probably holds the texts."""

import pytest

from explainers.datasets.column_names import guessed, guessed_pair


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
