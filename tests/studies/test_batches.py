"""The study of how full the batches of a comparison are."""

import numpy as np
import pytest
import torch

from explainers.models.frozen_model import FrozenModel
from explainers.studies.speed import batches as study
from explainers.studies.speed.batches import NetworkPass, batches, recorded, saved


def test_time_is_saved_only_where_a_batch_is_slower_than_its_rows_in_a_full_one() -> None:
    some = [
        NetworkPass(4, 0.08, gradient=False),
        NetworkPass(60, 0.6, gradient=False),
        NetworkPass(20, 0.12, gradient=False),
    ]
    assert saved(some, 0.01) == pytest.approx(0.04 / 0.8)


def test_passes_are_recorded_with_their_rows_and_only_during_the_block(bert: FrozenModel) -> None:
    encoding = bert.encode("a good film")
    keeps = np.array([[True, False, True], [False, True, True]])
    with recorded(bert.module) as done:
        bert.probabilities(encoding, keeps)
        bert.soft_probabilities(encoding, torch.tensor(keeps).float())
    bert.probabilities(encoding, ~keeps)
    assert [batch.rows for batch in done] == [2, 2]
    assert [batch.gradient for batch in done] == [False, True]
    assert all(batch.seconds > 0 for batch in done)


def test_the_study_says_how_full_the_batches_of_a_comparison_are(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study.catalog, "load", lambda _name: bert)
    result = batches("small", 0)
    of_comparison = result["batches of a comparison"]
    assert of_comparison["that only answer masks"] > 10
    assert 0 < of_comparison["share of the network's time"] <= 1
    assert 0 <= of_comparison["of it full batches would save"] < 1
    assert next(iter(result["ms per row"])) == "1 rows"
