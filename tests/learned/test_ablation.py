import json
from pathlib import Path

import numpy as np
import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.ablation import ABLATIONS, Ablated, ablate, ablation_markdown, ablation_records, last_loss
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.metrics.intervals import Interval
from explainers.models.frozen_model import FrozenModel
from explainers.training.loop import LOG

ENDS = ("good", "bad", "dull", "unwatchable")
TEXTS = tuple(f"the {subject} was {end} !" for end in ENDS for subject in ("film", "plot"))


@pytest.fixture
def items(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


@pytest.mark.parametrize("method", RECIPES)
def test_every_part_is_trained_with_its_settings(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, method: str
) -> None:
    ablation = ABLATIONS[method]
    results = list(ablate(method, bert, items, items[:2], tmp_path, {"epochs": 1, "batch": 4}))
    assert [each.part for each in results] == [part for part, _ in ablation.parts for _ in range(ablation.seeds)]
    assert [each.seed for each in results] == list(range(ablation.seeds)) * len(ablation.parts)
    logs = sorted(tmp_path.glob(f"*/{LOG}"))
    heads = [json.loads(log.read_text(encoding="utf-8").splitlines()[0])["recipe"] for log in logs]
    assert len(heads) == len(results)
    for _, changed in ablation.parts:
        same = [head for head in heads if all(head[name] == value for name, value in changed.items())]
        assert len(same) >= ablation.seeds
        assert {(head["epochs"], head["batch"], head["select"]) for head in same} == {(1, 4, "last")}
    assert all(each.aopc_c.texts == each.aopc_s.texts == 2 for each in results)
    assert all(np.isfinite([each.loss, each.aopc_c.mean, each.aopc_s.mean]).all() for each in results)


@pytest.mark.parametrize("method", RECIPES)
def test_every_part_differs_from_the_whole_in_a_setting_that_exists(method: str) -> None:
    (_, nothing), *parts = ABLATIONS[method].parts
    assert nothing == {}
    whole = recipe_of(method, {})
    assert all(recipe_of(method, changed) != whole for _, changed in parts)
    assert len({str(changed) for _, changed in parts}) == len(parts)


def test_a_method_without_an_ablation_is_a_sentence(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path
) -> None:
    with pytest.raises(ExplanationError, match=r"An ablation of .lime. is not available. Choose one of: aml, cimi"):
        next(ablate("lime", bert, items, items, tmp_path, {}))


def test_the_loss_is_the_mean_over_the_last_epochs_steps(tmp_path: Path) -> None:
    steps = [(0, 9.0), (0, 7.0), (1, 1.0), (1, 2.0), (1, 6.0)]
    lines = [{"method": "aml"}, *({"epoch": epoch, "terms": {"total": loss}} for epoch, loss in steps), {"epoch": 2}]
    (tmp_path / LOG).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert last_loss(tmp_path / LOG) == 3


def ablated(part: str, seed: int = 0) -> Ablated:
    return Ablated(part, seed, 1.25, Interval(0.5, 0.25, 0.75, 9), Interval(-0.125, -0.25, 0.0, 9))


def test_the_table_has_a_row_for_every_part_and_what_the_paper_found() -> None:
    head, rule, *rows, empty, paper = ablation_markdown(
        "cimi", [ablated(part) for part, _ in ABLATIONS["cimi"].parts]
    ).split("\n")
    assert head == "| cimi | loss, last epoch | AOPC-C ↑ (zero) | AOPC-S ↓ (zero) |"
    assert rule == "|---|---|---|---|"
    assert rows[0] == "| CIMI | 1.250 | 0.500 [0.250, 0.750] | -0.125 [-0.250, 0.000] |"
    assert [row.split("|")[1].strip() for row in rows] == [part for part, _ in ABLATIONS["cimi"].parts]
    assert (empty, paper) == ("", f"The paper: {ABLATIONS['cimi'].claim}")


def test_seeds_are_named_where_there_are_several() -> None:
    rows = ablation_markdown("ciem", [ablated("CIEM"), ablated("CIEM", 1)]).split("\n")[2:4]
    assert [row.split("|")[1].strip() for row in rows] == ["CIEM, seed 0", "CIEM, seed 1"]


def test_the_figures_can_be_written_as_json() -> None:
    interval = {"mean": 0.5, "low": 0.25, "high": 0.75, "texts": 9}
    assert json.loads(json.dumps(ablation_records([ablated("AML")])))[0]["aopc_c"] == interval
