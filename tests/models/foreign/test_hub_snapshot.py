"""What is asked of the hub, and how soon there is a sentence where it does not answer."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import OfflineModeIsEnabled, RepositoryNotFoundError, RevisionNotFoundError

from explainers.errors import ModelUnavailable
from explainers.models.catalog import load
from explainers.models.foreign.hub_snapshot import _files_to_fetch, check_hub_allowed, fetched_folder
from explainers.models.text import base_weights


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    yield
    huggingface_hub.close_session()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: pytest.fail("the hub was asked"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_a, **_b: pytest.fail("the hub was asked"))


@pytest.mark.parametrize(
    ("setting", "allowed", "refused"),
    [
        ("", ("owner/model", "a/b"), ()),
        ("on", ("owner/model",), ()),
        ("off", (), ("owner/model",)),
        ("OFF", (), ("owner/model",)),
        ("owner/model", ("owner/model",), ("owner/model2", "other/model", "Owner/model")),
        ("a/b, owner/*", ("a/b", "owner/model"), ("a/c", "owner2/model")),
        (" , ", (), ("owner/model",)),
    ],
)
def test_only_allowed_ids_are_loaded(
    monkeypatch: pytest.MonkeyPatch, setting: str, allowed: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CROSSLIGHT_HUB", setting)
    for identifier in allowed:
        check_hub_allowed(identifier)
    for identifier in refused:
        with pytest.raises(ModelUnavailable, match=f"The model '{identifier}' is not available: .*CROSSLIGHT_HUB"):
            check_hub_allowed(identifier)


@pytest.mark.usefixtures("no_network")
def test_what_is_not_allowed_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSLIGHT_HUB", "off")
    with pytest.raises(ModelUnavailable, match="the Hugging Face hub is switched off here"):
        load("owner/model@v1", device="cpu")
    assert base_weights.from_hub() is None


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_silent_hub_is_given_up_soon(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", silent)
    monkeypatch.setattr("explainers.models.foreign.hub_snapshot.ANSWER_SECONDS", 0.2)  # of 4
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"the Hugging Face hub does not answer \(ReadTimeout\), and its cache"):
        load("owner/model", device="cpu")
    assert time.monotonic() - started < 3.5


def test_a_hub_that_refuses_connections_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match="the Hugging Face hub does not answer"):
        load("owner/model", device="cpu")
    assert time.monotonic() - started < 20


def answering(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    def model_info(_api: object, _identifier: str, **_options: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name, size=size) for name, size in answer.items()])

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RepositoryNotFoundError, "There is no model 'owner/model' on the Hugging Face hub, or it is private"),
        (RevisionNotFoundError, "'owner/model' has no revision 'v9'"),
        (OfflineModeIsEnabled, r"does not answer \(OfflineModeIsEnabled\)"),
        (ValueError, r"does not answer \(ValueError\)"),
    ],
)
def test_what_the_hub_answers_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], sentence: str
) -> None:
    answering(monkeypatch, error.__new__(error))
    with pytest.raises(ModelUnavailable, match=sentence):
        fetched_folder("owner/model", "v9")


def test_without_an_answer_the_cache_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answering(monkeypatch, OfflineModeIsEnabled())
    repository = tmp_path / "models--owner--model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "snapshots" / ("a" * 40)).mkdir(parents=True)
    assert fetched_folder("owner/model", None).name == "a" * 40


MODEL = {"config.json": 500, "tokenizer.json": 1000, "model.safetensors": 10**6, "README.md": 5}
SHARDED = {"model-1-of-2.safetensors": 6, "model-2-of-2.safetensors": 6, "model.safetensors.index.json": 9}


@pytest.mark.parametrize(
    ("files", "fetched"),
    [
        (MODEL | {"pytorch_model.bin": 9, "trap.py": 1}, {"config.json", "tokenizer.json", "model.safetensors"}),
        (MODEL | SHARDED, {"config.json", "tokenizer.json", "model.safetensors", "model.safetensors.index.json"}),
        ({"config.json": 5} | SHARDED, {"config.json", *SHARDED}),
        ({"card.json": 5, "head.safetensors": 5, "README.md": 3}, {"card.json", "head.safetensors"}),
        (MODEL | {"onnx/model.safetensors": 10**12}, {"config.json", "tokenizer.json", "model.safetensors"}),
    ],
)
def test_only_what_is_read_is_fetched(files: dict[str, int], fetched: set[str]) -> None:
    assert set(_files_to_fetch("owner/model", files, weights=True)) == fetched


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (MODEL | {"model.safetensors": 10**12}, r"take 1,000\.0 GB; at most 10\.0 GB are loaded"),
        (MODEL | {"tokenizer.json": 2**30}, r"tokenizer\.json of 'owner/model' takes 1,024 MB"),
        ({"config.json": 1, "pytorch_model.bin": 9}, r"holds no \.safetensors file; other weight formats can run code"),
        ({}, r"holds no \.safetensors file"),
    ],
)
def test_sizes_are_asked_for_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, int], sentence: str
) -> None:
    answering(monkeypatch, files)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_a, **_b: pytest.fail("fetched"))
    with pytest.raises(ModelUnavailable, match=sentence):
        fetched_folder("owner/model", None)


def test_a_tokenizer_is_fetched_without_weights() -> None:
    assert set(_files_to_fetch("owner/model", MODEL, weights=False)) == {"config.json", "tokenizer.json"}
