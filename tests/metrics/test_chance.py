"""The exact test: its p, the null of all orders against straight enumeration, and the sequence of tests."""

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from explainers.metrics.chance import EXACT_UP_TO, FEWEST_UNITS, evidence, exact_null, fixed_sequence, sampled_null
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import all_metrics
from explainers.results.answer import LEVEL, Null
from explainers.results.attribution import metric_counts


class Table:
    """A model whose p(class 1) is any function of the mask: a seeded number per mask."""

    def __init__(self, seed: int) -> None:
        self.seed, self.asked = seed, 0

    def probabilities(self, _encoding: object, keeps: np.ndarray, _erasure: str) -> np.ndarray:
        self.asked += len(keeps)
        p = np.array([np.random.default_rng([self.seed, *row.astype(int)]).random() for row in keeps])
        return np.stack([1 - p, p], axis=1)


def answers(units: int, seed: int = 0) -> tuple[MaskedPredictor, Table]:
    model, encoding = Table(seed), SimpleNamespace(units=range(units))
    table: Any = model
    whole: Any = encoding
    return MaskedPredictor(table, whole, "mask"), model


def test_p_counts_the_orders_that_are_at_least_as_good() -> None:
    null = Null((0.1, 0.2, 0.3, 0.4))
    assert null.p(0.3) == (1 + 2) / 5  # 0.3 and 0.4
    assert null.p(0.5) == 1 / 5
    assert Null(null.values, exact=True).p(0.3) == 2 / 4
    assert null.p(float("nan")) == 1


def test_nineteen_orders_are_the_fewest_that_can_be_beaten() -> None:
    assert Null((0.0,) * 19).beaten_by(1.0)  # 1 / 20
    assert not Null((0.0,) * 18).beaten_by(1.0)  # 1 / 19
    assert not Null(()).beaten_by(1.0)


@pytest.mark.parametrize("units", [5, 6, 7])
def test_the_exact_null_is_that_of_all_permutations(units: int) -> None:
    asked, _ = answers(units)
    values = []
    for order in permutations(range(units)):
        scores = tuple(float(units - order.index(unit)) for unit in range(units))
        values.append(evidence(all_metrics(erasure_curves(asked, scores, 1, metric_counts(units)))))
    null = exact_null(asked, 1)
    assert len(values) % len(null.values) == 0
    repeated = np.repeat(np.sort(null.values), len(values) // len(null.values))
    assert np.allclose(np.sort(values), repeated)
    value = sorted(values)[-3]
    assert null.p(value) == pytest.approx(np.mean(np.asarray(values) >= value - 1e-7))


def test_the_exact_null_asks_no_more_than_every_mask_once() -> None:
    asked, model = answers(EXACT_UP_TO)
    exact_null(asked, 1)
    assert model.asked <= 2**EXACT_UP_TO


def test_with_fewer_units_no_order_can_pass() -> None:
    for units, possible in ((FEWEST_UNITS - 1, False), (FEWEST_UNITS, True)):
        null = exact_null(answers(units)[0], 1)
        assert (1 / len(null.values) <= LEVEL) is possible


def test_random_orders_pass_in_at_most_five_percent() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((4000, 20))  # one order against 19 others
    share = np.mean([Null(tuple(row[1:])).beaten_by(row[0]) for row in drawn])
    assert share == pytest.approx(1 / 20, abs=0.012)  # 3.5 standard errors


def test_the_sequence_stops_at_the_first_failure() -> None:
    assert fixed_sequence("abcd", lambda name: name != "c") == ("a", "b")
    assert fixed_sequence("abcd", lambda name: name != "a") == ()


def test_the_sampled_null_has_an_order_per_value() -> None:
    null = sampled_null({"aopc_c": (0.3, 0.1, float("nan")), "aopc_s": (0.1, 0.2, 0.0), "log_odds": (1.0, 1.0, 1.0)})
    assert null.values == pytest.approx((0.2, -0.1))
    assert not null.exact
