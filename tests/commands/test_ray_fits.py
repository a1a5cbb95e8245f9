"""Trainings on a local Ray cluster: the same weights as in one process, and what is refused."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from explainers import ExplanationError
from explainers.commands import ray_fits
from explainers.commands.training import fitted_card, run_fit
from explainers.installation import STORE_VARIABLE, VERSION
from explainers.training.artifacts import available_artifacts
from explainers.training.spec import FitSpec
from tests.commands.test_image_options import error_line, ran


@pytest.fixture
def spec(hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FitSpec:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"the good film was {'very ' * n}dull\n" for n in range(24)))
    few = (("epochs", "1"), ("validations", "1"))
    return FitSpec("aml", str(hub_folder), data=str(texts), variant="mine", settings=few, device="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray about its own settings
def test_a_cluster_fits_what_this_process_would(spec: FitSpec, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    specs = [spec, replace(spec, method="cimi")]
    said: list[str] = []
    try:
        cards = list(ray_fits.fits_with_ray(specs, 2, "", fitted_card, said.append))
    except ExplanationError as error:
        if "does not answer" not in str(error):
            raise
        pytest.skip(f"Ray cannot start its processes here: {error}")
    assert {card["method"] for card in cards} == {"aml", "cimi"}
    assert said[-1].endswith("is fitted, 2 of 2.")
    model = cards[0]["model"]
    found = {one.method: one for one in available_artifacts(model["name"], model["version"])}
    for one in specs:
        local = run_fit(replace(one, out=str(tmp_path / "local"), folder=str(tmp_path / one.method)))
        assert isinstance(local, dict)
        assert found[one.method].card["command"] == local["command"]
        here, there = (
            load_file(tmp_path / "local" / f"{one.method}-mine.safetensors"),
            load_file(found[one.method].path),
        )
        assert here.keys() == there.keys()
        assert all(here[name].equal(there[name]) for name in here)


def test_a_task_sends_back_what_it_wrote(spec: FitSpec, tmp_path: Path) -> None:
    content, data = ray_fits._sendable(spec)
    Path(spec.data).unlink()  # which the worker's machine does not have
    sent = ray_fits.fitted(content, data, VERSION, fitted_card)
    assert sent["problem"] == ""
    assert sorted(sent["files"]) == ["aml-mine.json", "aml-mine.safetensors"]
    ray_fits._store(replace(spec, out=str(tmp_path / "here")), sent)
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == sorted(sent["files"])


def test_what_fails_on_a_worker_is_a_sentence(spec: FitSpec) -> None:
    content, data = ray_fits._sendable(spec)
    other = ray_fits.fitted(content, data, "0.0", fitted_card)
    assert (
        other["problem"]
        == f"A worker of the cluster has Crosslight {VERSION} instead of 0.0. All need the same version."
    )
    few = ray_fits.fitted(content, b"one text\n", VERSION, fitted_card)
    assert few["problem"].startswith("aml: A method learns from 20 to 20,000 different texts; 1 given.")
    assert few["files"] == other["files"] == {}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"resume": True}, "--resume does not go with --engine ray"),
        ({"folder": "runs/mine"}, "--folder does not go with --engine ray"),
        ({"full": True}, "--full does not go with --engine ray"),
        ({"method": "lime"}, "'lime' does not learn"),
    ],
)
def test_what_a_task_cannot_do_is_refused_before_the_cluster_is_asked(
    spec: FitSpec, changes: dict[str, Any], sentence: str
) -> None:
    fits = ray_fits.fits_with_ray([replace(spec, **changes)], 1, "127.0.0.1:1", fitted_card, print)
    with pytest.raises(ExplanationError, match=sentence):
        next(fits)


def test_without_ray_it_is_named(spec: FitSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ExplanationError, match=r"not installed\. Install it with: pip install 'crosslight\[ray\]'"):
        next(ray_fits.fits_with_ray([spec], 1, "", fitted_card, print))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--engine", "dask"), "Unknown engine 'dask'. Choose one of: local, ray."),
        (("--address", "auto"), "--address names a Ray cluster. Add --engine ray, or omit it."),
        (("--processes", "2"), "--processes is the number of Ray's workers. Add --engine ray, or omit it."),
        (
            ("--engine", "ray", "--address", "127.0.0.1:1"),
            "No Ray cluster answers at '127.0.0.1:1'. Give the HOST:PORT of its head, or auto on one of its machines.",
        ),
    ],
)
def test_wrong_engines_are_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    assert error_line(ran("fit", "aml", "--model", "sst2", *words)) == sentence
