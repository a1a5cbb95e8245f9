from dataclasses import replace

import numpy as np
import pytest

from explainers.datasets.example import InputImage
from explainers.models.inputs.canvas import PatchEmbeddings
from explainers.models.inputs.encoding import NO_UNIT, Encoding, Unit

CLS, PATCH, SEP, MASK, GOOD = 2, 5, 3, 4, 7


def patches() -> PatchEmbeddings:
    """Patches of two numbers at positions 1 and 2; words elsewhere."""
    embeddings = np.array([[0, 0], [1, 2], [3, 4], [0, 0], [0, 0]], np.float32)
    mean = np.array([[0, 0], [5, 5], [6, 6], [0, 0], [0, 0]], np.float32)
    blurred = np.array([[0, 0], [7, 7], [8, 8], [0, 0], [0, 0]], np.float32)
    return PatchEmbeddings(embeddings.any(1), embeddings, {"mask": mean, "blur": blurred})


@pytest.fixture
def encoding() -> Encoding:
    """[CLS] patch patch good [SEP], of which the units are the word and then both patches."""
    units = (Unit("good", 0, 4), Unit("a", 0, 0, 1, (0, 0, 1, 1)), Unit("b", 0, 0, 1, (1, 0, 2, 1)))
    ids, owners = (CLS, PATCH, PATCH, GOOD, SEP), (NO_UNIT, 1, 2, 0, NO_UNIT)
    return Encoding(("good",), units, ids, (0, 1, 1, 0, 0), owners, patch_embeddings=patches())


@pytest.mark.parametrize(
    ("erasure", "replacement"), [("mask", [5, 5]), ("blur", [7, 7]), ("delete", [5, 5]), ("zero", [5, 5])]
)
def test_an_erased_patch_becomes_the_mean_colour_or_loses_its_detail(erasure: str, replacement: list[int]) -> None:
    assert patches().replacement(erasure)[1].tolist() == replacement


@pytest.mark.parametrize(
    ("erasure", "ids", "embeddings", "zeroed"),
    [
        ("mask", (CLS, PATCH, PATCH, MASK, SEP), [[0, 0], [5, 5], [3, 4], [0, 0], [0, 0]], set()),
        ("blur", (CLS, PATCH, PATCH, MASK, SEP), [[0, 0], [7, 7], [3, 4], [0, 0], [0, 0]], set()),
        ("delete", (CLS, PATCH, SEP), [[0, 0], [3, 4], [0, 0]], set()),
        ("zero", (CLS, PATCH, PATCH, GOOD, SEP), [[0, 0], [1, 2], [3, 4], [0, 0], [0, 0]], {1, 3}),
    ],
)
def test_without_a_word_and_a_patch(
    encoding: Encoding, erasure: str, ids: tuple[int, ...], embeddings: list[list[int]], zeroed: set[int]
) -> None:
    rest = encoding.without([0, 1], erasure, MASK)  # type: ignore[arg-type]
    assert rest.patch_embeddings is not None
    assert [unit.text for unit in rest.units] == ["b"]
    assert (rest.ids, rest.zeroed) == (ids, zeroed)
    assert rest.patch_embeddings.embeddings.tolist() == embeddings
    assert rest.patch_embeddings.is_patch.tolist() == [token == PATCH for token in ids]
    assert [owner for owner, is_patch in zip(rest.owners, rest.patch_embeddings.is_patch, strict=True) if is_patch][
        -1
    ] == 0
    assert encoding.patch_embeddings is not None
    assert encoding.patch_embeddings.embeddings[1].tolist() == [1, 2]  # the original is unchanged


def test_later_replacements_still_come_from_the_first_image(encoding: Encoding) -> None:
    rest = encoding.without([1], "mask", MASK)
    assert rest.patch_embeddings is not None
    assert rest.patch_embeddings.replacement("blur").tolist() == patches().replacement("blur").tolist()


def test_positions_can_come_from_another_image() -> None:
    other = PatchEmbeddings(
        patches().is_patch,
        patches().embeddings * 10,
        {name: rows * 10 for name, rows in patches().replacements.items()},
    )
    result = patches().combined(other, [0, 5 + 1, 2, 5 + 3, 4])
    assert result.embeddings.tolist() == [[0, 0], [10, 20], [3, 4], [0, 0], [0, 0]]
    assert result.replacement("mask").tolist() == [[0, 0], [50, 50], [6, 6], [0, 0], [0, 0]]
    assert result.replacement("blur").tolist() == [[0, 0], [70, 70], [8, 8], [0, 0], [0, 0]]
    assert result.is_patch.tolist() == [False, True, True, False, False]


def test_an_input_with_an_image_is_multimodal(encoding: Encoding) -> None:
    assert not encoding.multimodal
    assert replace(encoding, image=InputImage(b"x")).multimodal
