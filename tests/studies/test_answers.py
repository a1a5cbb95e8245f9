"""What is stored of an input's answers, and the table of them."""

import numpy as np
import pytest

from explainers.attribution.controls import random_scores
from explainers.comparison.decision import decide
from explainers.comparison.measuring import random_orders
from explainers.datasets.example import Example
from explainers.methods.registry import select
from explainers.metrics.chance import evidence
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import measured, metrics_at_percents
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import CONSENSUS
from explainers.results.decision import Settings
from explainers.studies import answers
from explainers.studies.answers import answer_row, answers_document

METHODS = ("occlusion", "lime", "integrated_gradients")


def test_a_row_has_the_evidence_of_the_methods_and_the_mean_of_the_random_orders(bert: FrozenModel) -> None:
    example, settings = Example("the good film was not dull"), Settings(seed=3, samples=50, steps=5)
    row = answer_row(bert, example, 0, select(METHODS), settings)
    stored = row["seeds"][0]
    assert set(stored["evidence"]) == {*METHODS, CONSENSUS}
    assert set(stored["random_evidence"]) == set(bert.erasures)
    decision, _ = decide(bert, example, settings=settings)
    for erasure, mean in stored["random_evidence"].items():
        predictor = MaskedPredictor(bert, decision.encoding, erasure)
        scores = [
            measured(predictor, order, decision.label, metrics_at_percents())
            for order in random_orders(decision.encoding, settings.seed)
        ]
        assert mean == pytest.approx(float(np.mean([evidence(metrics) for metrics in scores])), abs=1e-5)
    document = answers_document({"small": {"rows": [{"input": 0, **row}], "command": "study answers --n 1"}})
    lines = [line.split(" | ") for line in document.splitlines() if line.startswith("| `")]
    (random,) = [cells for cells in lines if "`random`" in cells[0]]
    assert random[1].startswith(f"{stored['random_evidence']['mask']:.3f} ")
    assert random[3] == f"{stored['random_evidence']['delete']:.3f}"
    assert {cells[0].strip("| ") for cells in lines} == {f"`{name}`" for name in stored["evidence"]} | {"`random`"}


def test_inputs_share_no_random_orders(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(answers, "named_by_luck", lambda _model, _decision, _p, draw: drawn.append(draw) or 0)
    for number in range(3):
        answers.answer_row(bert, Example("the good film was not dull"), number, (), Settings())
    assert sorted(drawn) == list(range(3 * answers.DRAWS))
    seeds: list[int] = []
    monkeypatch.undo()
    monkeypatch.setattr(answers, "random_scores", lambda units, seed: seeds.append(seed) or random_scores(units, seed))
    decision, probabilities = decide(bert, Example("the good film was not dull"))
    for draw in range(2):
        answers.named_by_luck(bert, decision, probabilities, draw)
    assert len(set(seeds)) == len(seeds) == 2 * len(answers.tested_methods())
