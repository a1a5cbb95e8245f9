"""A set explained on a local Ray cluster: the same explanations under the same keys as in one process."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import ray_explanations
from explainers.evaluation.data_set import ExplainedSet
from explainers.evaluation.explanation_store import ExplanationStore, explain_set
from explainers.evaluation.ray_explanations import Asked, SetExplainer, explain_set_with_ray, identity_of
from explainers.methods.registry import select
from explainers.models.catalog import load
from explainers.results.decision import Settings

SETTINGS = Settings(samples=30)
METHODS = ("occlusion", "lime", "premise_only")  # of which the last is for pairs
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def explained(hub_folder: Path) -> ExplainedSet:
    inputs = (*(Example(f"the good film was {'very ' * n}dull") for n in range(3)), Example(""))
    model = load(str(hub_folder), device="cpu")
    return ExplainedSet(model, inputs, tuple(select(METHODS)), SETTINGS, {}, lambda *_: pytest.fail("not here"))


def stored(store: ExplanationStore) -> dict[str, dict[str, Any]]:
    """All of it by key, without the seconds."""
    with closing(sqlite3.connect(store.path)) as connection:
        rows = connection.execute("SELECT key, attribution FROM explanations").fetchall()
    return {key: {**json.loads(content), "seconds": 0.0} for key, content in rows}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray Data about its own settings
def test_workers_find_what_one_process_finds(explained: ExplainedSet, hub_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray.data", reason="Ray is not installed")
    here, there = ExplanationStore(tmp_path / "here"), ExplanationStore(tmp_path / "there")
    explain_set(explained.model, explained.inputs, explained.specs, SETTINGS, here.attribution, print)
    first = replace(explained, inputs=explained.inputs[:1])
    explain_set(first.model, first.inputs, first.specs, SETTINGS, there.attribution, print)
    try:
        assert explain_set_with_ray(str(hub_folder), explained, there, 2, "", print) == {}
    except ExplanationError as error:
        if "does not answer" not in str(error):
            raise
        pytest.skip(f"Ray cannot start its processes here: {error}")
    assert len(here) == 6  # a text without units has none
    assert stored(there) == stored(here)


def test_no_cluster_is_needed_for_what_is_stored(explained: ExplainedSet, hub_folder: Path, tmp_path: Path) -> None:
    store = ExplanationStore(tmp_path)
    with pytest.raises(ExplanationError, match="No Ray cluster answers"):
        explain_set_with_ray(str(hub_folder), explained, store, 1, NOWHERE, print)
    explain_set(explained.model, explained.inputs, explained.specs, SETTINGS, store.attribution, print)
    assert explain_set_with_ray(str(hub_folder), explained, store, 1, NOWHERE, print) == {}


def sent_by(worker: SetExplainer, example: Example, *methods: str) -> dict[str, Any]:
    (sent,) = worker({"item": [Asked(example, methods)]})["result"]
    content: dict[str, Any] = json.loads(sent)
    return content


def test_a_worker_sends_explanations_by_key_and_reasons(explained: ExplainedSet, hub_folder: Path) -> None:
    identity = identity_of(explained.model, ["occlusion", "aml"])
    worker = SetExplainer(str(hub_folder), SETTINGS, "cpu", "float32", identity)
    sent = sent_by(worker, Example("a good film"), "occlusion", "aml")
    assert len(sent["found"]) == 1
    assert "has not been fitted" in sent["failed"]["aml"]
    worker.settings = replace(SETTINGS, unit="example")  # which only prompts have
    assert sent_by(worker, Example("good"), "occlusion")["problem"].startswith("A worker of the cluster failed: ")


def test_a_worker_with_another_version_or_without_the_model_says_so(explained: ExplainedSet, hub_folder: Path) -> None:
    identity = {**identity_of(explained.model, ["aml"]), "weights": {"aml": "0123456789ab"}, "version": "other"}
    for folder, problem in ((str(hub_folder), "has another version, weights"), ("runs/missing", "failed: ")):
        worker = SetExplainer(folder, SETTINGS, "cpu", "float32", identity)
        assert problem in sent_by(worker, Example("good"), "aml")["problem"]


@pytest.fixture
def without_cluster(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """Let one worker of this process explain; return what is sent to it."""
    sent: list[list[Any]] = []

    @contextmanager
    def nothing(_workers: int, _address: str) -> Iterator[None]:
        yield

    def explain(_ray: None, actor: type, arguments: tuple[Any, ...], items: list[Any], *_: Any) -> Iterator[str]:
        sent.append(items)
        for item in items:
            yield from actor(*arguments)({"item": [item]})["result"]

    monkeypatch.setattr(ray_explanations, "connected", nothing)
    monkeypatch.setattr(ray_explanations, "map_with_actors", explain)
    return sent


def test_equal_inputs_are_sent_once(
    explained: ExplainedSet, hub_folder: Path, tmp_path: Path, without_cluster: list[list[Any]]
) -> None:
    store, twice = ExplanationStore(tmp_path), replace(explained, inputs=(*explained.inputs, *explained.inputs))
    assert explain_set_with_ray(str(hub_folder), twice, store, 1, "", print) == {}
    (sent,) = without_cluster
    assert sent == [Asked(example, ("lime", "occlusion")) for example in explained.inputs[:3]]
    assert len(store) == 6


def test_what_a_worker_cannot_do_ends_the_study(
    explained: ExplainedSet, hub_folder: Path, tmp_path: Path, without_cluster: list[list[Any]]
) -> None:
    with pytest.raises(ExplanationError, match=r"A worker of the cluster failed: .*runs/missing"):
        explain_set_with_ray("runs/missing", explained, ExplanationStore(tmp_path), 1, "", print)
    assert len(without_cluster) == 1


def test_a_numbered_gpu_is_refused(explained: ExplainedSet, tmp_path: Path) -> None:
    class Second:
        device = torch.device("cuda:1")

    with pytest.raises(ExplanationError, match="Set --device cuda"):
        explain_set_with_ray(
            "", replace(explained, model=cast(Any, Second())), ExplanationStore(tmp_path), 1, "", print
        )


def test_processes_belong_to_ray() -> None:
    ended = CliRunner().invoke(app, ["study", "explain-set", "--processes", "2"])
    assert ended.exit_code == 2
    assert "Add --engine ray" in ended.output
