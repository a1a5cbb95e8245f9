"""The rows of ids that a model reads, checked by eye: ids 7, 8, 9 are three one-token units between 1 and 2."""

import numpy as np
import pytest

from explainers.models.inputs.encoding import NO_UNIT, Encoding, Unit
from explainers.models.inputs.erasure import erased_inputs

UNITS = tuple(Unit(text, at, at + 1) for at, text in enumerate("abc"))
ENCODING = Encoding(("abc",), UNITS, (1, 7, 8, 9, 2), (0,) * 5, (NO_UNIT, 0, 1, 2, NO_UNIT))
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
    inputs = erased_inputs(ENCODING, ENCODING.tokens_kept(MASKS), erasure, mask_token=5, pad_token=0)
    assert inputs.ids.tolist() == ids
    assert (inputs.attention.astype(int).tolist() if inputs.attention is not None else None) == attention
    assert (inputs.scale.astype(int).tolist() if inputs.scale is not None else None) == scale


def test_deleting_everything_of_a_text_without_special_tokens_leaves_one_padding_token() -> None:
    inputs = erased_inputs(BARE, BARE.tokens_kept(MASKS[1:]), "delete", mask_token=5, pad_token=0)
    assert inputs.ids.tolist() == [[0]]
    assert inputs.attention is None  # nothing is hidden, so attention over it is defined
