"""Brief evaluations of a set beside thorough ones: a bag of words, p(positive) = σ(Σ weights)."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from explainers.datasets.labelled_rows import InputRow
from explainers.evaluation.brief_run import brief_counts, rotations
from explainers.evaluation.explain_batch import SetPlan, explain_row
from explainers.evaluation.names import RANDOM
from explainers.evaluation.record_file import Record
from explainers.evaluation.shards import merge, run_shard
from explainers.methods.registry import METHODS, method_spec
from explainers.metrics.faithfulness import metrics_at_percents
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import metric_counts, ranking
from explainers.results.decision import Settings

METHOD_IDS = ("occlusion", "gradient_x_input", "lime", "kernel_shap")
WORDS = ("good", "bad", "film", "the", "was", "dull", "very", "plot", "not", "but", "long", "fine")
WEIGHTS = {word: weight / 10 for weight, word in enumerate(WORDS, -4)}
ROW = InputRow("a", "the film was very good but the plot was not fine , long and dull")
THOROUGH = SetPlan(METHOD_IDS, Settings(samples=100))
BRIEF = replace(THOROUGH, thorough=False)


@pytest.fixture
def model(bag: Callable[..., FrozenModel]) -> FrozenModel:
    return bag(WEIGHTS)


def test_rotations_erase_every_unit_equally_often() -> None:
    order = (0.3, 0.9, 0.1, 0.5, 0.8, 0.2, 0.7, 0.4)
    tops = [ranking(scores)[:2].tolist() for scores in rotations(order, 4)]
    assert tops == [[1, 4], [6, 3], [7, 0], [5, 2]]  # pairs of the order of the scores, one after the other
    halves = [ranking(scores)[:4].tolist() for scores in rotations(order, 4)]
    assert sorted(chain(*halves)) == sorted([*range(8)] * 2)
    assert rotations(order, 1) == [tuple(float(-place) for place in (5, 0, 7, 3, 1, 6, 2, 4))]
    assert len(rotations((0.1, 0.2), 4)) == 2


@pytest.mark.parametrize("units", [1, 2, 5, 25, 300])
def test_curves_are_asked_where_the_metrics_are_read_and_between(units: int) -> None:
    counts = brief_counts(units)
    assert set(metric_counts(units)) <= set(counts)
    assert len(counts) <= len(metric_counts(units)) + 2


def test_what_does_not_sample_has_the_same_numbers(model: FrozenModel) -> None:
    brief, thorough = (explain_row(model, plan, ROW) for plan in (BRIEF, THOROUGH))
    assert set(brief["methods"]) == set(thorough["methods"])
    for method in ("occlusion", "gradient_x_input"):
        one, other = brief["methods"][method], thorough["methods"][method]
        assert one["scores"] == other["scores"]
        for operator in ("mask", "delete", "zero"):
            for metric in metrics_at_percents():
                assert one["metrics"][operator][metric.id] == pytest.approx(other["metrics"][operator][metric.id])
        assert math.isnan(one["metrics"]["mask"]["dffot"])
    assert brief["methods"][RANDOM]["metrics"]["mask"]["aopc_c"] == pytest.approx(
        thorough["methods"][RANDOM]["metrics"]["mask"]["aopc_c"]
    )
    assert (brief["answer"]["status"], brief["answer"]["p"]) == (
        thorough["answer"]["status"],
        thorough["answer"]["p"],
    )
    assert brief["passes"] < thorough["passes"]


def test_a_brief_record_does_not_say_whether_the_answer_is_robust(model: FrozenModel) -> None:
    assert explain_row(model, BRIEF, ROW)["answer"]["robust"] is None
    assert explain_row(model, THOROUGH, ROW)["answer"]["robust"] is not None


def test_a_method_that_fails_leaves_the_others(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    from explainers.attribution.occlusion import Occlusion

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Occlusion, "attribute", broken)
    record = explain_row(model, BRIEF, ROW)
    assert record["failures"] == {"occlusion": "Internal error in Crosslight (RuntimeError)."}
    assert {"lime", CONSENSUS} <= set(record["methods"])


def test_plans_that_differ_in_this_are_not_mixed(model: FrozenModel, tmp_path: Path) -> None:
    stored, brief = THOROUGH.as_dict(model), BRIEF.as_dict(model)
    assert stored["thorough"]
    assert brief == {**stored, "thorough": False}


def test_parts_and_whole_are_equal_to_the_last_digit(model: FrozenModel, tmp_path: Path) -> None:
    rows = [replace(ROW, id=str(number), text=ROW.text[4 * number :]) for number in range(4)]
    for shard, folder, processes in (((1, 1), "whole", 1), ((1, 2), "parts", 2), ((2, 2), "parts", 1)):
        from explainers.evaluation.set_spec import Shard

        list(run_shard(model, BRIEF, rows, {}, tmp_path / folder, Shard(*shard), processes))
    whole, parts = (merge(tmp_path / folder).records for folder in ("whole", "parts"))
    assert json.dumps([without_seconds(record) for record in whole]) == json.dumps(
        [without_seconds(record) for record in parts]
    )


def without_seconds(record: Record) -> Record:
    methods = {id: {**content, "seconds": 0} for id, content in record["methods"].items()}
    return {**record, "seconds": 0, "methods": methods}


def test_a_method_is_shortened_by_its_own_fields() -> None:
    assert dict(method_spec("faml").in_brief.fixed)["steps"] < 20
    assert method_spec("occlusion").in_brief == method_spec("occlusion")
    for spec in METHODS.declared:
        made = spec.in_brief.make(erasure="mask", seed=0, samples=100, steps=5)
        assert all(getattr(made, name) == value for name, value in spec.brief)
