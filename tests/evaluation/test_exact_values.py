from collections.abc import Callable

import numpy as np
import pytest

from explainers.models.frozen_model import FrozenModel
from explainers.studies.sampling.measure import (
    Game,
    all_masks,
    exact_shapley,
    game_of,
)


def test_a_mask_is_the_number_of_its_row_in_bits() -> None:
    assert all_masks(3)[6].tolist() == [False, True, True]  # 6 = 2 + 4


def test_too_many_units_are_refused() -> None:
    with pytest.raises(ValueError, match=r"17 units have 131,072 masks; at most 16"):
        all_masks(17)


def test_two_units_that_act_together_share_what_they_add() -> None:
    # v(∅) = 0, v(a) = 1, v(b) = 3, v(ab) = 10: a adds 1 alone and 7 after b, b adds 3 alone and 9 after a
    assert exact_shapley(Game(2, np.array([0.0, 1.0, 3.0, 10.0]))) == pytest.approx([4, 6])


def test_of_a_model_that_adds_up_each_unit_gets_its_weight(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 0.3, "dull": -0.2, "the": 0.0}, additive=True)
    game = game_of(model, model.encode("great dull the"), 1)
    assert exact_shapley(game) == pytest.approx([0.3, -0.2, 0], abs=1e-6)


def test_what_was_looked_up_is_noted_once() -> None:
    game = Game(2, np.arange(4.0))
    assert game.probabilities(np.array([[1, 0], [1, 1], [1, 0]])).tolist() == [1, 3, 1]
    assert game.asked == {1, 3}
    assert game.played_again().asked == set()
