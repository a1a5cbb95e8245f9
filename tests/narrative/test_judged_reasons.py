"""Reasons that are judged by rules on more inputs than the other metrics are measured on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explainers.datasets import text_sets
from explainers.datasets.entailment import ReasonTruth
from explainers.datasets.example import Example, Splits
from explainers.errors import ModelUnavailable
from explainers.evaluation import narrator_runs
from explainers.evaluation.narrator_runs import NarratorEvaluation, evaluate_narrators
from explainers.evaluation.narrator_weights import NarratorEvaluationSpec
from explainers.models.frozen_model import FrozenModel
from explainers.models.tasks import TASKS
from explainers.report.narrator_overview import judged_reasons

Measured = Callable[..., NarratorEvaluation]
FIRST = 6


@pytest.fixture
def measured(
    model: FrozenModel,
    written: Callable[..., Path],
    pairs: list[Example],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Measured:
    """An evaluation in which every reason about an input of the first ones is true, and no other one."""
    monkeypatch.chdir(tmp_path)
    splits = Splits(tuple(pairs[:40]), (), tuple(pairs[40:]))
    monkeypatch.setattr(text_sets, "read_esnli", lambda _folder: splits)

    def missing() -> None:
        raise ModelUnavailable("There are no base weights.")

    monkeypatch.setattr(narrator_runs.text_metrics, "minilm_scorer", missing)
    for method in ("cause_phi", "cause"):
        written(method)

    def evaluated(*, rules: bool = True, **fields: Any) -> NarratorEvaluation:
        spec = NarratorEvaluationSpec(None, FIRST, 1, ("cause_phi", "cause"), **fields)
        if rules:
            plain = evaluate_narrators(spec, model, lambda _line: None)
            first = {example.text for example in plain.inputs[:FIRST]}
            task = replace(
                TASKS["nli"],
                check_reason=lambda _reason, example: ReasonTruth(example.text in first, ""),
                check_topic=lambda _reason, given: True if given else None,
            )
            monkeypatch.setitem(TASKS, model.name, task)
        return evaluate_narrators(spec, model, lambda _line: None)

    return evaluated


def test_they_are_judged_on_as_many_inputs_as_asked_for(measured: Measured, pairs: list[Example]) -> None:
    few, all_ = measured(), measured(reasons=0)
    assert {row["reason_true"]["mean"] for row in (*few.rows, *few.baselines)} == {1.0}
    number = len(pairs) - 40
    assert number > FIRST
    assert [row["method"] for row in all_.rows] == ["cause_phi", "cause"]
    for row in (*all_.rows, *all_.baselines):
        assert row["reason_true"]["mean"] == pytest.approx(FIRST / number)
    (gain,) = (row["reason_right_gain"]["mean"] for row in all_.rows[1:])
    assert gain == 0.0
    assert few.about["data"] == {"split": "test", "pairs": FIRST, "seed": 0}
    assert judged_reasons(few.about["data"]) == FIRST
    assert judged_reasons(all_.about["data"]) == number
    assert "--reasons 0" in all_.about["command"]
    assert [row["own_words"] for row in all_.rows] == [row["own_words"] for row in few.rows]  # on the first inputs


def test_where_no_rules_can_tell_nothing_changes(measured: Measured) -> None:
    evaluation = measured(rules=False, reasons=0)
    assert not any("reason_true" in row for row in evaluation.rows)
    assert judged_reasons(evaluation.about["data"]) == FIRST
