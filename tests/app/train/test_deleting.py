"""Deleting a training with its weights. A quick command stands for the training and prints the card of its weights."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.store import Job, Store
from app.train.jobs import Jobs
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.training.artifacts import own_folder
from explainers.training.spec import FitSpec

SPEC = FitSpec("aml", "owner/model", variant="mine")
TEXTS = tuple(Example(f"text {number}") for number in range(20))
VERSION = "0123456789ab"
CARD = {"model": {"name": "owner/model", "version": VERSION}, "sha256": "aa11"}
PRINTS_A_CARD = f"""import json; print(json.dumps({CARD!r}))"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    jobs = Jobs(Store(), (sys.executable, "-c", PRINTS_A_CARD))
    yield jobs
    jobs.close()


def trained(jobs: Jobs, spec: FitSpec = SPEC) -> Job:
    number = jobs.submit(spec, TEXTS).id
    end = time.monotonic() + 20
    while time.monotonic() < end and any(job.active for job in jobs.all()):
        jobs.tick()
        time.sleep(0.01)
    (job,) = (training for training in jobs.all() if training.id == number)
    assert job.status == "done", job.error
    return job


@pytest.fixture
def weights() -> tuple[Path, Path]:
    """Weights as a training of `SPEC` leaves them, and others."""
    folder = own_folder(SPEC.model, VERSION)
    folder.mkdir(parents=True)
    for name in ("aml-mine", "aml-other"):
        (folder / f"{name}.safetensors").write_bytes(b"weights")
        (folder / f"{name}.json").write_text(json.dumps(CARD))
    return folder / "aml-mine.safetensors", folder / "aml-other.safetensors"


@pytest.mark.parametrize("also", [True, False])
def test_the_weights_go_only_if_asked_for(jobs: Jobs, weights: tuple[Path, Path], also: bool) -> None:
    mine, other = weights
    jobs.delete(trained(jobs).id, weights=also)
    assert not jobs.all()
    assert mine.exists() == mine.with_suffix(".json").exists() == (not also)
    assert other.exists()
    assert other.with_suffix(".json").exists()


@pytest.mark.parametrize("card", ["{}", '{"sha256": "bb22"}', "not JSON"])
def test_weights_that_something_else_has_made_stay(jobs: Jobs, weights: tuple[Path, Path], card: str) -> None:
    weights[0].with_suffix(".json").write_text(card)
    jobs.delete(trained(jobs).id, weights=True)
    assert weights[0].exists()
    assert not jobs.all()


def test_a_training_of_another_name_leaves_them(jobs: Jobs, weights: tuple[Path, Path]) -> None:
    jobs.delete(trained(jobs, replace(SPEC, variant="third")).id, weights=True)
    assert weights[0].exists()


def test_weights_that_cannot_be_deleted_keep_their_training(
    jobs: Jobs, weights: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = trained(jobs)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", denied)
        with pytest.raises(ExplanationError, match=r"The weights cannot be deleted: Permission denied\. Try again\."):
            jobs.delete(job.id, weights=True)
    assert weights[0].exists()
    assert [training.id for training in jobs.all()] == [job.id]
