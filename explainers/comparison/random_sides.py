"""How far apart random sides of a duel lie: the lead that a duel needs before it has a winner."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.random_order import control_orders
from explainers.comparison.claims import Units
from explainers.comparison.standings import SMALLEST
from explainers.results.attribution import ranking

if TYPE_CHECKING:
    from explainers.metrics.erasure import Answers

Floats = NDArray[np.float64]

ORDERS = 15  # each gives two sides
QUANTILE = 0.97  # of the leads; the rates that follow from it are in `duel`'s docstring


def random_sides(answers: "Answers", most: int, seed: int) -> list[Units]:
    """The first `most` and the last `most` units of random orders, those of the random control first.

    Their erasure curves tell p without either, so that many of these answers are known already.
    """
    sides: list[Units] = []
    for order in control_orders(len(answers.encoding.units), seed, ORDERS):
        units = ranking(order).tolist()
        sides += [tuple(units[:most]), tuple(units[::-1][:most])]
    return sides


def needed_leads(sides: Sequence[Units], removed: Floats) -> Floats:
    """By size, the lead that random sides exceed at one of the sizes in 3 % of all pairs; at least `SMALLEST`.

    `removed` has p without the first units of each side (sides, sizes). Only sides without a common unit are compared,
    as in a duel; the size of which a pair leads by most, relative to that size's usual leads, counts for the pair.
    """
    pairs = [pair for pair in combinations(range(len(sides)), 2) if not set(sides[pair[0]]) & set(sides[pair[1]])]
    leads = np.abs(np.asarray([removed[one] - removed[other] for one, other in pairs]))  # (pairs, sizes)
    usual = np.maximum(SMALLEST, np.quantile(leads, QUANTILE, axis=0, method="higher"))
    largest = np.quantile((leads / usual).max(axis=1), QUANTILE, method="higher")
    needed: Floats = np.maximum(SMALLEST, usual * largest)
    return needed
