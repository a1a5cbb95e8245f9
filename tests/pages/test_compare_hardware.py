"""Device and precision, and the question before a large download, on the page."""

from collections.abc import Callable
from threading import Event

import pytest

from explainers.models import catalog
from explainers.models.foreign.hub_transfer import DownloadSize, check_allowed
from explainers.models.frozen_model import FrozenModel
from explainers.models.precision import UsedPrecision
from tests.pages.conftest import Page, embedded

pytestmark = pytest.mark.usefixtures("small", "own_engine")
Opened = Callable[..., Page]
NOTE = "Computed in float32: in bfloat16 other units lead when one is erased by mask."


def test_the_chosen_precision_is_in_address_undo_and_run_and_a_refusal_is_said(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision(note=NOTE))
    page = opened().settle()
    assert "precision" not in page.address
    assert page.state.run.request.precision == "float32"
    page.choose("precision", "bfloat16")
    assert page.address["precision"] in ("bfloat16", ["bfloat16"])
    assert page.state.run.request.precision == "bfloat16"
    assert any(NOTE in sentence for sentence in page.plain("warning"))
    assert page.state.run.comparison().manifest()["model"]["precision_note"] == NOTE
    page.state.undo()
    page.settle()
    assert page.state.run.request.precision == "float32"
    assert not any(NOTE in sentence for sentence in page.plain("warning"))


def test_the_status_says_that_the_precision_is_checked(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = Event(), Event()

    def check(*_given: object) -> UsedPrecision:
        begun.set()
        assert go.wait(60)
        return UsedPrecision(note=NOTE)

    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", check)
    page = opened().settle()
    page.at.get_by_key("precision").set_value("bfloat16")
    page.run()
    assert begun.wait(60)
    page.run()
    assert [bar.proto.text for bar in page.at.get("progress")] == ["Checking bfloat16"]
    go.set()
    page.settle()
    assert page.at.get("progress") == []


def test_only_devices_that_are_here_are_offered_and_another_one_is_a_sentence(opened: Opened) -> None:
    page = opened().settle()
    assert page.at.selectbox(key="device").options == ["auto", *catalog.available_devices()[1:]]
    page = opened(device="cuda:77", precision="int8").settle()
    assert page.state.controls.device == "auto"
    assert any("“cuda:77”, which is not available here" in sentence for sentence in page.plain("warning"))
    assert any("“int8”, which is not available here" in sentence for sentence in page.plain("warning"))
    page.choose("device", "cpu")
    assert page.state.run.comparison().manifest()["model"]["device"] == "cpu"


def test_a_device_of_the_first_address_is_a_sentence_as_soon_as_the_devices_are_known(opened: Opened) -> None:
    page = opened(device="cuda:77").settle()
    page.run()
    page.settle()
    assert page.state.controls.device == "auto"
    assert any("“cuda:77”, which is not available here" in sentence for sentence in page.plain("warning"))
    assert page.state.run.status == "done"


def test_a_large_model_that_was_fetched_elsewhere_needs_no_press(
    opened: Opened, model: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[str] = []

    def load(name: str, **_rest: object) -> FrozenModel:
        check_allowed(name, DownloadSize(0 if there else 1_340_000_000, 6), lambda: bool(there))
        return model

    monkeypatch.setattr(catalog, "load", load)
    embedded(monkeypatch, {"small": {"labels": list(model.labels), "sha256": "1"}})
    page = opened(model="owner/large", text="the film was not good").settle()
    assert page.at.button(key="again").label == "Download 1.3 GB"
    there.append("owner/large")  # as by a training
    page.run()
    page.settle()
    assert page.state.run.status == "done"


def test_a_large_model_is_fetched_after_a_press(
    opened: Opened, model: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []

    def load(name: str, **_rest: object) -> FrozenModel:
        check_allowed(name, DownloadSize(1_340_000_000, 6, 325_000_000))
        fetched.append(name)
        return model

    monkeypatch.setattr(catalog, "load", load)
    embedded(monkeypatch, {"small": {"labels": list(model.labels), "sha256": "1"}})
    page = opened(model="owner/large", text="the film was not good").settle()
    sentence = "'owner/large' is not on this machine; fetching it takes 1.3 GB in 6 files, 325 million parameters."
    assert any(sentence in warning for warning in page.plain("warning"))
    assert page.sentences == []
    button = page.at.button(key="again")
    assert (button.label, fetched) == ("Download 1.3 GB", [])
    button.click()
    page.settle()
    assert fetched == ["owner/large"]
    assert page.state.run.status == "done"
