"""A set explained on a local Ray cluster: the same explanations under the same keys as in one process."""

import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import ray_explanations
from explainers.evaluation.data_set import ExplainedSet
from explainers.evaluation.explanation_store import ExplanationStore, explain_set
from explainers.evaluation.ray_explanations import SetExplainer, explain_set_with_ray
from explainers.methods.registry import select
from explainers.models.catalog import load
from explainers.results.decision import Settings

SETTINGS = Settings(samples=30)
METHODS = ("occlusion", "lime", "premise_only")  # of which the last is for pairs
NOWHERE = "127.0.0.1:1"
Sentences = list[str]


@pytest.fixture
def explained(hub_folder: Path) -> ExplainedSet:
    inputs = (*(Example(f"the good film was {'very ' * n}dull") for n in range(3)), Example(""))
    model = load(str(hub_folder), device="cpu")
    return ExplainedSet(model, inputs, tuple(select(METHODS)), SETTINGS, {}, lambda *_: pytest.fail("not here"))


def without_costs(store: ExplanationStore) -> dict[str, dict[str, Any]]:
    return {key: {**json.loads(content), "seconds": 0.0} for key, content in store.contents().items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray Data about its own settings
def test_workers_find_what_one_process_finds(explained: ExplainedSet, hub_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray.data", reason="Ray is not installed")
    here, there, said = ExplanationStore(tmp_path / "here"), ExplanationStore(tmp_path / "there"), Sentences()
    explain_set(explained.model, explained.inputs, explained.specs, SETTINGS, here.attribution, said.append)
    first = replace(explained, inputs=explained.inputs[:1])
    explain_set(first.model, first.inputs, first.specs, SETTINGS, there.attribution, said.append)
    try:
        assert explain_set_with_ray(str(hub_folder), explained, there, 2, "", said.append) == {}
    except ExplanationError as error:
        if "does not answer" not in str(error):
            raise
        pytest.skip(f"Ray cannot start its processes here: {error}")
    assert len(here) == 6  # a text without units has none
    assert without_costs(there) == without_costs(here)
    assert said == ["1 of 2 inputs", "2 of 2 inputs"]  # the first was there


def test_no_cluster_is_needed_for_what_is_stored(explained: ExplainedSet, hub_folder: Path, tmp_path: Path) -> None:
    store = ExplanationStore(tmp_path)
    with pytest.raises(ExplanationError, match="No Ray cluster answers"):
        explain_set_with_ray(str(hub_folder), explained, store, 1, NOWHERE, print)
    explain_set(explained.model, explained.inputs, explained.specs, SETTINGS, store.attribution, print)
    assert explain_set_with_ray(str(hub_folder), explained, store, 1, NOWHERE, print) == {}


def test_what_a_worker_with_another_version_finds_is_not_kept(
    explained: ExplainedSet, hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def nothing(_workers: int, _address: str) -> Iterator[None]:
        yield

    def strange(*_given: Any) -> Iterator[str]:
        yield json.dumps({"found": {"another key": "{}"}, "failed": {}})

    monkeypatch.setattr(ray_explanations, "connected", nothing)
    monkeypatch.setattr(ray_explanations, "map_with_actors", strange)
    store = ExplanationStore(tmp_path)
    with pytest.raises(ExplanationError, match="another model, weights, libraries or version"):
        explain_set_with_ray(str(hub_folder), explained, store, 1, "", print)
    assert len(store) == 0


def test_a_worker_without_the_model_says_so() -> None:
    worker = SetExplainer("runs/missing", SETTINGS, "cpu", "float32")
    (sent,) = worker({"item": [pickle.dumps((Example("good"), ("occlusion",)))]})["result"]
    assert json.loads(sent)["problem"].startswith("A worker of the cluster failed: ")


def test_processes_belong_to_ray() -> None:
    ended = CliRunner().invoke(app, ["study", "explain-set", "--processes", "2"])
    assert ended.exit_code == 2
    assert "Add --engine ray" in ended.output
