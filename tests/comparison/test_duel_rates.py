"""How often a duel names a winner where there is none, and where there is one: logits that are sums of effects.

The rates in the docstring of explainers/comparison/duel.py are those of `measured(units, trials=1000)`.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from explainers.comparison.duel import duel
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.calls import PredictionCache
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.results.attribution import Attribution, ErasureCurves
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, ModelCard, Settings
from explainers.results.events import MethodResult

NAMES = ("lime", "kernel_shap")
Effects = np.ndarray
NO_CURVES = ErasureCurves((), np.empty((0, 2)), np.empty((0, 2)), 1)


def additive(effects: Effects, logit: float) -> Any:
    """A model of a single text: `logit` with all units, and without some of them so much less as their effects are."""

    def probabilities(_encoding: Encoding, keeps: np.ndarray, _erasure: str) -> np.ndarray:
        positive = 1 / (1 + np.exp(-(logit - ~keeps @ effects)))
        return np.stack([1 - positive, positive], axis=1)

    return SimpleNamespace(name="additive", labels=("a", "b"), pool=PredictionCache(), probabilities=probabilities)


def winner(effects: Effects, logit: float, *orders: Effects, seed: int) -> str | None:
    positions = tuple(range(len(effects)))
    words = tuple(Unit("w", 2 * at, 2 * at + 1) for at in positions)
    encoding = Encoding(("w " * len(effects),), words, positions, (0,) * len(effects), positions)
    results = tuple(
        MethodResult(Attribution(name, encoding, 1, tuple(map(float, order)), signed=True), NO_CURVES, {}, {})
        for name, order in zip(NAMES, orders, strict=True)
    )
    decision = Decision(ModelCard("additive", "1", ("a", "b")), encoding, 1, Settings(seed=seed))
    answers = MaskedPredictor(additive(effects, logit), encoding, "mask")
    fought = duel(Comparison(decision, (0.0, 1.0), results), NAMES, answers)
    return fought.winner if fought is not None else None


def measured(units: int, trials: int) -> tuple[float, float, float]:
    """Shares of trials in which two random orders get a winner, the true order wins against a random one, or loses."""
    generator = np.random.default_rng(units)
    chance, won, lost = [], [], []
    for trial in range(trials):
        effects, logit = generator.standard_t(2, units), abs(generator.normal(1.5, 1))
        one, other = generator.normal(size=(2, units))
        chance.append(winner(effects, logit, one, other, seed=trial) is not None)
        true = winner(effects, logit, effects, other, seed=trial)
        won.append(true == NAMES[0])
        lost.append(true == NAMES[1])
    return float(np.mean(chance)), float(np.mean(won)), float(np.mean(lost))


@pytest.mark.parametrize(("units", "least"), [(10, 0.2), (20, 0.4), (40, 0.55)])
def test_chance_seldom_wins_and_the_true_order_often_does(units: int, least: float) -> None:
    chance, won, lost = measured(units, trials=200)
    assert chance <= 0.1
    assert won >= least
    assert lost == 0
