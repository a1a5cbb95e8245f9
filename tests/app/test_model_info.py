"""What is known of a model before it is loaded."""

import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from app import model_info
from app.model_info import decides_line, is_fetched_first, offered_models
from app.model_pool import ROOTS_VARIABLE

COMMIT = "a" * 40
HEAD = {"architecture": "clip", "sha256": "1", "labels": ["no", "yes"]}
SHARDS = {"weight_map": {"one": "model-1.safetensors", "other": "model-2.safetensors"}}
CACHED: dict[str, dict[str, object]] = {
    "model": {"config.json": {}, "model.safetensors": {}},
    "begun": {"config.json": {}},
    "shards": {"model.safetensors.index.json": SHARDS, "model-1.safetensors": {}, "model-2.safetensors": {}},
    "shard": {"model.safetensors.index.json": SHARDS, "model-2.safetensors": {}},
    "head": {"card.json": HEAD | {"encoder": "owner/model"}, "head.safetensors": {}},
    "card": {"card.json": HEAD | {"encoder": "owner/model"}},
    "low": {"card.json": HEAD | {"encoder": "owner/begun"}, "head.safetensors": {}},
    "words": {"card.json": HEAD | {"encoder": "owner/model", "tokenizer": "owner/begun"}, "head.safetensors": {}},
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, with one revision of several models and heads."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for repository, files in CACHED.items():
        folder = tmp_path / f"models--owner--{repository}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text(COMMIT)
        (folder / "snapshots" / COMMIT).mkdir(parents=True)
        for file, content in files.items():
            (folder / "snapshots" / COMMIT / file).write_text(json.dumps(content))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "fetched"),
    [
        ("owner/model", False),
        ("owner/model:sst2", False),
        ("owner/begun", True),
        ("owner/shards", False),
        ("owner/shard", True),
        ("owner/head", False),
        ("owner/card", True),
        ("owner/low", True),  # its encoder is not there
        ("owner/words", False),  # of a tokenizer no weights are read
        ("owner/model@v2", True),
        ("owner/other", True),
        ("owner/other:sst2", True),
        ("sst2", False),
        ("smollm2:sst2", False),
        ("no such model", False),
    ],
)
@pytest.mark.usefixtures("cache")
def test_a_model_of_the_hub_that_is_not_in_the_cache_is_fetched_first(name: str, fetched: bool) -> None:
    assert is_fetched_first(name) is fetched


def test_a_folder_is_not_fetched(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOTS_VARIABLE, str(cache))
    assert not is_fetched_first(str(cache))


@pytest.mark.parametrize(
    ("model", "labels", "line"),
    [
        ("sst2", (), "sst2 decides whether a sentence about a film is positive or negative."),
        ("sst2-ivra-comp", (), "sst2-ivra-comp decides whether a sentence about a film is positive or negative."),
        ("owner/model", (), "The classes of this model are named here once it is loaded."),
        ("owner/model", ("joy", "anger"), "The classes of this model: joy and anger."),
        ("owner/model", ("toxic",), "The class of this model: toxic."),
        ("owner/model", tuple("abcdefg"), "The classes of this model: a, b, c, d and 3 more."),
    ],
)
def test_what_a_model_decides_is_a_sentence(model: str, labels: tuple[str, ...], line: str) -> None:
    assert decides_line(model, labels) == line


def test_smollm2_is_offered_where_it_is_here_or_the_page_fetches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path))
    assert not [name for name in offered_models("") if name.startswith("smollm2:")]
    assert "smollm2:sst2" in offered_models("", fetched=True)
    assert offered_models("owner/model")[-1] == "owner/model"
    monkeypatch.setattr(model_info.smollm2, "smollm2_folder", lambda: tmp_path)
    assert "smollm2:sst2" in offered_models("")
