import random
from itertools import combinations

import pytest

from explainers.datasets.scenes.world import BLOCK, COLOURS, SHAPES, SIDE, SIZES, STEP, Thing, random_scene


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
