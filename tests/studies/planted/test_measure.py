"""What a row holds, on a game whose answers are known."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest

from explainers.metrics.erasure import MaskedPredictor
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.studies.planted import measure
from explainers.studies.planted.measure import (
    DRAWS,
    SHARES,
    as_scores,
    curve_lines,
    degraded_orders,
    inner_counts,
    is_verified,
    limits,
    replaced,
)

WORDS = ("aa", "bb", "cc", "dd")
ENCODING = Encoding(
    (" ".join(WORDS),),
    tuple(Unit(word, 3 * place, 3 * place + 2) for place, word in enumerate(WORDS)),
    tuple(range(4)),
    (0,) * 4,
    tuple(range(4)),
)


@dataclass
class Additive:
    """p(class 1) is the sum of the weights of the kept words."""

    weights: tuple[float, ...] = (0.4, 0.3, 0.2, 0.0)

    def probabilities(self, _encoding: Encoding, keeps: np.ndarray, _erasure: str = "mask") -> np.ndarray:
        p = np.asarray(keeps, dtype=float) @ np.asarray(self.weights)
        return np.stack([1 - p, p], axis=1)


def answers() -> MaskedPredictor:
    return MaskedPredictor(cast(FrozenModel, Additive()), ENCODING, "mask")


def test_a_line_holds_p_without_the_top_units_and_then_with_them_alone() -> None:
    # of four units 1, 5, 10 and 20 % are one, 50 % are two
    assert inner_counts(4) == (1, 2)
    (line,) = curve_lines(answers(), [(4.0, 3.0, 2.0, 1.0)], 1)
    assert line == [5000, 2000, 4000, 7000]


def test_greedy_limits_are_those_of_an_additive_game() -> None:
    assert limits(answers(), 1) == {
        "remove low": [5000, 2000],  # 0.9 without 0.4, then without 0.3 too
        "remove high": [9000, 7000],
        "keep low": [0, 2000],
        "keep high": [4000, 7000],
    }


def test_the_true_order_begins_with_the_planted_units() -> None:
    true, *others = degraded_orders(6, (4, 2), seed=0)
    assert set(np.argsort(-np.asarray(true))[:2].tolist()) == {2, 4}
    assert len(others) == DRAWS * (len(SHARES) - 1)


def test_every_degraded_order_has_as_many_other_ranks_as_its_share() -> None:
    true, *others = map(np.asarray, degraded_orders(10, (3,), seed=1))
    changed = [int((other != true).sum()) for other in others]
    assert changed == [2, 2, 2, 2, 5, 5, 10, 10]  # 10 % of ten ranks would be one, and one rank cannot be exchanged


def test_an_order_becomes_scores_that_rank_it() -> None:
    assert as_scores(np.array([2, 0, 1])) == (2.0, 1.0, 3.0)


ROW = {"p": 9700, "swaps": [300, 200], "spares": [9000], "others": [9600, 9500]}


@pytest.mark.parametrize(
    ("change", "verified"),
    [
        ({}, True),
        ({"swaps": [300, 5100]}, False),  # one swap leaves the class as it is
        ({"spares": [4000]}, False),  # one of two redundant words does not suffice
        ({"others": [9600, 4900]}, False),  # another word decides too
        ({"p": 4000}, False),
    ],
)
def test_use_is_verified_by_swaps_that_flip_and_others_that_do_not(change: dict[str, object], verified: bool) -> None:
    assert is_verified({**ROW, **change}) is verified


def test_other_words_take_the_places_of_units() -> None:
    assert replaced(ENCODING, {1: "longer", 3: "x"}).text == "aa longer cc x"


def test_no_method_is_both_learned_and_not() -> None:
    learned, others = (
        {spec.id for spec in measure.compared_methods(learned=is_learned)} for is_learned in (True, False)
    )
    assert learned == {"aml", "cimi", "ciem", "ivra", "cxplain"}
    assert not learned & others
    assert "faml" not in others
