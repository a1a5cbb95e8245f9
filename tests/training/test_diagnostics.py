import math
import random

import pytest

from explainers.learned.fitting_loop import ScoreShape, collapse_warnings, score_shape

FINE = ScoreShape(mean=0.5, within=0.2, low=0.1, high=0.1, position=0.0, entropy=0.8, between=1.0)


def first_words(scores: list[list[float]], *, distribution: bool = False) -> list[str]:
    """The first words of each warning."""
    warnings = collapse_warnings(score_shape(scores), distribution=distribution)
    return [sentence.partition(":")[0] for sentence in warnings]


def by_chance(texts: int = 40) -> list[list[float]]:
    rng = random.Random(0)
    return [[rng.random() for _ in range(rng.randint(4, 12))] for _ in range(texts)]


def test_the_shape_of_two_texts() -> None:
    shape = score_shape([[0.0, 0.5, 1.0], [1.0, 0.0]])
    assert shape.mean == pytest.approx(2.5 / 5)
    assert shape.within == pytest.approx((math.sqrt(1 / 6) + 0.5) / 2)
    assert (shape.low, shape.high) == (2 / 5, 2 / 5)
    assert shape.position == 1  # of the only text that is long enough to say
    # shares 0, 1/3 and 2/3, against the logarithm of three
    expected = (math.log(3) / 3 + math.log(1.5) * 2 / 3) / math.log(3)
    assert shape.entropy == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "position"),
    [([[1, 2, 3], [4, 5, 6, 7]], 1), ([[3, 2, 1], [1, 2, 3]], 0), ([[5, 5, 5], [3, 2, 1]], -0.5), ([[1, 2]], 0)],
    ids=["rising", "one of each", "flat and falling", "too short"],
)
def test_position_is_the_mean_rank_correlation_with_the_place(scores: list[list[float]], position: float) -> None:
    assert score_shape(scores).position == pytest.approx(position)


@pytest.mark.parametrize(("row", "entropy"), [([0.25] * 4, 1), ([0, 0, 1, 0], 0), ([0.5, 0.5, 0, 0], 0.5)])
def test_entropy_is_a_share_of_the_highest(row: list[float], entropy: float) -> None:
    assert score_shape([row]).entropy == pytest.approx(entropy, abs=1e-9)


def test_between_is_nothing_where_every_text_has_the_same_profile() -> None:
    assert score_shape([[0, 1, 0], [0, 1, 0]]).between == 0
    assert score_shape([[0, 1, 0], [0, 0.5, 1, 0.5, 0]]).between == pytest.approx(0, abs=1e-9)  # the same, drawn out
    # two opposite ramps: at the ten places they lie 1, 7/9, … 1/9 apart, in deviations half of that, on average 5/18
    within = math.sqrt(1 / 6)
    assert score_shape([[0, 0.5, 1], [1, 0.5, 0]]).between == pytest.approx(5 / 18 / within)


def test_a_healthy_mask_and_a_healthy_distribution_raise_no_alarm() -> None:
    assert first_words(by_chance()) == []
    assert first_words([[score / sum(row) for score in row] for row in by_chance()], distribution=True) == []
    assert collapse_warnings(FINE, distribution=False) == collapse_warnings(FINE, distribution=True) == ()


def test_a_constant_mask() -> None:
    assert "Constant mask" in first_words([[0.5 + score / 100 for score in row] for row in by_chance()])


@pytest.mark.parametrize(("value", "kind"), [(0.0, "0"), (1.0, "1")])
def test_a_saturated_mask_says_at_which_end(value: float, kind: str) -> None:
    sentences = collapse_warnings(score_shape([[value] * 6] * 5), distribution=False)
    assert f"Saturated mask: nearly every word has {kind}." in sentences


def test_a_mask_that_keeps_nearly_everything() -> None:
    rows = [[0.8 + 0.2 * score for score in row] for row in by_chance()]
    assert score_shape(rows).high < 0.9
    assert "The mask keeps nearly everything" in first_words(rows)
    assert first_words([[score / sum(row) for score in row] for row in rows], distribution=True) == ["Uniform"]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("distribution", [False, True])
def test_a_positional_ramp_in_either_direction(sign: int, distribution: bool) -> None:
    rows = [[0.5 + sign * 0.05 * place + score / 100 for place, score in enumerate(row)] for row in by_chance()]
    assert "Positional ramp" in first_words(rows, distribution=distribution)


def test_the_same_profile_for_every_text() -> None:
    assert "The same profile for every text" in first_words([[0.1, 0.9, 0.2, 0.8]] * 5)


def test_a_uniform_distribution() -> None:
    assert first_words([[1 / len(row)] * len(row) for row in by_chance()], distribution=True)[0] == "Uniform"


def test_small_shares_of_a_distribution_are_no_constant_or_saturated_mask() -> None:
    rows = [[0.01 * score for score in row] for row in by_chance()]
    assert {"Constant mask", "Saturated mask"} <= set(first_words(rows))
    assert first_words(rows, distribution=True) == []


def test_texts_of_one_word_are_no_collapse() -> None:
    shape = score_shape([[0.3], [0.9]])
    assert (shape.position, shape.entropy, shape.between) == (0, 1, 1)
    assert shape.mean == pytest.approx(0.6)
