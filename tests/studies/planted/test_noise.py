"""A model without reasons, played a few times."""

import numpy as np
import pytest

from explainers.studies.planted.noise import CHOSEN_OF, METHODS, PAID, evidence, passed
from explainers.studies.sampling.measure import Game


def test_evidence_is_what_keeping_leaves_minus_what_removing_leaves() -> None:
    # two units, bit u of the mask keeps unit u; every size of the metric is one unit
    game = Game(2, np.array([0.0, 0.7, 0.1, 0.9]))
    assert evidence(game, [(2.0, 1.0), (1.0, 2.0)]).tolist() == pytest.approx([0.7 - 0.1, 0.1 - 0.7])


def test_every_explanation_meets_every_kind_of_control() -> None:
    rows = list(passed(games=3, units=(5,)))
    assert {(row.method, row.chosen_of) for row in rows} == {
        (method, chosen_of) for method in (*METHODS, "consensus") for chosen_of in (*CHOSEN_OF, PAID)
    }


def test_the_more_orders_a_control_is_chosen_of_the_fewer_pass() -> None:
    shares = {pass_.chosen_of: pass_.share.mean for pass_ in passed(games=5, units=(6,)) if pass_.method == "occlusion"}
    assert shares[1] >= shares[2] >= shares[5] >= shares[10]
