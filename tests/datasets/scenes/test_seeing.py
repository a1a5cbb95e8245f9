import random

import numpy as np
import pytest

from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.seeing import scene_of
from explainers.datasets.scenes.world import Scene, Thing, scene


@pytest.mark.parametrize("towers", [True, False])
@pytest.mark.parametrize("covered", [True, False])
def test_what_was_drawn_is_seen(towers: bool, covered: bool) -> None:
    chance = random.Random(7)
    for _ in range(10):
        meant = scene(chance, towers=towers, covered=covered)
        seen = scene_of(drawn(meant))
        assert seen is not None
        assert (set(seen.things), seen.towers, seen.covered) == (set(meant.visible()), towers, meant.covered)


@pytest.mark.parametrize(
    "things",
    [
        (Thing("square", "blue", 10, 30, 40, 0), Thing("square", "blue", 10, 40, 40, 0)),
        (Thing("square", "blue", 30, 30, 40, 1), Thing("square", "blue", 20, 35, 70, 1)),
        (Thing("square", "black", 20, 0, 80, 2), Thing("triangle", "black", 20, 20, 80, 2)),
        (Thing("circle", "yellow", 10, 90, 0, 2), Thing("square", "yellow", 30, 70, 10, 2)),
    ],
)
def test_touching_things_of_one_colour_are_told_apart(things: tuple[Thing, ...]) -> None:
    seen = scene_of(drawn(Scene(things, towers=False)))
    assert seen is not None
    assert set(seen.things) == set(things)


def test_an_empty_picture_is_a_scene_without_things() -> None:
    assert scene_of(drawn(Scene((), towers=False))) == Scene((), towers=False)


def test_another_picture_is_no_scene() -> None:
    photograph = np.random.default_rng(0).integers(0, 256, (100, 400, 3), dtype=np.uint8)
    assert scene_of(photograph) is None
    assert scene_of(photograph[:50]) is None


def test_ink_that_is_no_shape_is_no_scene() -> None:
    pixels = drawn(Scene((), towers=False))
    pixels[50:53, 20:27] = 0
    assert scene_of(pixels) is None
