"""The tables of the study of long texts."""

from typing import Any

from explainers.studies.long_texts import early_table, overlaps


def row(way: str, *, words: int, orders: int, leading: bool = False, seconds: float = 6.0) -> dict[str, Any]:
    return {"way": way, "words": words, "units": 9, "orders": orders, "leading": leading, "seconds": seconds}


def test_small_budgets_are_counted_by_length_and_by_what_the_answer_says() -> None:
    rows = [
        row("sentences, 5 s", words=205, orders=19),
        row("sentences, 5 s", words=240, orders=4, leading=True, seconds=7.0),
        row("sentences, 5 s", words=570, orders=0),
    ]
    head, _, *lines = early_table(rows).splitlines()
    assert head == "| words | budget | sentences | seconds (most) | orders | tested | so far | neither |"
    assert lines == [
        "| 205–240 | 5 s | 9 | 6 (7) | 12 | 1 of 2 | 1 of 2 | 0 of 2 |",
        "| 570–570 | 5 s | 9 | 6 (6) | 0 | 0 of 1 | 0 of 1 | 1 of 1 |",
    ]


def test_places_overlap_where_they_share_a_character() -> None:
    assert overlaps([[0, 5]], [[4, 9]])
    assert not overlaps([[0, 5]], [[5, 9]])
