"""Comparisons made of a probability that can be computed by hand: a function of the units that are kept."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from explainers.comparison.measuring import measure, run_random_control
from explainers.comparison.runner import run_consensus, run_operator_checks
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.calls import Meter, PredictionCache
from explainers.models.inputs.encoding import Encoding, Erasure, Unit
from explainers.models.target import Target
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, ModelCard, Settings

Scores = tuple[float, ...]
Masks = np.ndarray  # (B, units), true = kept
Probability = Callable[[Masks], np.ndarray]  # p of class 1, (B,)
Compared = Callable[..., Comparison]


def make_comparison(
    p: Probability,
    methods: dict[str, Scores],
    *,
    units: int = 10,
    label: int = 1,
    others: dict[str, Probability] | None = None,
    noise: dict[str, float] | None = None,
    control: bool = True,
) -> Comparison:
    """The results of `methods` where p(class 1) is `p`, under the operators in `others` another one."""
    words = tuple(Unit(f"w{at}", 4 * at, 4 * at + 2) for at in range(units))
    positions = tuple(range(units))
    encoding = Encoding((" ".join(word.text for word in words),), words, positions, (0,) * units, positions)
    by_erasure = {"mask": p, **(others or {})}

    def probabilities(_encoding: Encoding, keeps: Masks, erasure: str) -> np.ndarray:
        positive = by_erasure[erasure](np.asarray(keeps, dtype=bool).reshape(len(keeps), units))
        return np.stack([1 - positive, positive], axis=1)

    model: Any = SimpleNamespace(
        name="stub",
        version="1",
        probabilities=probabilities,
        pool=PredictionCache(),
    )
    model.metered = model.aimed = lambda _: model
    card = ModelCard("stub", "1", ("negative", "positive"), erasures=cast(tuple[Erasure, ...], tuple(by_erasure)))
    decision = Decision(card, encoding, label, Settings())
    answers = MaskedPredictor(model, encoding, "mask")
    whole = probabilities(encoding, np.ones((1, units)), "mask")[0]
    results = [
        measure(answers, Attribution(id, encoding, label, scores, signed=True)) for id, scores in methods.items()
    ]
    for at, result in enumerate(results):
        if result.attribution.method in (noise or {}):
            results[at] = replace(result, noise=dict.fromkeys(result.noise, noise[result.attribution.method]))
    results = [*run_consensus(answers, [result.attribution for result in results], Target(label)), *results]
    checks = run_operator_checks(model, decision, [result.attribution for result in results], Meter())
    return Comparison(
        decision,
        cast(tuple[float, ...], tuple(float(probability) for probability in whole)),
        tuple(results),
        run_random_control(answers, label, 0) if control else None,
        operator_checks=tuple(checks) if others else (),
    )


@pytest.fixture
def compared() -> Compared:
    return make_comparison
