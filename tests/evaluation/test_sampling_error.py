"""The document about samplers; that shared masks are the more accurate is a measurement and no test."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.attribution.mask_samples import control_masks
from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.studies.sampling import measure, table
from explainers.studies.sampling.measure import (
    RULES,
    SCORERS,
    SENTENCES,
    SETTINGS,
    STEPS,
    Game,
    all_masks,
    default_errors,
    games_of,
    path_gaps,
    sampling_errors,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SEEDS", 2)
    monkeypatch.setattr(measure, "COUNTS", (20, 60))
    monkeypatch.setattr(measure, "UNITS", (5, 6))


@pytest.mark.parametrize("sampler", SCORERS)
def test_every_sampler_is_exact_where_units_add_up(sampler: measure.Sampler) -> None:
    effects = np.array([0.3, -0.1, 0.0, 0.2, 0.05])
    game = Game(5, all_masks(5) @ effects)
    assert SCORERS[sampler](game, 0, 60) == pytest.approx(effects, abs=1e-4)


def test_where_every_mask_is_asked_nothing_is_new_but_what_the_control_leaves() -> None:
    game = Game(6, np.random.default_rng(0).random(64))
    (first, second) = (
        error for error in sampling_errors([game]) if error.sampler == "sampling=shared" and error.count == 60
    )
    assert first.asked == second.asked == 60
    assert first.new >= 60 - len(control_masks(6, 0))
    assert first.error < 0.2


def test_captum_draws_by_the_seed_and_leaves_the_random_state_alone() -> None:
    game = Game(6, np.random.default_rng(0).random(64))
    one, same, other = (SCORERS["Captum's KernelSHAP"](game, seed, 40) for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()


def test_texts_with_other_numbers_of_units_are_passed_over(bert: FrozenModel) -> None:
    texts = [Example("good"), Example("the film was not good"), Example("the film was not very good")] * 2
    assert [game.units for game in games_of(bert, texts, 3, lambda _line: None)] == [5, 6, 5]


def test_the_sentences_have_as_many_words_as_is_said() -> None:
    assert {len(sentence.split()) for sentence in SENTENCES} == {10, 11, 12, 13}


def test_the_command_writes_the_document(bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "load", lambda _name: bert)
    monkeypatch.setattr(table, "example_for", lambda _model: Example("the film was not very good"))
    monkeypatch.setattr(measure, "SENTENCES", ("the film was not good", "a dull plot , very bad"))
    path = tmp_path / "sampling.md"
    result = CliRunner().invoke(app, ["study", "sampling", "--model", "small", "--out", str(path), "--texts", "2"])
    assert result.exit_code == 0, result.output
    document = path.read_text(encoding="utf-8")
    assert "| KernelSHAP | shared, until settled (default) |" in document
    assert "## Is the spread true?" in document
    assert "| random control |" in document
    assert "(6 units)" in document
    assert "### 5 units, 32 masks (1 text)" in document
    assert "### 6 units, 64 masks (1 text)" in document
    assert f"study sampling --model small --out {path} --texts 2" in document


def test_texts_come_from_the_data_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(f"text number {number}" for number in range(30)))
    texts = measure.sampling_texts("small", (), path)
    assert len(texts) == 30
    assert texts[0].text.startswith("text number")


def test_the_error_of_a_setting_is_that_of_the_method() -> None:
    """Of an additive game every setting of KernelSHAP is exact; where all masks are asked, LIME's is its limit too."""
    game = Game(5, all_masks(5) @ np.array([0.3, -0.1, 0.0, 0.2, 0.05]))
    errors = list(default_errors([game]))
    assert len(errors) == 2 * len(SETTINGS) * 2
    assert max(error.error for error in errors if error.method == "KernelSHAP") < 1e-3
    everything = [error for error in errors if (error.method, error.sampling, error.samples) == ("LIME", "shared", 500)]
    assert [(error.drawn, error.asked) for error in everything] == [(32, 32)] * 2
    assert max(error.error for error in everything) < 1e-4


def test_the_error_is_larger_with_fewer_masks() -> None:
    game = Game(10, np.random.default_rng(0).random(1024))
    errors = [error for error in default_errors([game]) if error.method == "KernelSHAP" and error.sampling == "shared"]
    few, many = ([error for error in errors if error.samples == samples] for samples in (100, 500))
    assert {error.drawn for error in few} == {100}
    assert np.mean([error.error for error in few]) > 1.5 * np.mean([error.error for error in many])
    assert all(error.square_spread > 0 and 0 <= error.inside <= 1 for error in few)


def test_gauss_legendre_nodes_integrate_a_steep_path_with_the_smallest_gap(bert: FrozenModel) -> None:
    gaps = list(path_gaps(bert, [Example("the film was not good")]))
    assert len(gaps) == len(RULES) * len(STEPS)
    last = {gap.rule: gap.gap for gap in gaps if gap.steps == STEPS[-1]}
    assert last["gausslegendre"] == min(last.values())
