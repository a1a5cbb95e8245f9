import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.recipes import recipe_of
from explainers.metrics.bootstrap import Interval
from explainers.models.frozen_model import FrozenModel
from explainers.studies.ablations import (
    ABLATIONS,
    SHARES,
    Ablated,
    AblationPlan,
    ablate,
    ablation_markdown,
    ablation_records,
    loss_curve,
)
from explainers.training.loop import LOG

ENDS = ("good", "bad", "dull", "unwatchable")
TEXTS = tuple(f"the {subject} was {end} !" for end in ENDS for subject in ("film", "plot"))


@pytest.fixture
def items(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


@pytest.mark.parametrize("method", ABLATIONS)
def test_every_part_is_trained_with_its_settings(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, method: str
) -> None:
    ablation = ABLATIONS[method]
    results = list(
        ablate(method, bert, items, items[:3], tmp_path, {"batch": 4}, AblationPlan(steps=3, seeds=2, sensitive=1))
    )
    assert [result.part for result in results] == [part for part, _ in ablation.parts]
    for number, (_, changed) in enumerate(ablation.parts):
        logs = [tmp_path / f"{method}-{number}-{seed}" / LOG for seed in (0, 1)]
        recipes = [json.loads(log.read_text(encoding="utf-8").split("\n")[0])["recipe"] for log in logs]
        assert [recipe["seed"] for recipe in recipes] == [0, 1]
        expected = {**ablation.base, **changed, "epochs": 2, "batch": 4, "select": "last"}.items()
        assert all(recipe[name] == value for recipe in recipes for name, value in expected)
    assert all(result.steps == 4 and len(result.by_seed) == 2 for result in results)  # two epochs of two batches
    assert all(result.aopc_c.texts == result.aopc_s.texts == 3 and result.avg_sen is not None for result in results)
    assert all(result.aopc_c.mean == pytest.approx(np.mean(result.by_seed)) for result in results)
    assert all(np.isfinite([*result.losses, result.aopc_c.mean, result.aopc_s.mean]).all() for result in results)


def test_parts_are_compared_with_the_whole_text_by_text(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path
) -> None:
    whole, *others = ablate("ciem", bert, items, items[:3], tmp_path, {"batch": 4}, AblationPlan(1, 1, 0))
    assert whole.minus_whole is None
    assert whole.avg_sen is None
    for other in others:
        assert other.minus_whole is not None
        comp, suff = other.minus_whole
        assert comp.mean == pytest.approx(other.aopc_c.mean - whole.aopc_c.mean)
        assert suff.mean == pytest.approx(other.aopc_s.mean - whole.aopc_s.mean)


@pytest.mark.parametrize("method", ABLATIONS)
def test_every_part_differs_from_the_whole_in_a_setting_that_exists(method: str) -> None:
    (_, nothing), *parts = ABLATIONS[method].parts
    assert nothing == {}
    base = ABLATIONS[method].base
    whole = recipe_of(method, base)
    assert all(recipe_of(method, {**base, **changed}) != whole for _, changed in parts)
    assert len({str(changed) for _, changed in parts}) == len(parts)


def test_a_method_without_an_ablation_is_a_sentence(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path
) -> None:
    with pytest.raises(ExplanationError, match=r"An ablation of .lime. is not available. Choose one of: aml, cimi"):
        next(ablate("lime", bert, items, items, tmp_path, {}))


def test_what_the_plan_decides_cannot_be_set(bert: FrozenModel, items: list[LearningExample], tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match=r"An ablation decides epochs, select itself. Use --steps and --seeds"):
        next(ablate("aml", bert, items, items, tmp_path, {"select": "comp", "epochs": "3", "rank": "4"}))


def test_the_curve_holds_the_mean_loss_of_each_share_of_the_steps(tmp_path: Path) -> None:
    losses = [9.0, 8.0, 8.0, *[5.0] * 5, *[2.0] * 10, *[1.0] * 2]
    lines = [{"method": "aml"}, *({"epoch": 0, "terms": {"total": loss}} for loss in losses), {"epoch": 1}]
    (tmp_path / LOG).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert loss_curve(tmp_path / LOG) == pytest.approx((8.5, (8 + 5 + 5) / 3, (5 * 3 + 2 * 2) / 5, 2, (2 * 3 + 2) / 5))


def test_the_curve_of_two_steps_has_all_its_shares(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text('{"terms": {"total": 4}}\n{"terms": {"total": 2}}', encoding="utf-8")
    curve = loss_curve(tmp_path / LOG)
    assert len(curve) == len(SHARES) - 1
    assert set(curve) <= {4.0, 2.0}


WHOLE = Ablated(
    "CIMI", 320, (1.25,) * 5, (0.25, 0.75), Interval(0.5, 0.25, 0.75, 9), Interval(-0.125, -0.25, 0, 9), None
)
CHANGE = (Interval(-0.25, -0.5, 0.0, 9), Interval(0.125, 0.0, 0.25, 9))


def test_the_tables_have_figures_losses_and_what_the_paper_found() -> None:
    part = replace(WHOLE, part="-s", minus_whole=CHANGE, avg_sen=Interval(0.125, 0.0, 0.25, 8))
    counts, figures, _losses_head, losses, paper = ablation_markdown("cimi", [WHOLE, part]).split("\n\n")
    assert counts.startswith("320 steps, 2 seeds, 9 validation texts")
    head, _, first, second = figures.split("\n")
    assert (
        head == "| part | AOPC-C ↑ | seed 0 | seed 1 | AOPC-S ↓ | AvgSen ↓ | difference, AOPC-C | difference, AOPC-S |"
    )
    assert first == "| CIMI | 0.500 [0.250, 0.750] | 0.250 | 0.750 | -0.125 [-0.250, 0.000] | – | – | – |"
    assert second.endswith("| 0.125 [0.000, 0.250] | -0.250 [-0.500, +0.000] | +0.125 [+0.000, +0.250] |")
    assert losses.split("\n")[0] == "| part | 0–10 % | 10–25 % | 25–50 % | 50–75 % | 75–100 % |"
    assert losses.split("\n")[2] == "| CIMI | 1.250 | 1.250 | 1.250 | 1.250 | 1.250 |"
    assert paper == f"The paper: {ABLATIONS['cimi'].claim}"


def test_the_figures_can_be_written_as_json() -> None:
    interval = {"mean": 0.5, "low": 0.25, "high": 0.75, "texts": 9}
    assert json.loads(json.dumps(ablation_records([WHOLE])))[0]["aopc_c"] == interval
