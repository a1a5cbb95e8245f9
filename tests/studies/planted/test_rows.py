"""The stored rows and cards when more planted models are measured."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from explainers.studies.planted import measure, run
from explainers.studies.planted.measure import FILE


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models that are not trained, each with two rows; returns the folder of the study."""
    stored, folder = tmp_path / "stored", tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv(run.STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(run, "FOLDER", stored)
    monkeypatch.setattr(run.read_models, "__defaults__", (stored,))
    monkeypatch.setattr(run, "read_sources", lambda *_: SimpleNamespace(held_out=()))
    monkeypatch.setattr(run.shortcuts, "planted_set", lambda *_, **__: [None, None])
    monkeypatch.setattr(run, "fitted_methods", lambda _model: [])

    def planted_model(model: str, seed: int, *_: Any) -> None:
        card = folder / run.planted_name(model, seed) / run.bundle_cards.CARD
        card.parent.mkdir(exist_ok=True)
        card.write_text(json.dumps({"name": run.planted_name(model, seed)}))

    def measure_all(_: object, model: str, seed: int, some: list[None], _words: object, path: Path) -> Iterator[None]:
        with path.open("a") as file:
            for text in range(len(some)):
                print(json.dumps({"model": model, "seed": seed, "text": text, "verified": True}), file=file)
        yield from some

    monkeypatch.setattr(run, "planted_model", planted_model)
    monkeypatch.setattr(measure, "measure_all", measure_all)
    monkeypatch.setattr(run, "BLOCK", 2)
    return folder


def test_another_seed_adds_rows_and_leaves_those_of_the_others(measured: Path, tmp_path: Path) -> None:
    for models, seeds in ((("sst2", "nli"), (0,)), (("sst2",), (2,))):
        run.measure_planted(models, seeds, 2, tmp_path, measured, lambda _: None, fitted=0)
    rows = run.read_rows(tmp_path / "stored" / run.ROWS)
    assert [(row["model"], row["seed"], row["text"]) for row in rows] == [
        (model, seed, text) for model, seed in (("sst2", 0), ("nli", 0), ("sst2", 2)) for text in (0, 1)
    ]
    assert [card["name"] for card in run.read_models(tmp_path / "stored")] == [
        "planted-sst2-0",
        "planted-nli-0",
        "planted-sst2-2",
    ]
    assert (measured / FILE).is_file()


def test_without_scenes_the_stored_ones_stay(measured: Path, tmp_path: Path) -> None:
    scenes = tmp_path / "stored" / run.SCENES
    run.write_rows([{"verified": True}], scenes)
    run.measure_scenes(0, measured, lambda _: None)
    assert run.read_rows(scenes) == [{"verified": True}]


def test_later_seeds_plant_into_longer_texts() -> None:
    assert [run.lengths_of("sst2", seed) for seed in (0, 2, 3)] == [
        run.Lengths(4, 13, 11),
        run.Lengths(4, 13, 11),
        run.Lengths(12, 38, 38),
    ]
    assert run.lengths_of("nli", 3).fewest > run.lengths_of("nli", 2).explained
