"""A bag of words is explained: p(positive) = σ(Σ weights)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainers import explain
from explainers.datasets.labelled_rows import InputRow, text_id
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan, explain_batch, row_seed
from explainers.evaluation.names import CURVE_SHARES, POSITION, RANDOM
from explainers.evaluation.set_spec import Shard, parse_shard
from explainers.evaluation.shards import merge, run_shard
from explainers.metrics.chance import evidence
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import CONSENSUS
from explainers.results.decision import Settings

Bag = Callable[..., FrozenModel]
WEIGHTS = {"good": 2.0, "bad": -2.0, "film": 0.1, "the": 0.0, "was": 0.0, "dull": -1.0, "very": 0.5}
PLAN = SetPlan(("occlusion", "gradient_x_input", "lime"), Settings(samples=50))
TEXTS = ("the film was very good", "the film was very bad", "very good film was the good", "bad film the dull was")
ROWS = tuple(InputRow(text_id(text, None), text, label=1, line=line) for line, text in enumerate(TEXTS, 2))
COSTS = ("seconds", "passes")


@pytest.fixture
def model(bag: Bag) -> FrozenModel:
    return bag(WEIGHTS)


def without_costs(value: Any) -> Any:
    """Return a record without what depends on the machine."""
    if isinstance(value, dict):
        return {name: without_costs(part) for name, part in value.items() if name not in COSTS}
    return value


def run(model: FrozenModel, rows: Sequence[InputRow], out: Path, shard: str = "1/1", processes: int = 1) -> list[int]:
    return list(run_shard(model, PLAN, rows, {"data": "mine"}, out, parse_shard(shard), processes))


def test_a_record_holds_what_the_compare_page_shows(model: FrozenModel) -> None:
    (record,) = explain_batch(model, PLAN, ROWS[:1])
    seed = row_seed(0, ROWS[0].id)
    shown = explain(model, TEXTS[0], methods=PLAN.methods, samples=50, seed=seed)
    assert shown.answer is not None
    assert (record["predicted"], record["label"], record["seed"]) == (1, 1, seed)
    assert record["units"] == TEXTS[0].split()
    assert record["answer"]["status"] == shown.answer.status
    assert record["answer"]["agreement"] == shown.answer.agreement
    assert set(record["methods"]) == {*PLAN.methods, CONSENSUS, RANDOM, POSITION}
    for result in shown.displayed_results:
        stored = record["methods"][result.method]
        assert stored["scores"] == list(result.attribution.scores)
        assert stored["metrics"]["mask"] == pytest.approx(result.metrics, nan_ok=True)
        assert set(stored["metrics"]) == {"mask", "delete", "zero"}
        assert stored["group"] == shown.answer.group(result.method)
        curves, label = result.curves, result.attribution.label
        assert stored["removed"][:: len(CURVE_SHARES) - 1] == pytest.approx(curves.removed[[0, -1], label])
        fifth = CURVE_SHARES.index(0.2)  # one of five words
        assert stored["removed"][fifth] == pytest.approx(curves.removed_at(1))
        assert stored["kept"][fifth] == pytest.approx(curves.kept_at(1))
        between = (curves.kept_at(1) + curves.kept_at(2)) / 2
        assert stored["kept"][CURVE_SHARES.index(0.3)] == pytest.approx(between)
    random = record["methods"][RANDOM]
    assert shown.random_control is not None
    ends = [curve.removed[-1, 1] for curve in shown.random_control.curves]
    assert random["removed"][-1] == pytest.approx(np.mean(ends))


def test_the_position_control_erases_from_the_first_unit_on(model: FrozenModel) -> None:
    (record,) = explain_batch(model, PLAN, [InputRow("a", "good the was film very")])
    p = {kept: 1 / (1 + np.exp(-kept)) for kept in (2.6, 0.6, 2.0)}
    # of five units the top 1, 5, 10 and 20 % are "good"; the top 50 % are "good the was"
    metrics = record["methods"][POSITION]["metrics"]["mask"]
    assert metrics["aopc_c"] == pytest.approx(p[2.6] - p[0.6])
    assert metrics["aopc_s"] == pytest.approx(p[2.6] - p[2.0])
    assert evidence(metrics) == pytest.approx(p[2.0] - p[0.6])


def test_the_agreement_with_people_is_measured_where_their_class_is_predicted(model: FrozenModel) -> None:
    marks = ((((0, 4),), ()), (((0, 8),), ()), ((), ()))  # "good" by two of three people, "the" by one
    row = InputRow("a", "good the was film", label=1, rationale=marks)
    (record,) = explain_batch(model, PLAN, [row])
    values = {method: content["plausibility"] for method, content in record["methods"].items()}
    assert set(values) == {*PLAN.methods, CONSENSUS, RANDOM, POSITION}
    assert values["occlusion"] == {
        "auprc": 1.0,
        "auc": 1.0,
        "f1": 1.0,
        "iou": 1.0,
        "iou_f1": 1.0,
    }
    assert values[POSITION]["f1"] == 1.0
    assert (values[RANDOM]["auc"], values[RANDOM]["f1"]) == (0.5, 0.25)  # one of four words is marked
    others = [
        replace(row, label=0),  # for another class than the predicted one
        replace(row, rationale=()),
        replace(row, rationale=((((0, 17),), ()),)),  # everything is marked
    ]
    for other in explain_batch(model, PLAN, others):
        assert not any("plausibility" in content for content in other["methods"].values())
    (without_label,) = explain_batch(model, PLAN, [replace(row, label=None)])
    assert without_label["methods"]["occlusion"]["plausibility"] == values["occlusion"]


def test_the_numbers_of_a_row_follow_from_its_id_and_not_from_its_place(model: FrozenModel) -> None:
    forwards = {record["id"]: without_costs(record) for record in explain_batch(model, PLAN, ROWS)}
    backwards = {record["id"]: without_costs(record) for record in explain_batch(model, PLAN, ROWS[::-1])}
    assert json.dumps(forwards, sort_keys=True) == json.dumps(backwards, sort_keys=True)
    other = next(explain_batch(model, SetPlan(PLAN.methods, Settings(samples=50, seed=1)), ROWS[:1]))
    assert other["methods"]["lime"]["scores"] != forwards[ROWS[0].id]["methods"]["lime"]["scores"]


def test_a_row_that_cannot_be_explained_says_why_and_the_others_go_on(model: FrozenModel) -> None:
    first, second = explain_batch(model, PLAN, [InputRow("a", " ", line=7), ROWS[0]])
    assert first["line"] == 7
    assert first["failed"]
    assert "methods" not in first
    assert second["answer"]["status"] in ("supported", "open")


def test_parts_and_whole_are_equal_to_the_last_digit(model: FrozenModel, tmp_path: Path) -> None:
    assert run(model, ROWS, tmp_path / "whole") == [0, 1, 2, 3, 4]
    assert run(model, ROWS, tmp_path / "parts", "2/3") == [0, 1]
    assert run(model, ROWS, tmp_path / "parts", "1/3", processes=2) == [0, 1, 2]
    assert run(model, ROWS, tmp_path / "parts", "3/3") == [0, 1]
    whole, parts = merge(tmp_path / "whole"), merge(tmp_path / "parts")
    assert [record["text"] for record in whole.records] == list(TEXTS)
    assert json.dumps([without_costs(record) for record in whole.records]) == json.dumps(
        [without_costs(record) for record in parts.records]
    )
    assert whole.about == parts.about


def test_an_interrupted_part_goes_on_and_nothing_is_there_twice(model: FrozenModel, tmp_path: Path) -> None:
    steps = run_shard(model, PLAN, ROWS, {}, tmp_path)
    assert [next(steps), next(steps)] == [0, 1]
    steps.close()
    path = tmp_path / Shard().file
    with path.open("a") as file:
        file.write('{"id": "half a li')  # killed while it wrote
    assert list(run_shard(model, PLAN, ROWS, {}, tmp_path)) == [1, 2, 3, 4]
    assert [record["id"] for record in merge(tmp_path).records] == [row.id for row in ROWS]


def test_records_of_other_settings_are_not_mixed(model: FrozenModel, tmp_path: Path) -> None:
    run(model, ROWS, tmp_path)
    with pytest.raises(ExplanationError, match="belongs to another run"):
        list(run_shard(model, SetPlan(("occlusion",)), ROWS, {"data": "mine"}, tmp_path))
    run(model, ROWS, tmp_path / "parts", "1/2")
    list(run_shard(model, SetPlan(("occlusion",)), ROWS, {"data": "mine"}, tmp_path / "parts", Shard(2, 2)))
    with pytest.raises(ExplanationError, match=r"Parts 1 and 2 in .* belong to different sets, models or settings"):
        merge(tmp_path / "parts")


def test_a_missing_or_unfinished_part_is_a_sentence(model: FrozenModel, tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match="holds no part of a set"):
        merge(tmp_path)
    run(model, ROWS, tmp_path, "2/3")
    with pytest.raises(ExplanationError, match=r"1/3, 3/3 are missing in .*Explain with --shard 1/3, or copy the file"):
        merge(tmp_path)
    run(model, ROWS, tmp_path, "3/3")
    steps = run_shard(model, PLAN, ROWS, {"data": "mine"}, tmp_path, Shard(1, 3))
    assert [next(steps), next(steps)] == [0, 1]
    steps.close()
    with pytest.raises(ExplanationError, match=rf"Part 1 of 3 lacks 1 of 2 rows: {ROWS[3].id}\. Run it again with"):
        merge(tmp_path)
    run(model, ROWS, tmp_path / "other", "1/1")
    (tmp_path / "other" / Shard().file).rename(tmp_path / Shard().file)
    with pytest.raises(ExplanationError, match="holds parts of sets in 1 and 3 parts"):
        merge(tmp_path)


def test_an_id_that_is_there_twice_is_named(model: FrozenModel, tmp_path: Path) -> None:
    run(model, ROWS, tmp_path)
    path = tmp_path / Shard().file
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[1]]) + "\n")
    with pytest.raises(ExplanationError, match=f"The id '{ROWS[0].id}' is there twice"):
        merge(tmp_path)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", ""])
def test_a_shard_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ExplanationError, match=r"--shard needs i/n with i from 1 to n"):
        parse_shard(text)
