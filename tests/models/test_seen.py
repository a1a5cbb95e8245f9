from dataclasses import replace

import numpy as np
import pytest

from explainers.datasets.picture import Picture
from explainers.models.encoding import FIXED, Encoding, Unit
from explainers.models.seen import Seen

CLS, LOOK, SEP, MASK, GOOD = 2, 5, 3, 4, 7


def seen() -> Seen:
    """Patches of two numbers at positions 1 and 2; words elsewhere."""
    own = np.array([[0, 0], [1, 2], [3, 4], [0, 0], [0, 0]], np.float32)
    mean = np.array([[0, 0], [5, 5], [6, 6], [0, 0], [0, 0]], np.float32)
    blurred = np.array([[0, 0], [7, 7], [8, 8], [0, 0], [0, 0]], np.float32)
    return Seen(own.any(1), own, {"mask": mean, "blur": blurred})


@pytest.fixture
def encoding() -> Encoding:
    """[CLS] patch patch good [SEP], of which the units are the word and then both patches."""
    units = (Unit("good", 0, 4), Unit("a", 0, 0, 1, (0, 0, 1, 1)), Unit("b", 0, 0, 1, (1, 0, 2, 1)))
    ids, owners = (CLS, LOOK, LOOK, GOOD, SEP), (FIXED, 1, 2, 0, FIXED)
    return Encoding(("good",), units, ids, (0, 1, 1, 0, 0), owners, seen=seen())


@pytest.mark.parametrize(
    ("erasure", "shown"), [("mask", [5, 5]), ("blur", [7, 7]), ("delete", [5, 5]), ("zero", [5, 5])]
)
def test_an_erased_patch_shows_the_mean_colour_or_loses_its_detail(erasure: str, shown: list[int]) -> None:
    assert seen().filler(erasure)[1].tolist() == shown


@pytest.mark.parametrize(
    ("erasure", "ids", "own", "zeroed"),
    [
        ("mask", (CLS, LOOK, LOOK, MASK, SEP), [[0, 0], [5, 5], [3, 4], [0, 0], [0, 0]], set()),
        ("blur", (CLS, LOOK, LOOK, MASK, SEP), [[0, 0], [7, 7], [3, 4], [0, 0], [0, 0]], set()),
        ("delete", (CLS, LOOK, SEP), [[0, 0], [3, 4], [0, 0]], set()),
        ("zero", (CLS, LOOK, LOOK, GOOD, SEP), [[0, 0], [1, 2], [3, 4], [0, 0], [0, 0]], {1, 3}),
    ],
)
def test_without_a_word_and_a_patch(
    encoding: Encoding, erasure: str, ids: tuple[int, ...], own: list[list[int]], zeroed: set[int]
) -> None:
    left = encoding.without([0, 1], erasure, MASK)  # type: ignore[arg-type]
    assert left.seen is not None
    assert [unit.text for unit in left.units] == ["b"]
    assert (left.ids, left.zeroed) == (ids, zeroed)
    assert left.seen.own.tolist() == own
    assert left.seen.at.tolist() == [token == LOOK for token in ids]
    assert [owner for owner, at in zip(left.owners, left.seen.at, strict=True) if at][-1] == 0
    assert encoding.seen is not None
    assert encoding.seen.own[1].tolist() == [1, 2]  # what was given stays as it was


def test_what_stands_in_an_erased_place_later_is_still_of_the_first_picture(encoding: Encoding) -> None:
    left = encoding.without([1], "mask", MASK)
    assert left.seen is not None
    assert left.seen.filler("blur").tolist() == seen().filler("blur").tolist()


def test_positions_are_borrowed_from_another_picture() -> None:
    other = Seen(seen().at, seen().own * 10, {name: rows * 10 for name, rows in seen().fillers.items()})
    found = seen().lent(other, [0, 5 + 1, 2, 5 + 3, 4])
    assert found.own.tolist() == [[0, 0], [10, 20], [3, 4], [0, 0], [0, 0]]
    assert found.filler("mask").tolist() == [[0, 0], [50, 50], [6, 6], [0, 0], [0, 0]]
    assert found.filler("blur").tolist() == [[0, 0], [70, 70], [8, 8], [0, 0], [0, 0]]
    assert found.at.tolist() == [False, True, True, False, False]


def test_an_input_is_pictured_if_a_picture_was_given(encoding: Encoding) -> None:
    assert not encoding.pictured
    assert replace(encoding, picture=Picture(b"x")).pictured
