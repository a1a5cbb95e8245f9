import io
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.errors import DataUnavailable
from explainers.models.inputs.encoding import NO_UNIT, encode
from explainers.models.scenes.model import FITTED, SceneModel, fit_image
from explainers.models.scenes.network import split_patches

GREY = [211, 211, 211]


def noise(width: int, height: int) -> InputImage:
    return InputImage.of(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


def test_an_image_of_the_models_size_is_read_as_it_is() -> None:
    original = noise(400, 100)
    fitted = fit_image(original)
    assert np.array_equal(fitted.pixels, original.pixels())
    assert fitted.warning == ""
    assert fitted.boxes[0] == (0, 0, 25, 25)
    assert fitted.boxes[4] == (150, 0, 175, 25)  # beyond the first strip
    assert fitted.boxes[47] == (375, 75, 400, 100)


def test_the_box_of_a_patch_is_where_its_pixels_are() -> None:
    original = noise(400, 100).pixels()
    fitted = fit_image(InputImage.of(original))
    for number, row in enumerate(split_patches(fitted.pixels)):
        left, top, right, bottom = fitted.boxes[number] or (0, 0, 0, 0)
        assert np.array_equal(row.reshape(25, 25, 3), original[top:bottom, left:right])


def test_an_image_twice_as_large_has_boxes_twice_as_large() -> None:
    small, large = fit_image(noise(400, 100)), fit_image(noise(800, 200))
    assert large.boxes == tuple(tuple(2 * side for side in box or ()) for box in small.boxes)
    assert large.warning == ""
    assert large.pixels.shape == (100, 400, 3)


@pytest.mark.parametrize(
    ("width", "height", "patches"),
    [
        (100, 100, 16),  # the middle square alone
        (60, 240, 8),  # 25 pixels wide, from 187 to 212: two columns of the middle square
        (200, 100, 16),  # from 100 to 300: both strips and the middle square
        (800, 100, 24),  # 50 pixels high, from 25 to 75
        (300, 100, 32),  # from 50 to 350: half of the first and of the last square
    ],
)
def test_another_shape_is_fitted_in_and_its_patches_lie_inside_it(width: int, height: int, patches: int) -> None:
    fitted = fit_image(noise(width, height))
    boxes = [box for box in fitted.boxes if box]
    assert len(boxes) == patches
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert fitted.warning == FITTED


def test_what_is_beside_the_image_is_grey_and_no_unit(model: SceneModel) -> None:
    fitted = fit_image(noise(100, 100))
    assert (fitted.pixels[:, :150] == GREY).all()
    assert (fitted.pixels[:, 250:] == GREY).all()
    assert [number for number, box in enumerate(fitted.boxes) if box] == [
        12 * row + column for row in range(4) for column in range(4, 8)
    ]
    encoding = model.encode(Example("two circles", image=noise(100, 100)))
    assert len(encoding.units) == 2 + 16
    assert encoding.owners.count(NO_UNIT) == 3 + 32  # [CLS], [SEP], [SEP] and 32 patches of grey


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 3), (3, 3), (5, 1), (1, 9), (1000, 1), (1, 1000)])
def test_every_patch_that_shows_a_tiny_image_is_a_unit(width: int, height: int) -> None:
    fitted = fit_image(InputImage.of(np.zeros((height, width, 3), np.uint8)))
    visible = {number for number, row in enumerate(split_patches(fitted.pixels)) if (row != GREY[0]).any()}
    assert {number for number, box in enumerate(fitted.boxes) if box} == visible
    for box in filter(None, fitted.boxes):
        assert 0 <= box[0] < box[2] <= width
        assert 0 <= box[1] < box[3] <= height


def test_units_are_words_and_then_patches_row_by_row(model: SceneModel, example: Example) -> None:
    encoding = model.encode(example)
    words, patches = encoding.units[:9], encoding.units[9:]
    assert [word.text for word in words] == ["There", "are", "two", "yellow", "circles", "touching", "a", "wall", "."]
    assert [example.text[word.start : word.end] for word in words] == [word.text for word in words]
    assert {(word.kind, word.segment, word.box) for word in words} == {("word", 0, None)}
    assert [patch.text for patch in patches] == [f"row {r}, column {c}" for r in range(1, 5) for c in range(1, 13)]
    assert {(patch.kind, patch.segment, patch.start, patch.end) for patch in patches} == {("patch", 1, 0, 0)}
    assert patches[13].box == (25, 25, 50, 50)  # row 2, column 2


def test_the_image_stands_before_the_words(model: SceneModel, example: Example) -> None:
    encoding = model.encode(example)
    words = encode(model.tokenizer, (example.text,), "word")
    assert encoding.owners == (NO_UNIT, *range(9, 57), NO_UNIT, *words.owners[1:-1], NO_UNIT)
    assert encoding.ids[50:] == words.ids[1:]
    assert encoding.segments == (0, *[1] * 48, 0, *[0] * (len(words.ids) - 1))
    assert encoding.patch_embeddings is not None
    assert np.flatnonzero(encoding.patch_embeddings.is_patch).tolist() == list(range(1, 49))
    assert not encoding.patch_embeddings.embeddings[~encoding.patch_embeddings.is_patch].any()
    assert encoding.image is example.image
    assert encoding.multimodal


def test_tokens_can_be_the_units_of_the_words(model: SceneModel, example: Example) -> None:
    long = Example("Quetzalcoatl", image=example.image)
    pieces = len(model.tokenizer.encode("Quetzalcoatl", add_special_tokens=False).ids)
    assert pieces > 3
    assert len(model.encode(long, "word").units) == 1 + 48
    assert len(model.encode(long, "token").units) == pieces + 48


def test_a_long_text_and_a_square_image_both_give_a_warning(model: SceneModel) -> None:
    warning = model.encode(Example("blue " * 100, image=noise(50, 50))).warning
    assert "The text is too long for this model" in warning
    assert FITTED in warning


def test_transparency_gives_a_warning_too() -> None:
    file = io.BytesIO()
    Image.new("RGBA", (400, 100), (0, 0, 0, 0)).save(file, "PNG")
    fitted = fit_image(InputImage(file.getvalue()))
    assert fitted.warning == "Transparent parts of the image are read as white."
    assert (fitted.pixels == 255).all()


def test_what_is_no_image_is_a_sentence(model: SceneModel) -> None:
    with pytest.raises(DataUnavailable):
        model.encode(Example("two circles", image=InputImage(b"no picture")))
