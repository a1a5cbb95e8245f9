"""The regression behind the confidence, on rows whose consensus is right where the methods agree."""

import numpy as np
import pytest

from explainers.comparison.confidence import PREDICTORS
from explainers.studies.planted import confidence_fit
from explainers.studies.planted.confidence_fit import (
    FEWEST,
    Cases,
    cases_of,
    check,
    fitted,
    held_out_kinds,
    is_right,
    share_interval,
)


def row(seed: int, *, agreeing: bool) -> dict[str, object]:
    """Three methods on five units: all of them put unit 0 first, or each another one, and the planted one never."""
    chance = np.random.default_rng(seed)
    firsts = (0, 0, 0) if agreeing else (1, 2, 3)
    scores = [np.where(np.arange(5) == first, 2.0, chance.random(5)).tolist() for first in firsts]
    names = ("lime", "kernel_shap", "occlusion")
    kind = ("single", "order", "context")[seed % 3]
    model = ("sst2", "nli")[seed % 2]
    planted = [0] if agreeing else [4]
    whole = {"planted": planted, "units": 5 + seed % 4, "kind": kind, "model": model, "seed": 0}
    return {**whole, "scores": dict(zip(names, scores, strict=True))}


ROWS = [row(seed, agreeing=seed % 5 > 0) for seed in range(60)]


def test_right_is_a_consensus_that_ranks_the_planted_units_first() -> None:
    assert is_right(row(1, agreeing=True))
    assert not is_right(row(0, agreeing=False))


def test_the_rule_that_tells_right_from_wrong_is_chosen_and_pays_on_kinds_left_out() -> None:
    content, checked = fitted(ROWS, "command")
    assert content["top"] == "top 1"
    assert content["predictors"] == list(PREDICTORS)
    assert content["coefficients"][1] > 0
    assert checked.gain.low > 0
    assert checked.auroc == 1.0
    of_texts, *longer = content["cells"]["text, unfitted"]
    assert of_texts["units"] == [5.0, 7.0]  # of even seeds
    assert of_texts["right"] == [*share_interval(np.array([1.0] * 24 + [0.0] * 6)), 30]
    assert longer == [None, None]
    assert content["cells"]["pair, learned"] == [None, None, None]
    assert content["rule"] == "regression"


def test_a_bin_holds_the_inputs_that_were_predicted_in_it() -> None:
    cases = Cases(np.arange(3), np.array(["single"] * 3), np.zeros((3, 4)), np.array([0.0, 1.0, 1.0]))
    checked = check(cases, np.array([0.1, 0.2, 0.96]), np.full(3, 0.5))
    assert [(bin_.inputs, bin_.right) for bin_ in checked.bins] == [(2, 0.5), (1, 1.0)]
    assert checked.brier.mean == pytest.approx((0.01 + 0.64 + 0.0016) / 3)
    assert checked.base.mean == 0.25


def test_an_input_with_learned_methods_counts_with_and_without_them() -> None:
    plain = row(1, agreeing=True)
    learned = dict.fromkeys(("aml", "cimi", "ciem", "ivra"), (0.0, 1.0, 2.0, 3.0, 4.0))
    whole = {**plain, "scores": {**plain["scores"], **learned}}  # type: ignore[dict-item]
    cases = cases_of([plain, whole], "top 1")
    assert cases.input.tolist() == [0, 1, 1]
    assert cases.x[:, 3].tolist() == [0.0, 0.0, 1.0]
    # three methods agree on unit 0, four on unit 4: 3 + 6 of 21 pairs
    assert cases.x[:, 0].tolist() == pytest.approx([1.0, 1.0, 9 / 21])
    assert cases.y.tolist() == [1.0, 1.0, 0.0]
    assert cases.by_input(cases.y).tolist() == [1.0, 0.5]


def test_wilsons_interval_is_open_where_all_are_right() -> None:
    # 1.96² / (n + 1.96²) of n = 96 is 0.0385
    assert share_interval(np.ones(96)) == [1.0, 0.9615, 1.0]


def test_a_base_rate_is_that_of_alike_inputs_of_the_other_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confidence_fit, "FEWEST", 2)
    kinds = np.array(["single", "single", "single", "order", "order", "order"])
    units = np.array([10.0, 20.0, 10.0, 10.0, 10.0, 40.0])
    pair = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    x = np.stack([np.ones(6), units, pair, np.zeros(6)], axis=1)
    cases = Cases(np.arange(6), kinds, x, np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0]))
    p, base = held_out_kinds(cases)
    # "single" of 10 units: 1 of 2 others; no other text is as long as 20 or 40, and no other input is a pair
    assert base[0] == 1 / 2
    assert np.isnan(base[1:]).all()
    assert len(p) == 6


def test_what_has_no_base_rate_does_not_count() -> None:
    cases = Cases(np.array([0, 3, 3]), np.array(["single"] * 3), np.zeros((3, 4)), np.array([0.0, 1.0, 1.0]))
    checked = check(cases, np.array([0.1, 0.2, 0.96]), np.array([np.nan, 0.5, 0.5]))
    assert (checked.brier.texts, checked.base.mean) == (1, 0.25)
    assert checked.brier.mean == pytest.approx((0.64 + 0.0016) / 2)


@pytest.mark.parametrize(("number", "known"), [(FEWEST - 1, False), (FEWEST, True)])
def test_a_cell_with_few_inputs_has_no_base_rate(number: int, known: bool) -> None:
    texts = [row for row in ROWS if row["model"] == "sst2"]
    content, _ = fitted([*ROWS, *({**some, "units": 20} for some in texts[:number])], "command")
    cell = content["cells"]["text, unfitted"][1]
    assert (cell is not None) is known
    assert content["cells"]["pair, unfitted"][1] is None
