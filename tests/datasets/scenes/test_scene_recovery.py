import random

import numpy as np
import pytest

from explainers.datasets.scenes.nlvr import recover_scene
from explainers.datasets.scenes.world import Scene, Thing, draw, random_scene


@pytest.mark.parametrize("towers", [True, False])
@pytest.mark.parametrize("covered", [True, False])
def test_a_drawn_scene_is_recovered(towers: bool, covered: bool) -> None:
    rng = random.Random(7)
    for _ in range(10):
        meant = random_scene(rng, towers=towers, covered=covered)
        recovered = recover_scene(draw(meant))
        assert recovered is not None
        assert (set(recovered.things), recovered.towers, recovered.covered) == (
            set(meant.visible()),
            towers,
            meant.covered,
        )


@pytest.mark.parametrize(
    "things",
    [
        (Thing("square", "blue", 10, 30, 40, 0), Thing("square", "blue", 10, 40, 40, 0)),
        (Thing("square", "blue", 30, 30, 40, 1), Thing("square", "blue", 20, 35, 70, 1)),
        (Thing("square", "black", 20, 0, 80, 2), Thing("triangle", "black", 20, 20, 80, 2)),
        (Thing("circle", "yellow", 10, 90, 0, 2), Thing("square", "yellow", 30, 70, 10, 2)),
    ],
)
def test_touching_things_of_one_colour_are_separated(things: tuple[Thing, ...]) -> None:
    recovered = recover_scene(draw(Scene(things, towers=False)))
    assert recovered is not None
    assert set(recovered.things) == set(things)


def test_an_empty_image_is_a_scene_without_things() -> None:
    assert recover_scene(draw(Scene((), towers=False))) == Scene((), towers=False)


def test_another_image_is_no_scene() -> None:
    photograph = np.random.default_rng(0).integers(0, 256, (100, 400, 3), dtype=np.uint8)
    assert recover_scene(photograph) is None
    assert recover_scene(photograph[:50]) is None


def test_ink_that_is_no_shape_is_no_scene() -> None:
    pixels = draw(Scene((), towers=False))
    pixels[50:53, 20:27] = 0
    assert recover_scene(pixels) is None
