from collections.abc import Callable

import numpy as np
import pytest
from captum.attr import GradientShap as OfCaptum

from explainers.attribution.gradient import GradientShap
from explainers.models.frozen_model import FrozenModel

Build = Callable[..., FrozenModel]


def test_where_the_model_is_linear_a_unit_has_its_weight_times_how_often_it_is_missing(bag: Build) -> None:
    model = bag({"great": 0.3, "dull": -0.2}, additive=True)
    attribution = GradientShap(steps=4000).attribute(model, model.encode("great dull"), 1)
    assert attribution.scores == pytest.approx((0.15, -0.1), abs=0.005)  # half of the baselines lack it
    assert attribution.spread == pytest.approx((0.15 / 4000**0.5, 0.1 / 4000**0.5), rel=0.05)
    assert attribution.gap == pytest.approx(0, abs=1e-5)  # whatever was drawn


def test_the_scores_add_up_to_the_rise_from_the_baselines_as_more_are_drawn(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable")
    few, many = (GradientShap(steps=steps).attribute(bert, encoding, 1).gap for steps in (4, 4000))
    assert few is not None
    assert many is not None
    assert many < 0.002 < few


def test_the_spread_is_that_over_seeds(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable")
    runs = [GradientShap(steps=40, seed=seed).attribute(bert, encoding, 1) for seed in range(60)]
    assert runs[0].scores == GradientShap(steps=40).attribute(bert, encoding, 1).scores
    drawn = np.std([run.scores for run in runs], axis=0)
    told = np.mean([run.spread for run in runs], axis=0)
    assert told == pytest.approx(drawn, rel=0.35)
    draws = np.mean([np.std(run.draws, axis=0) for run in runs], axis=0)
    assert draws == pytest.approx(drawn, rel=0.35)


def test_it_is_captums_on_the_same_baselines(bert: FrozenModel) -> None:
    import torch

    encoding = bert.encode("the film was not unwatchable")
    draws = torch.Generator().manual_seed(5)
    shares, rows = torch.rand(4000, 1, generator=draws), torch.rand(4000, 5, generator=draws)
    with torch.random.fork_rng(devices=[]):
        np.random.seed(0)  # noqa: NPY002  Captum draws from it
        theirs = OfCaptum(lambda masks: bert.soft_probabilities(encoding, masks)[:, 1]).attribute(
            torch.ones(1, 5), baselines=(rows < shares).float(), n_samples=4000
        )
    ours = GradientShap(steps=4000).attribute(bert, encoding, 1)
    assert ours.scores == pytest.approx(theirs[0].tolist(), abs=5 * max(ours.spread))
    assert max(ours.scores, key=abs) != pytest.approx(0, abs=10 * max(ours.spread))


def test_small_batches_give_the_same(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = bert.encode("the film was not unwatchable")
    whole = GradientShap(steps=10).attribute(bert, encoding, 1)
    monkeypatch.setattr(bert, "rows_at_once", lambda _encoding: 3)
    parts = GradientShap(steps=10).attribute(bert, encoding, 1)
    assert parts.scores == pytest.approx(whole.scores, abs=1e-6)
    assert parts.gap == pytest.approx(whole.gap, abs=1e-6)
