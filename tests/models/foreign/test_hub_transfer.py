"""A download from the hub: its size, how far it is, how it is stopped, and who sees a token."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants

from app.model_pool import ModelPool
from explainers.errors import ModelUnavailable
from explainers.models.catalog import load
from explainers.models.foreign.hub_snapshot import fetched_folder
from explainers.models.foreign.hub_transfer import Transfer, TransferStopped, transfer, transfer_of
from tests.models.foreign.hub_server import COMMIT, Hub, serving

SECONDS = 20.0
TOKEN = "hf_" + "s" * 34


@pytest.fixture
def hub(hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with a small model that answers here, and an empty cache."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    result = Hub(hub_folder)
    with serving(result) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield result
    huggingface_hub.close_session()


def large(hub: Hub) -> int:
    """Make the weights a few blocks long; they are no weights any more."""
    content = np.random.default_rng(0).bytes(1 << 20)
    hub.files["model.safetensors"] = content
    return len(content)


def wait_for_bytes() -> Transfer:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        current = transfer_of("owner/model")
        if current is not None and current.done:
            return current
        time.sleep(0.01)
    pytest.fail("nothing arrived")


def test_a_model_of_the_hub_is_loaded_with_its_commit(hub: Hub) -> None:
    model = load("owner/model", device="cpu")
    assert model.version == COMMIT
    assert transfer_of("owner/model") is None


def test_how_far_a_download_is_and_an_end_before_its_end(hub: Hub) -> None:
    size = large(hub)
    hub.go.clear()
    errors: list[Exception] = []

    def fetch() -> None:
        try:
            fetched_folder("owner/model", None)
        except ModelUnavailable as error:
            errors.append(error)

    thread = Thread(target=fetch)
    thread.start()
    current = wait_for_bytes()
    assert 0 < current.done < current.total
    assert size < current.total < size + 1e6
    current.stop()
    hub.go.set()
    thread.join(SECONDS)
    assert [str(error) for error in errors] == [
        "The download of 'owner/model' was stopped. What is there is kept: asked for again, it goes on."
    ]
    assert transfer_of("owner/model") is None
    folder = fetched_folder("owner/model", None)  # asked for again
    assert (folder / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


def test_a_download_that_nobody_waits_for_any_more_is_stopped(hub: Hub) -> None:
    large(hub)
    hub.go.clear()
    pool = ModelPool()
    given_up = KeyError("given up")

    def check() -> None:
        if (current := transfer_of("owner/model")) is not None and current.done:
            raise given_up

    with pytest.raises(KeyError):
        pool.model("owner/model", check)
    current = transfer_of("owner/model")
    assert current is None or current.stopped
    hub.go.set()
    pool.wait()


def test_a_token_reaches_the_hub_and_nothing_else(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    caplog.set_level(logging.DEBUG)
    del hub.files["config.json"]
    with pytest.raises(ModelUnavailable) as error:
        load("owner/model", device="cpu")
    assert any(authorization == f"Bearer {TOKEN}" for _, authorization in hub.asked)
    assert not any(TOKEN in address for address, _ in hub.asked)
    said = (str(error.value), caplog.text, *capsys.readouterr())
    assert not any(TOKEN in text for text in said)


def test_bytes_are_told_in_the_unit_that_suits_the_size() -> None:
    current = Transfer(438_000_000)
    current.report(120_400_000)
    current.report(3)  # another file's bar
    assert current.progress == "120 of 438 MB"
    small = Transfer(9_000)
    small.report(500)
    assert small.progress == "0 of 9 kB"
    small.stop()
    with pytest.raises(TransferStopped):
        small.report(600)


def test_the_last_of_two_downloads_of_one_model_stays_known() -> None:
    with transfer("a/b", 1) as first, transfer("a/b", 2) as second:
        assert transfer_of("a/b") is second is not first
    assert transfer_of("a/b") is None
