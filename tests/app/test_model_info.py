"""What is known of a model before it is loaded."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from app.model_info import is_fetched_first
from app.model_pool import ROOTS_VARIABLE

COMMIT = "a" * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, with one revision of owner/model and a head."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for repository, file in (("model", "config.json"), ("head", "card.json")):
        folder = tmp_path / f"models--owner--{repository}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text(COMMIT)
        (folder / "snapshots" / COMMIT).mkdir(parents=True)
        (folder / "snapshots" / COMMIT / file).write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "fetched"),
    [
        ("owner/model", False),
        ("owner/model:sst2", False),
        ("owner/head", False),
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
