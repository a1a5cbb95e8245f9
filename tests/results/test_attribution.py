from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution, floats, ranking


@pytest.mark.parametrize("scores", [(), (1.0,), (1.0, 2.0, 3.0)])
def test_a_score_too_many_or_too_few_is_refused(bag: Callable[..., FrozenModel], scores: tuple[float, ...]) -> None:
    encoding = bag({"good": 1.0, "bad": -1.0}).encode("good bad")
    with pytest.raises(ValueError, match=f"lime gave {len(scores)} scores for 2 units"):
        Attribution("lime", encoding, 0, scores, signed=True)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_no_number_is_refused(bag: Callable[..., FrozenModel], score: float) -> None:
    encoding = bag({"good": 1.0}).encode("good")
    with pytest.raises(ValueError, match="not finite"):
        Attribution("lime", encoding, 0, (score,), signed=True)


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ((1, 3, 2), [1, 2, 0]),
        ((-5, 0, 5), [2, 1, 0]),  # by value, not by size
        ((1, 1, 1), [0, 1, 2]),  # ties stay in the order of the text
        ((2, 3, 2, 3), [1, 3, 0, 2]),
        ((), []),
    ],
)
def test_the_ranking_goes_from_the_highest_score_down(scores: tuple[float, ...], order: list[int]) -> None:
    assert ranking(scores).tolist() == order


@pytest.mark.parametrize("values", [[1, 2], np.array([1, 2], dtype=np.float32), torch.tensor([[1.0, 2.0]])])
def test_scores_are_plain_numbers(values: object) -> None:
    numbers = floats(values)
    assert numbers == (1.0, 2.0)
    assert {type(number) for number in numbers} == {float}


@pytest.mark.parametrize(
    ("scores", "share"),
    [
        ((1.0, 2.0, -3.0, 0.0, -2.0), 0.5),  # (2 + 2) of (1 + 2 + 3 + 2)
        ((0.0, 0.5, 0.0, 0.0, 0.0), 1.0),
        ((0.1, 0.0, -0.1, 0.3, 0.0), 0.0),
        ((1.0, 1.0, 1.0, 1.0, 1.0), 0.4),
        ((0.0, 0.0, 0.0, 0.0, 0.0), None),
    ],
)
def test_the_share_of_the_image_is_that_of_its_absolute_scores(
    bert: FrozenModel, scores: tuple[float, ...], share: float | None
) -> None:
    """The second and the last of five units count as patches."""
    words = bert.encode("the film was very good")
    units = tuple(replace(unit, box=(0, 0, 5, 5)) if at in (1, 4) else unit for at, unit in enumerate(words.units))
    attribution = Attribution("lime", replace(words, units=units), 1, scores, signed=True)
    assert attribution.image_share == (share if share is None else pytest.approx(share))


def test_a_text_alone_has_an_image_share_of_zero(bert: FrozenModel) -> None:
    assert Attribution("lime", bert.encode("good film"), 1, (1.0, 2.0), signed=True).image_share == 0
