"""A download from the hub: its size, how far it is, how it is stopped, and who sees a token."""

import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import OfflineModeIsEnabled
from huggingface_hub.hf_api import SafeTensorsInfo
from typer.testing import CliRunner, Result

from app import model_pool
from app.compare.engine import Engine
from app.compare.runs import Request
from app.model_pool import ModelPool, Placed
from explainers import wrap
from explainers.__main__ import app
from explainers.commands.options import downloads
from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.models import catalog
from explainers.models.catalog import load
from explainers.models.foreign import hub_transfer
from explainers.models.foreign.hub_snapshot import complete_folder, fetched_folder
from explainers.models.foreign.hub_transfer import (
    DownloadNotAllowed,
    DownloadSize,
    Transfer,
    TransferStopped,
    check_allowed,
    transferring,
)
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import Settings
from explainers.studies.architectures import tokenizer_of
from tests.models.foreign.hub_server import COMMIT, Hub, serving
from tests.models.test_encoder_decoder import KINDS, network_of
from tests.models.test_encoder_decoder import TEXT as ENCODER_DECODER_TEXT

SECONDS = 20.0
TOKEN = "hf_" + "s" * 34
MODEL = Placed("owner/model", str(catalog.resolve_device("auto")))


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


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_model_of_the_hub_is_loaded_with_its_commit(hub: Hub) -> None:
    current = Transfer()
    with transferring(current):
        model = load("owner/model", device="cpu")
    assert model.version == COMMIT
    assert current.done == current.total > 1000
    again = Transfer()
    with transferring(again):
        load("owner/model", device="cpu")
    assert again.total == 0  # all of it is there


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_an_encoder_decoder_of_the_hub_answers_as_in_memory(hub: Hub, tmp_path: Path, kind: str) -> None:
    network, tokenizer = network_of(KINDS[kind]), tokenizer_of(KINDS[kind])
    for saved in (network, tokenizer):
        saved.save_pretrained(tmp_path / "saved")
    hub.files = Hub(tmp_path / "saved").files
    theirs, ours = wrap(network, tokenizer), load("owner/model", device="cpu")
    assert (ours.version, ours.labels) == (COMMIT, ("no", "yes"))
    encoding = ours.encode(ENCODER_DECODER_TEXT)
    keeps = np.ones((2, len(encoding.units)))
    keeps[1, 2] = 0
    expected = theirs.probabilities(theirs.encode(ENCODER_DECODER_TEXT), keeps)
    assert ours.probabilities(encoding, keeps) == pytest.approx(expected, abs=1e-6)


def test_a_model_is_complete_when_all_that_is_read_of_it_is_there(hub: Hub) -> None:
    hub.files["README.md"] = b"is not read"
    assert complete_folder("owner/model") is None
    folder = fetched_folder("owner/model", None, weights=False)
    assert complete_folder("owner/model", weights=False) == folder
    assert complete_folder("owner/model") is None
    assert complete_folder("owner/model@v2", weights=False) is None
    assert fetched_folder("owner/model", None) == folder == complete_folder("owner/model")
    (folder / "tokenizer.json").unlink()
    assert complete_folder("owner/model") is None


def test_without_the_hub_what_was_fetched_is_loaded_and_nothing_less(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_arguments: object, **_options: object) -> object:
        raise OfflineModeIsEnabled

    hub.files["README.md"] = b"is not read"
    folder = fetched_folder("owner/model", None)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", offline)
    assert load("owner/model", device="cpu").version == COMMIT
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match="its cache does not hold it"):
        load("owner/model", device="cpu")


def test_how_far_a_download_is_and_an_end_before_its_end(hub: Hub) -> None:
    size = large(hub)
    hub.go.clear()
    errors: list[Exception] = []
    current = Transfer()

    def fetch() -> None:
        try:
            with transferring(current):
                fetched_folder("owner/model", None)
        except ModelUnavailable as error:
            errors.append(error)

    thread = Thread(target=fetch)
    thread.start()
    until(lambda: current.done > 0)
    assert 0 < current.done < current.total
    assert size < current.total < size + 1e6
    current.stop()
    hub.go.set()
    thread.join(SECONDS)
    assert [str(error) for error in errors] == [
        "The download of 'owner/model' was stopped. What is there is kept: asked for again, it goes on."
    ]
    folder = fetched_folder("owner/model", None)  # asked for again
    assert (folder / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


def fetched(hub: Hub) -> bool:
    return any("/resolve/" in address for address, _ in hub.asked)


def test_a_download_above_the_bound_is_refused_with_its_size_before_it_begins(hub: Hub) -> None:
    size = sum(len(content) for content in hub.files.values())
    with pytest.raises(
        DownloadNotAllowed, match=r"'owner/model' is not on this machine; .* files\. Allow it with most_download=\d+\.$"
    ) as error:
        load("owner/model", device="cpu", most_download=size // 2)
    assert not fetched(hub)
    assert size // 2 < error.value.size.bytes <= size
    assert error.value.size.files == len([name for name in hub.files if name != "README.md"])
    assert load("owner/model", device="cpu", most_download=size).version == COMMIT
    assert load("owner/model", device="cpu", most_download=0).version == COMMIT  # nothing is left to be fetched


def two_parts(name: str, **_rest: object) -> tuple[str, ...]:
    """Load what consists of an encoder of 450 MB and a vision model of 400 MB."""
    for part, size in (("owner/encoder", 450_000_000), ("owner/vision", 400_000_000)):
        check_allowed(part, DownloadSize(size, 3))
    return (name,)


def test_the_parts_of_a_model_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DownloadNotAllowed, match=r"'owner/vision' .* 400 MB"), downloads(yes=False):
        two_parts("head")
    monkeypatch.setattr(catalog, "_loaded", lambda *_: two_parts("head"))
    with pytest.raises(DownloadNotAllowed, match=r"'owner/vision' .* most_download=400000000"):
        load("sst2", device="cpu", most_download=800_000_000)


def test_one_press_allows_what_it_names_and_no_further_large_part(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"owner/encoder": 1_300_000_000, "owner/tokenizer": 2_000_000, "owner/vision": 600_000_000}
    there: set[str] = set()

    def parted(name: str, **_rest: object) -> str:
        for part, size in parts.items():
            check_allowed(part, DownloadSize(0 if part in there else size, 3))
            there.add(part)
        return name

    monkeypatch.setattr(catalog, "load", parted)
    pool = ModelPool()
    for refused in ("owner/encoder", "owner/vision"):
        with pytest.raises(DownloadNotAllowed, match=refused):
            pool.model("head")
        assert pool.refused["head"].name == refused
        pool.allow_download("head")
    assert str(pool.model("head")) == "head"
    assert (pool.refused, pool.allowed) == ({}, {})


def test_the_hub_s_number_of_parameters_is_told(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = huggingface_hub.HfApi.model_info

    def with_parameters(*arguments: object, **options: object) -> object:
        info = whole(*arguments, **options)  # type: ignore[arg-type]
        info.safetensors = SafeTensorsInfo(parameters={"F32": 325_000_000}, total=325_000_000)
        return info

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", with_parameters)
    with pytest.raises(DownloadNotAllowed, match="325 million parameters"):
        load("owner/model", device="cpu", most_download=0)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (DownloadSize(1_340_000_000, 6, 325_400_000), "1.3 GB in 6 files, 325 million parameters"),
        (DownloadSize(87_000_000, 1), "87 MB in 1 file"),
        (DownloadSize(438_600_000, 4, 6_700_000_000), "439 MB in 4 files, 6,700 million parameters"),
        (DownloadSize(9, 1), "0.1 MB in 1 file"),
    ],
)
def test_sizes_in_words(size: DownloadSize, text: str) -> None:
    assert str(size) == text


def explained(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("explain", "--model", "owner/model", "--text", "good film", *arguments))


def test_the_command_line_needs_a_yes_for_a_large_model(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_transfer, "LARGE", 100)
    options = ("--methods", "occlusion", "--device", "cpu")
    refused = explained(*options)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert re.fullmatch(
        r"'owner/model' is not on this machine; fetching it takes [\d.]+ MB in \d files\. Add --yes to fetch it\.\n",
        refused.stderr,
    )
    assert not fetched(hub)
    done = explained(*options, "--yes")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^Fetching owner/model: [\d.]+ MB in \d files\.$", done.stderr, re.MULTILINE)
    again = explained(*options)  # it is there
    assert (again.exit_code, "Fetching owner" in again.stderr) == (0, False)


class Terminal:
    """A standard input that a person sits at, who ends the question with Ctrl-C."""

    def isatty(self) -> bool:
        return True

    def readline(self, *_: object) -> str:
        raise KeyboardInterrupt


def test_ctrl_c_at_the_question_refuses_the_download(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_transfer, "LARGE", 100)
    monkeypatch.setattr("sys.stdin", Terminal())
    with pytest.raises(DownloadNotAllowed, match=r"Add --yes to fetch it\.$"), downloads(yes=False):
        load("owner/model", device="cpu")
    assert not fetched(hub)


def test_the_page_asks_before_a_large_download_and_fetches_after_the_press(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_pool, "LARGE", 100)
    engine = Engine(ModelPool())
    request = Request("owner/model", Example("good film"), None, ("occlusion",), Settings())
    run = engine.submit(request)
    until(lambda: not run.active)
    assert (run.status, run.download) == ("failed", "0.1 MB")
    assert re.search(r"fetching it takes [\d.]+ MB in \d files\.$", run.error)
    assert not fetched(hub)
    engine.pool.allow_download("owner/model")
    run = engine.submit(request)
    until(lambda: not run.active)
    assert (run.status, run.download, run.error) == ("done", "", "")
    assert not engine.pool.allowed
    engine.close()


def test_a_refusal_ends_where_a_job_has_fetched_the_model(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_pool, "LARGE", 100)
    engine = Engine(ModelPool())
    request = Request("owner/model", Example("good film"), None, ("occlusion",), Settings())
    refused = engine.submit(request)
    until(lambda: not refused.active)
    assert "fetching it takes" in str(engine.pool.refusal("owner/model"))
    assert not engine.is_fetched_since(refused)
    fetched_folder("owner/model", None, weights=False)  # a part of it
    assert not engine.is_fetched_since(refused)
    fetched_folder("owner/model", None)
    assert engine.is_fetched_since(refused)
    assert engine.pool.refusal("owner/model") is None
    run = engine.submit(request)
    until(lambda: not run.active)
    assert (run.status, engine.is_fetched_since(run)) == ("done", False)
    engine.close()


class GivenUp(Exception):
    """Of somebody who no longer waits."""


def give_up_downloading(pool: ModelPool) -> "Future[FrozenModel]":
    """Wait for the model until bytes come, and return the load that nobody waits for any more."""

    def check() -> None:
        current = pool.download("owner/model")
        if current is not None and current.done:
            raise GivenUp

    with pytest.raises(GivenUp):
        pool.model("owner/model", check)
    return pool.loads[MODEL]


def test_a_download_that_nobody_waits_for_any_more_is_stopped(hub: Hub) -> None:
    large(hub)
    hub.go.clear()
    pool = ModelPool()
    load = give_up_downloading(pool)
    assert not pool.waiting
    hub.go.set()
    until(load.done)
    assert "was stopped" in str(load.exception())
    assert not pool.loads
    assert not pool.downloads


def test_who_asks_again_before_it_has_stopped_goes_on_with_it(hub: Hub) -> None:
    hub.go.clear()
    pool, found = ModelPool(), list[str]()
    load = give_up_downloading(pool)
    again = Thread(target=lambda: found.append(pool.model("owner/model").version))
    again.start()
    until(lambda: pool.waiting[MODEL] > 0)
    assert pool.loads[MODEL] is load
    hub.go.set()
    again.join(SECONDS)
    assert found == [COMMIT]


def test_who_asks_again_after_it_has_stopped_gets_a_load_of_their_own(hub: Hub) -> None:
    hub.go.clear()
    pool = ModelPool()
    load = give_up_downloading(pool)
    with pytest.raises(TransferStopped):
        pool.downloads[MODEL].check()  # as the next block of bytes does
    hub.go.set()
    assert pool.model("owner/model").version == COMMIT
    until(load.done)
    assert "was stopped" in str(load.exception())


def test_one_who_leaves_stops_nothing_while_another_one_waits(hub: Hub) -> None:
    hub.go.clear()
    pool, found = ModelPool(), list[str]()
    other = Thread(target=lambda: found.append(pool.model("owner/model").version))
    other.start()
    until(lambda: (current := pool.download("owner/model")) is not None and current.done > 0)

    def check() -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        pool.model("owner/model", check)
    hub.go.set()
    other.join(SECONDS)
    assert found == [COMMIT]


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
    current = Transfer()
    current.begin(438_000_000)
    current.report(120_400_000)
    current.report(3)  # another file's bar
    assert current.progress == "120 of 438 MB"
    current.begin(62_000_000)  # a second part, as of an encoder below its head
    current.report(1_000_000)
    assert current.progress == "439 of 500 MB"
    small = Transfer()
    small.begin(9_000)
    small.report(500)
    assert small.progress == "0 of 9 kB"
    small.stop()
    assert small.go_on()
    small.report(600)
    small.stop()
    with pytest.raises(TransferStopped):
        small.report(700)
    assert not small.go_on()
    with pytest.raises(TransferStopped):
        small.begin(1)
