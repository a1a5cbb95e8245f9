import json
from pathlib import Path

import numpy as np
import pytest
import torch

from explainers.errors import ExplanationError
from explainers.studies import identifiability
from explainers.studies.identifiability import (
    PROCESSES,
    Kind,
    Process,
    experiment,
    generated,
    linear,
    linear_map,
    measured,
    one_to_one,
    plot,
    report,
    rotation,
    with_constant,
)  # fmt: skip


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def turned(values: np.ndarray) -> np.ndarray:
    return values @ rotation(torch.from_numpy(normal(values.shape[1], values.shape[1], seed=9))).numpy()


def brought_back(true: np.ndarray, result: np.ndarray) -> np.ndarray:
    return with_constant(result) @ linear_map(true, result)


def test_a_copy_in_another_order_and_scale_is_found_one_to_one() -> None:
    true = normal(500, 6)
    copy = true[:, [3, 0, 5, 1, 4, 2]] * [2, -1, 0.1, -7, 3, 1] + 4
    assert one_to_one(true, copy) == pytest.approx(1)
    assert linear(true, brought_back(true, copy)) == pytest.approx(1)


def test_a_rotated_copy_is_found_by_a_linear_map_only() -> None:
    true = normal(500, 6)
    assert linear(true, brought_back(true, turned(true))) == pytest.approx(1)
    assert one_to_one(true, turned(true)) < 0.9


def test_noise_is_found_in_no_way() -> None:
    true, noise = normal(4000, 6), normal(4000, 6, seed=1)
    assert one_to_one(true, noise) < 0.05
    assert linear(true, brought_back(true, noise)) < 0.1


def test_each_found_latent_is_matched_once() -> None:
    true = normal(4000, 2)
    twice = np.column_stack([true[:, 0], true[:, 0]])  # both are the first one; none is left for the second
    assert one_to_one(true, twice) == pytest.approx(0.5, abs=0.05)


def test_a_latent_that_does_not_vary_correlates_with_nothing() -> None:
    true = normal(500, 2)
    assert one_to_one(true, np.zeros_like(true)) == 0


@pytest.mark.parametrize("process", PROCESSES)
def test_the_same_seed_gives_the_same_data(process: Process) -> None:
    first, again, other = (generated(process, 100, seed) for seed in (0, 0, 1))
    assert torch.equal(first.x, again.x)
    assert not torch.equal(first.x, other.x)
    assert set(first.y.flatten().tolist()) == {0.0, 1.0}


def test_in_the_papers_process_z_is_standard_normal_and_a_is_linear_in_x() -> None:
    data = generated("paper", 20_000, 0)
    assert data.z.shape == (20_000, 30)
    assert data.z.mean(0).abs().max() < 0.05
    assert (data.z.T.cov() - torch.eye(30)).abs().max() < 0.05
    x, a, z = (part.double().numpy() for part in (data.x, data.a, data.z))
    assert np.allclose(brought_back(a, x), a, atol=1e-4)
    noise = x - brought_back(x, z)  # what u does not explain is v(Z)·ε
    assert noise.std() == pytest.approx(0.1, abs=0.02)


def test_in_segments_mean_and_variance_depend_on_a() -> None:
    data = generated("segments", 20_000, 0)
    kinds, owners = torch.unique(data.a, dim=0, return_inverse=True)
    assert len(kinds) == 40
    groups = [data.z[owners == kind] for kind in range(40)]
    assert torch.stack([group.mean(0) for group in groups]).std() > 0.5
    assert torch.stack([group.std(0) for group in groups]).std() > 0.2


@pytest.mark.parametrize("kind", ["CIEM", "VAE"])
def test_a_training_finds_the_latents_up_to_a_linear_map(kind: Kind) -> None:
    recovery = measured("paper", kind, 0, epochs=15, samples=3000)
    assert recovery.explained > 0.9
    assert recovery.linear > 0.9
    assert recovery.one_to_one < 0.6  # a rotation of 30 latents has 0.4


@pytest.mark.slow
def test_only_the_prior_that_reads_a_finds_the_latents_of_the_segments_themselves() -> None:
    with_a, without = (measured("segments", kind, 0, epochs=25) for kind in ("CIEM", "VAE"))
    assert with_a.one_to_one > without.one_to_one + 0.15
    assert without.linear > 0.9


def test_the_report_is_a_json_file_and_a_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiability, "experiment", lambda seeds: experiment(seeds, epochs=1, samples=512))
    result = report(2, tmp_path / "new")
    assert json.loads((tmp_path / "new" / "result.json").read_text()) == result
    assert (tmp_path / "new" / "identifiability.png").read_bytes().startswith(b"\x89PNG")
    assert len(result["results"]) == 2 * 2 * 2  # type: ignore[arg-type]


def test_the_drawing_has_a_point_for_every_training() -> None:
    results = experiment(2, epochs=1, samples=512)
    axes = plot(results).axes
    assert len(axes) == 2 * 4
    for bars in (axes[0], axes[4]):
        assert sum(len(points.get_offsets()) for points in bars.collections) == 2 * 2 * 2  # seeds, networks, measures


def test_no_seeds_are_too_few(tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match="at least one"):
        report(0, tmp_path)
