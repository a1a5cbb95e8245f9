import numpy as np
import pytest

from explainers.models.canvas import NOBODY, Canvas


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
    found = canvas.without({3}, {4: 3}, erasure)
    assert found.pixels[:, :2].tolist() == np.full((2, 2, 3), 20).tolist()
    assert (found.pixels[:, 2:] == 30).all()
    assert found.owners.tolist() == [[NOBODY, NOBODY, 3, 3]] * 2
    assert (found.dropped is not None) == (erasure == "delete")
    assert canvas.pixels[0, 0, 0] == 10  # the canvas that was given is as it was


def test_fillers_come_from_the_picture_as_it_was_given(canvas: Canvas) -> None:
    found = canvas.without({3}, {4: 3}, "mask")
    assert (found.filler("mask") == 20).all()  # of what is left the mean would be 25
    assert (found.filler("blur") == canvas.filler("blur")).all()


def test_a_blur_leaves_the_colour_and_takes_the_detail() -> None:
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[::2] = 200
    filler = Canvas(stripes, np.zeros((64, 64), int)).filler("blur")
    assert filler[16:-16].mean() == pytest.approx(100, abs=2)
    assert filler[16:-16].std() < 5 < stripes.std()


def test_by_zero_the_pixels_stay_and_their_places_are_known(canvas: Canvas) -> None:
    found = canvas.without({4}, {3: 3}, "zero").without({3}, {}, "zero")
    assert (found.pixels == canvas.pixels).all()
    assert found.zeroed is not None
    assert found.zeroed.all()
    assert (found.owners == NOBODY).all()


def test_words_that_go_only_change_the_numbers(canvas: Canvas) -> None:
    found = canvas.without({0, 2}, {1: 0, 3: 1, 4: 2}, "mask")
    assert (found.pixels == canvas.pixels).all()
    assert found.owners.tolist() == [[1, 1, 2, 2]] * 2


def test_a_place_shows_what_another_picture_lends_it(canvas: Canvas) -> None:
    other = Canvas(np.full((4, 4, 3), 77, np.uint8), np.array([[0, 0, 0, 0]] * 2 + [[1, 1, 1, 1]] * 2, np.int16))
    found = canvas.lent(other, {0: 0, 3: 1, 9: 1, 4: 8})  # 0 is a word here; there is no 9 here and no 8 there
    assert found.pixels[:, :, 0].tolist() == [[77, 77, 30, 30]] * 2
    assert found.owners is canvas.owners
    assert canvas.pixels[0, 0, 0] == 10
    erased = canvas.without({4}, {3: 3}, "mask").lent(other, {3: 0})
    assert erased.pixels[0, :, 0].tolist() == [77, 77, 20, 20]
    assert erased.filler("mask")[0, 0, 0] == 54  # of 77 and 30, the picture as it would have been given
