"""The app as Streamlit runs it, with a small model in place of the embedded one."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from app import cards, controls, session
from app.state import samples
from explainers.errors import ModelUnavailable
from explainers.models import catalog
from explainers.models.classifier import FrozenModel
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.reader import MASK, PAD, UNK, learned

ENTRY = Path(__file__).parents[2] / "streamlit_app.py"
PATIENCE = 60  # seconds


class Page:
    """The page in the hands of a person who waits for it."""

    def __init__(self, **address: str) -> None:
        self.at = AppTest.from_file(str(ENTRY), default_timeout=PATIENCE)
        for name, value in {"samples": "50", "steps": "5", **address}.items():
            self.at.query_params[name] = value
        self.run()

    def run(self) -> "Page":
        self.at.run()
        assert not self.at.exception, self.at.exception
        return self

    def settle(self) -> "Page":
        """Runs the page until nothing is on its way."""
        end = time.monotonic() + PATIENCE
        self.run()
        while self.session["run"].active and time.monotonic() < end:
            time.sleep(0.01)
        assert not self.session["run"].active
        return self.run()

    @property
    def session(self) -> Any:
        return self.at.session_state

    @property
    def address(self) -> dict[str, Any]:
        return dict(self.at.query_params)

    @property
    def text(self) -> str:
        return str(self.at.text_area(key="text").value)

    @property
    def cards(self) -> dict[str, Any]:
        """What the component was given."""
        found: dict[str, Any] = json.loads(self.at.get_by_key("cards").proto.json)
        return found

    @property
    def words(self) -> list[str]:
        return [piece for pieces in self.cards["segments"] for piece, index in pieces if index >= 0]

    @property
    def sentences(self) -> list[str]:
        """Errors as a person reads them: without the signs that escape Markdown."""
        return [each.value.replace("\\", "") for each in self.at.error]

    @property
    def html(self) -> str:
        return "".join(each.proto.body for each in self.at.get("html"))

    @property
    def pair(self) -> str:
        return str(self.at.text_area(key="pair").value)

    @property
    def boxes(self) -> list[str]:
        """What the boxes for texts are called."""
        return [box.label for box in self.at.text_area]

    @property
    def patches(self) -> list[int]:
        """Numbers of the units that lie in the picture."""
        return [int(number) for number in self.cards["picture"]["patches"]]

    @property
    def captions(self) -> list[str]:
        return [each.value.replace("\\", "") for each in self.at.caption]

    def give(self, content: bytes, name: str = "mine.png") -> "Page":
        """Uploads a picture."""
        self.at.file_uploader[0].set_value((name, content, "image/png"))
        return self.settle()

    def write(self, text: str, pair: str | None = None) -> "Page":
        self.at.text_area(key="text").set_value(text)
        if pair is not None:
            self.at.text_area(key="pair").set_value(pair)
        return self.settle()

    def choose(self, key: str, value: object) -> "Page":
        self.at.get_by_key(key).set_value(value)
        return self.settle()

    def remove(self, *units: int) -> "Page":
        """As clicks do: the component itself is tried in the browser."""
        self.session["removed"] = units
        return self.settle()

    def press(self, key: str) -> "Page":
        self.at.button(key=key).click()
        return self.run()


@pytest.fixture
def model(bert: FrozenModel) -> FrozenModel:
    bert.tokenizer.enable_truncation(64)
    return bert


@pytest.fixture
def small(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The small model is the only one, and its card is as short as can be."""

    def load(name: str, **_rest: object) -> FrozenModel:
        if name != "small":
            raise ModelUnavailable(f"There is no model {name!r}. Choose one of: small.")
        return model

    monkeypatch.setattr(catalog, "load", load)
    monkeypatch.setattr(session, "bundled", lambda: ("small",))
    monkeypatch.setattr(controls, "bundled", lambda: ("small",))
    monkeypatch.setattr(controls, "card", lambda _folder: {"labels": list(model.labels), "sha256": "1"})
    yield from engine_of_its_own()


@pytest.fixture
def both(model: FrozenModel, pairs: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model of single texts and one of pairs in the places of the embedded ones, and one of which nobody knows."""
    pairs.tokenizer.enable_truncation(64)
    known = {"sst2": replace(model, asks=("text",)), "nli": pairs, "owner/model": model}
    texts = {"sst2": ["text"], "nli": ["premise", "hypothesis"]}
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: known[name])
    monkeypatch.setattr(session, "bundled", lambda: ("sst2", "nli"))
    monkeypatch.setattr(controls, "bundled", lambda: ("sst2", "nli"))
    monkeypatch.setattr(
        controls, "card", lambda folder: {"labels": list(model.labels), "texts": texts[folder.name], "sha256": "1"}
    )
    monkeypatch.setattr(cards, "asked_by", lambda name: tuple(texts.get(name, ())))
    yield from engine_of_its_own()


@pytest.fixture
def pictured(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model of texts and one of pictures, of random weights, in the places of the embedded ones."""
    bert.tokenizer.enable_truncation(64)
    known = {"sst2": replace(bert, asks=("text",)), "scenes": scene_model(), "owner/model": scene_model()}
    cards_of = {name: {"labels": list(each.labels), "sha256": "1"} for name, each in known.items()}
    cards_of["scenes"]["pictures"] = True  # type: ignore[assignment]
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: known[name])
    monkeypatch.setattr(session, "bundled", lambda: ("sst2", "scenes"))
    monkeypatch.setattr(controls, "bundled", lambda: ("sst2", "scenes"))
    monkeypatch.setattr(controls, "card", lambda folder: cards_of[folder.name])
    yield from engine_of_its_own()


def scene_model() -> SceneModel:
    """The architecture of `scenes` with one layer, untrained."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        words = learned([sample.text for sample in samples() if sample.picture])
        module = SceneNetwork(words.get_vocab_size(), 3)
    module.base_model.encoder.layer = module.base_model.encoder.layer[:1]  # quick
    return SceneModel(
        name="untrained",
        labels=("entailment", "neutral", "contradiction"),
        module=module.requires_grad_(False).eval(),
        tokenizer=words,
        filler=MASK,
        padding=PAD,
        version="1",
        asks=("text",),
        unknown=UNK,
        english=True,
        pooled=True,
    )


@pytest.fixture
def own_engine() -> Iterator[None]:
    yield from engine_of_its_own()


def engine_of_its_own() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    engine = session.engine()
    for run in list(engine.queue):
        run.stop()
    engine.workers.shutdown(wait=True, cancel_futures=True)
    st.cache_resource.clear()


@pytest.fixture
def opened() -> Callable[..., Page]:
    """Opens the page at an address, without waiting for the results."""
    return Page


@pytest.fixture
def gate(model: FrozenModel) -> Iterator[Event]:
    """The model answers only while this is set."""
    found = Event()
    found.set()

    def wait(*_args: object) -> None:
        assert found.wait(PATIENCE)

    handle = model.module.register_forward_pre_hook(wait)
    yield found
    found.set()
    handle.remove()
