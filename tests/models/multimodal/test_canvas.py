import numpy as np
import pytest

from explainers.models.inputs.canvas import NO_OWNER, Canvas


@pytest.fixture
def canvas() -> Canvas:
    """Two patches side by side, numbers 3 and 4, of the colours 10 and 30; the mean is 20."""
    pixels = np.full((2, 4, 3), 10, np.uint8)
    pixels[:, 2:] = 30
    owners = np.full((2, 4), 3)
    owners[:, 2:] = 4
    return Canvas(pixels, owners)


@pytest.mark.parametrize("erasure", ["mask", "delete"])
def test_the_mean_colour_takes_an_erased_patch_s_place(canvas: Canvas, erasure: str) -> None:
    result = canvas.without({3}, {4: 3}, erasure)
    assert result.pixels[:, :2].tolist() == np.full((2, 2, 3), 20).tolist()
    assert (result.pixels[:, 2:] == 30).all()
    assert result.owners.tolist() == [[NO_OWNER, NO_OWNER, 3, 3]] * 2
    assert (result.dropped is not None) == (erasure == "delete")
    assert canvas.pixels[0, 0, 0] == 10  # the canvas that was given is as it was


def test_replacements_come_from_the_original_image(canvas: Canvas) -> None:
    result = canvas.without({3}, {4: 3}, "mask")
    assert (result.replacement("mask") == 20).all()  # of what is left the mean would be 25
    assert (result.replacement("blur") == canvas.replacement("blur")).all()


def test_a_blur_leaves_the_colour_and_takes_the_detail() -> None:
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[::2] = 200
    blurred = Canvas(stripes, np.zeros((64, 64), int)).replacement("blur")
    assert blurred[16:-16].mean() == pytest.approx(100, abs=2)
    assert blurred[16:-16].std() < 5 < stripes.std()


def test_zero_keeps_the_pixels_and_records_their_positions(canvas: Canvas) -> None:
    result = canvas.without({4}, {3: 3}, "zero").without({3}, {}, "zero")
    assert (result.pixels == canvas.pixels).all()
    assert result.zeroed is not None
    assert result.zeroed.all()
    assert (result.owners == NO_OWNER).all()


def test_words_that_go_only_change_the_numbers(canvas: Canvas) -> None:
    result = canvas.without({0, 2}, {1: 0, 3: 1, 4: 2}, "mask")
    assert (result.pixels == canvas.pixels).all()
    assert result.owners.tolist() == [[1, 1, 2, 2]] * 2


def test_a_place_shows_what_another_image_lends_it(canvas: Canvas) -> None:
    other = Canvas(np.full((4, 4, 3), 77, np.uint8), np.array([[0, 0, 0, 0]] * 2 + [[1, 1, 1, 1]] * 2, np.int16))
    result = canvas.with_patches_of(
        other, {0: 0, 3: 1, 9: 1, 4: 8}
    )  # 0 is a word here; there is no 9 here and no 8 there
    assert result.pixels[:, :, 0].tolist() == [[77, 77, 30, 30]] * 2
    assert result.owners is canvas.owners
    assert canvas.pixels[0, 0, 0] == 10
    erased = canvas.without({4}, {3: 3}, "mask").with_patches_of(other, {3: 0})
    assert erased.pixels[0, :, 0].tolist() == [77, 77, 20, 20]
    assert erased.replacement("mask")[0, 0, 0] == 54  # of 77 and 30, the image as it would have been given
