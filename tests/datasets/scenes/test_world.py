import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from explainers.datasets.scenes.world import (
    BLOCK,
    BOXES,
    COLOURS,
    SHAPES,
    SIDE,
    SIZES,
    STEP,
    Scene,
    Thing,
    box_frame,
    draw,
    frame,
    random_scene,
)


@pytest.mark.parametrize("towers", [True, False])
def test_things_lie_in_their_box_and_leave_a_pixel_between_them(towers: bool) -> None:
    rng = random.Random(0)
    for _ in range(100):
        generated = random_scene(rng, towers=towers, covered=False)
        for box in range(3):
            assert generated.box(box)
            for thing in generated.box(box):
                assert thing.shape in SHAPES
                assert thing.colour in COLOURS
                assert thing.size in SIZES.values()
                assert 0 <= thing.left <= SIDE - thing.size
                assert 0 <= thing.top <= SIDE - thing.size
            for one, other in combinations(generated.box(box), 2):
                across = max(one.left, other.left) - min(one.left + one.size, other.left + other.size)
                down = max(one.top, other.top) - min(one.top + one.size, other.top + other.size)
                assert max(across, down) >= 1


def test_a_tower_stands_on_the_floor_block_upon_block() -> None:
    for seed in range(20):
        generated = random_scene(random.Random(seed), towers=True, covered=False)
        for box in range(3):
            blocks = generated.box(box)
            assert 1 <= len(blocks) <= 4
            assert [block.top for block in blocks] == [SIDE - BLOCK - level * STEP for level in range(len(blocks))]


@pytest.mark.parametrize(
    ("left", "top", "walls"),
    [
        (0, 40, {"left"}),
        (80, 40, {"right"}),
        (40, 0, {"top"}),
        (40, 80, {"bottom"}),
        (0, 80, {"left", "bottom"}),
        (1, 79, set()),
    ],
)
def test_a_thing_touches_a_wall_without_a_pixel_between_them(left: int, top: int, walls: set[str]) -> None:
    assert Thing("circle", "blue", 20, left, top, 0).walls == walls


def test_only_what_is_not_under_the_cover_is_visible() -> None:
    generated = random_scene(random.Random(4), towers=False, covered=True)
    assert generated.covered is not None
    hidden = generated.box(generated.covered)
    assert hidden
    assert set(generated.visible()) == set(generated.things) - set(hidden)


PAPER, STRIP = [211, 211, 211], [128, 128, 128]
BLACK, BLUE, YELLOW = [0, 0, 0], [0, 153, 255], [255, 255, 0]


def test_an_empty_scene_is_three_boxes_of_paper_with_grey_strips_between_them() -> None:
    pixels = draw(Scene((), towers=False))
    assert (pixels.shape, pixels.dtype) == ((100, 400, 3), np.uint8)
    for left, right, colour in [(0, 100, PAPER), (100, 150, STRIP), (150, 250, PAPER), (250, 300, STRIP)]:
        assert (pixels[:, left:right] == colour).all()
    assert (pixels[:, 300:] == PAPER).all()


def test_a_square_fills_its_place_and_nothing_beside_it() -> None:
    pixels = draw(Scene((Thing("square", "blue", 20, 30, 40, 1),), towers=False))
    assert (pixels[40:60, 180:200] == BLUE).all()  # box 1 begins at 150
    assert (pixels == BLUE).all(-1).sum() == 20 * 20


@pytest.mark.parametrize(
    ("shape", "interior", "outside"),
    [
        ("circle", [(15, 15), (0, 15), (29, 15), (15, 0), (15, 29)], [(0, 0), (29, 0), (0, 29), (29, 29)]),
        ("triangle", [(15, 15), (29, 0), (29, 29), (2, 15)], [(0, 0), (0, 29), (15, 1), (15, 28)]),
    ],
)
def test_a_shape_has_ink_at_these_rows_and_columns(
    shape: str, interior: list[tuple[int, int]], outside: list[tuple[int, int]]
) -> None:
    pixels = draw(Scene((Thing(shape, "yellow", 30, 10, 20, 2),), towers=False))
    assert all(pixels[20 + row, 310 + column].tolist() == YELLOW for row, column in interior)
    assert all(pixels[20 + row, 310 + column].tolist() == PAPER for row, column in outside)


def test_all_ink_of_a_thing_lies_in_its_frame_and_touches_its_sides() -> None:
    for thing in random_scene(random.Random(1), towers=False, covered=False).things:
        inked = (draw(Scene((thing,), towers=False)) != draw(Scene((), towers=False))).any(-1)
        rows, columns = np.nonzero(inked)
        left, top, right, bottom = frame(thing)
        assert (columns.min(), columns.max() + 1, rows.max() + 1) == (left, right, bottom)
        assert top <= rows.min() <= top + 1  # a triangle's tip may have no ink


def test_blocks_of_a_tower_leave_a_row_of_paper_between_them() -> None:
    pixels = draw(Scene(tuple(Thing("square", "black", 20, 40, 80 - 21 * level, 0) for level in range(2)), towers=True))
    column = pixels[:, 50].tolist()
    assert column[80:] == [BLACK] * 20
    assert column[79] == PAPER
    assert column[59:79] == [BLACK] * 20
    assert column[58] == PAPER


@pytest.mark.parametrize("covered", range(3), ids=BOXES)
@pytest.mark.parametrize("towers", [True, False])
def test_a_covered_box_hides_its_things(towers: bool, covered: int) -> None:
    one, other = (random_scene(random.Random(seed), towers=towers, covered=False) for seed in (1, 2))
    exchanged = (*(thing for thing in one.things if thing.box != covered), *other.box(covered))
    mixed = Scene(exchanged, towers)
    assert not np.array_equal(draw(one), draw(mixed))
    assert np.array_equal(draw(replace(one, covered=covered)), draw(replace(mixed, covered=covered)))


def test_the_cover_fills_its_box_alone_and_shows_no_ink() -> None:
    open_scene = random_scene(random.Random(3), towers=False, covered=False)
    plain, hidden = draw(open_scene), draw(replace(open_scene, covered=1))
    left, top, right, bottom = box_frame(1)
    assert (left, top, right, bottom) == (150, 0, 250, 100)
    assert np.array_equal(np.delete(plain, np.s_[left:right], axis=1), np.delete(hidden, np.s_[left:right], axis=1))
    colours = {tuple(colour) for colour in hidden[:, left:right].reshape(-1, 3).tolist()}
    assert len(colours) == 2
    assert colours.isdisjoint(map(tuple, (PAPER, STRIP, BLACK, BLUE, YELLOW)))


def test_drawing_again_gives_the_same_image_and_spoils_none_before_it() -> None:
    first = draw(Scene((), towers=False))
    first[:] = 0
    assert (draw(Scene((), towers=False))[:, :100] == PAPER).all()
