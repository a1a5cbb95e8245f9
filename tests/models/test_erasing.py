"""The rows of ids that a model is given, checked by eye: ids 7, 8, 9 are three one-token units between 1 and 2."""

import numpy as np
import pytest

from explainers.models.encoding import FIXED, Encoding, Unit
from explainers.models.erasing import erased

UNITS = tuple(Unit(text, at, at + 1) for at, text in enumerate("abc"))
ENCODING = Encoding(("abc",), UNITS, (1, 7, 8, 9, 2), (0,) * 5, (FIXED, 0, 1, 2, FIXED))
BARE = Encoding(("abc",), UNITS, (7, 8, 9), (0,) * 3, (0, 1, 2))
MASKS = np.array([[True, False, True], [False, False, False]])


@pytest.mark.parametrize(
    ("erasure", "ids", "attention", "scale"),
    [
        ("mask", [[1, 7, 5, 9, 2], [1, 5, 5, 5, 2]], None, None),
        ("zero", [[1, 7, 8, 9, 2]] * 2, None, [[1, 1, 0, 1, 1], [1, 0, 0, 0, 1]]),
        ("delete", [[1, 7, 9, 2], [1, 2, 0, 0]], [[1, 1, 1, 1], [1, 1, 0, 0]], None),
    ],
)
def test_each_operator_erases_in_its_way(erasure, ids, attention, scale) -> None:
    given = erased(ENCODING, ENCODING.tokens_kept(MASKS), erasure, filler=5, padding=0)
    assert given.ids.tolist() == ids
    assert (given.attention.astype(int).tolist() if given.attention is not None else None) == attention
    assert (given.scale.astype(int).tolist() if given.scale is not None else None) == scale


def test_deleting_everything_of_a_text_without_special_tokens_leaves_one_padding_token() -> None:
    given = erased(BARE, BARE.tokens_kept(MASKS[1:]), "delete", filler=5, padding=0)
    assert given.ids.tolist() == [[0]]
    assert given.attention is None  # nothing is hidden, so attention over it is defined
