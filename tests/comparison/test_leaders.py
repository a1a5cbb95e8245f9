import math

import pytest

from explainers.comparison.answer import leaders

QUIET = {"a": 0.0, "b": 0.0, "c": 0.0}
NOISY = {"a": 0.05, "b": 0.05, "c": 0.05}  # differences up to 1.96 · √(0.05² + 0.05²) = 0.139 are noise
ORDERS = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1]  # the band ends at the orders 0.0 and 0.1


@pytest.mark.parametrize(
    ("scores", "noise", "orders", "higher", "expected"),
    [
        ({"a": 0.5, "b": 0.3}, QUIET, ORDERS, True, "a"),
        ({"a": 0.5, "b": 0.3}, QUIET, ORDERS, False, ""),  # 0.3 is best but not below the band
        ({"a": -0.5, "b": 0.3}, QUIET, ORDERS, False, "a"),
        ({"a": 0.5, "b": 0.496, "c": 0.2}, QUIET, ORDERS, True, "ab"),  # 0.004 does not show in two decimals
        ({"a": 0.5, "b": 0.494, "c": 0.2}, QUIET, ORDERS, True, "a"),
        ({"a": 0.5, "b": 0.498}, QUIET, ORDERS, True, ""),  # all are best: nobody is
        ({"a": 0.5, "b": 0.4, "c": 0.1}, NOISY, ORDERS, True, "ab"),
        ({"a": 0.5, "b": 0.35, "c": 0.1}, NOISY, ORDERS, True, "a"),
        ({"a": 0.5, "b": 0.4, "c": 0.38}, NOISY, ORDERS, True, ""),
        ({"a": 0.09, "b": 0.01}, QUIET, ORDERS, True, ""),  # inside the band of random orders
        ({"a": 0.098, "b": 0.01}, QUIET, ORDERS, True, ""),  # between two orders is not beyond the best one
        ({"a": 0.101, "b": 0.01}, QUIET, ORDERS, True, "a"),
        ({"a": -0.001, "b": 0.05}, QUIET, ORDERS, False, "a"),
        ({"a": 0.001, "b": 0.05}, QUIET, ORDERS, False, ""),
        ({"a": 0.003, "b": 0.05}, QUIET, ORDERS, False, ""),
        ({"a": 0.5}, QUIET, ORDERS, True, "a"),  # alone, it need only beat the random orders
        ({"a": 0.05}, QUIET, ORDERS, True, ""),
        ({"a": 0.05, "b": 0.0}, QUIET, [], True, "a"),  # without random orders
        ({"a": 0.05, "b": 0.0}, QUIET, [], False, "b"),
        ({}, {}, ORDERS, True, ""),
    ],
)
def test_a_method_leads_only_where_the_difference_is_real(
    scores: dict[str, float], noise: dict[str, float], orders: list[float], higher: bool, expected: str
) -> None:
    assert leaders(scores, noise, orders, higher=higher) == set(expected)


def test_a_method_with_a_better_value_than_one_of_the_best_is_among_them() -> None:
    # 0.74 ties with 0.77 only by its own noise of 0.02; 0.75 has no noise, but lies between them
    scores, noise = {"a": 0.77, "b": 0.75, "c": 0.74, "d": 0.1}, {"a": 0.0, "b": 0.0, "c": 0.02, "d": 0.0}
    assert leaders(scores, noise, [0.0, 0.1], higher=True) == {"a", "b", "c"}


def test_methods_for_which_the_metric_is_not_defined_take_no_part() -> None:
    scores = {"a": math.nan, "b": 0.5, "c": 0.3}
    assert leaders(scores, QUIET, ORDERS, higher=True) == {"b"}
    assert leaders(scores, QUIET, ORDERS, higher=False) == set()
    assert leaders({"a": math.nan}, QUIET, ORDERS, higher=True) == set()


@pytest.mark.parametrize("higher", [True, False])
def test_where_the_metric_is_not_defined_for_a_random_order_nobody_leads(higher: bool) -> None:
    assert leaders({"a": 0.5, "b": -0.5}, QUIET, [*ORDERS, math.nan], higher=higher) == set()


def test_noise_that_is_not_defined_allows_no_lead() -> None:
    assert leaders({"a": 0.9, "b": 0.3}, {"a": 0.0, "b": math.nan}, ORDERS, higher=True) == set()


def test_infinite_values_are_compared_too() -> None:
    assert leaders({"a": math.inf, "b": 0.3}, QUIET, ORDERS, higher=True) == {"a"}
