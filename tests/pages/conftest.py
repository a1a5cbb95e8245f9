"""The app as Streamlit runs it, with a small model in place of the embedded one."""

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from threading import Event
from typing import Any, Self

import pytest
import streamlit as st
import torch
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from app import model_info, model_pool
from app import session as sessions
from app.compare import session
from app.compare.state import CompareState
from app.compare.stored_results import curated_examples
from app.train import view
from app.train.jobs import Jobs
from explainers.errors import ModelUnavailable
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.models.scenes import network
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import MASK, PAD, UNK, train_tokenizer

# AppTest looks through all installed packages at every run
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

ENTRY = Path(__file__).parents[2] / "streamlit_app.py"
PATIENCE = 60  # seconds
METHODS: dict[str, str | None] = {  # in the address, by group
    "gradient": "",
    "perturbation": "Occlusion",
    "learned": "AML",
    "attention": "",
    "controls": "",
}
QUICK: dict[str, str | None] = {"samples": "50", "steps": "5", **METHODS}
DEFAULT = dict.fromkeys(METHODS)  # an address that names no methods


class Page:
    """The page in the hands of a person who waits for it; two quick methods unless the address says otherwise.

    It is Compare, or that of the file `page`, which is opened at once with the session's state `held`.
    """

    def __init__(self, page: str = "", held: object = None, **address: str | None) -> None:
        self.at = AppTest.from_file(str(ENTRY), default_timeout=PATIENCE)
        if page:
            self.at.switch_page(page)
        if held is not None:
            self.at.session_state[type(held).__name__] = held
        for name, value in {**QUICK, **address}.items():
            if value is not None:
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
        while self.state.run.active and time.monotonic() < end:
            time.sleep(0.01)
        assert not self.state.run.active
        return self.run()

    @property
    def state(self) -> CompareState:
        """What the session holds of the Compare page."""
        state: CompareState = self.at.session_state[CompareState.__name__]
        return state

    @property
    def address(self) -> dict[str, Any]:
        return dict(self.at.query_params)

    @property
    def text(self) -> str:
        return str(self.at.text_area(key="text").value)

    @property
    def sheet(self) -> dict[str, Any]:
        """The data of the component."""
        data: dict[str, Any] = json.loads(self.at.get_by_key("sheet").proto.json)
        return data

    @property
    def words(self) -> list[str]:
        return [piece for pieces in self.sheet["segments"] for piece, index in pieces if index >= 0]

    @property
    def sentences(self) -> list[str]:
        """Errors."""
        return [*(error.value for error in self.at.error), *self.plain("error")]

    @property
    def html(self) -> str:
        return "".join(element.proto.body for element in self.at.get("html"))

    @property
    def pair(self) -> str:
        return str(self.at.text_area(key="pair").value)

    @property
    def boxes(self) -> list[str]:
        """The labels of the text boxes of the input."""
        return [box.label for box in self.at.text_area if not (box.key or "").startswith("prompt ")]

    @property
    def patches(self) -> list[int]:
        """Numbers of the units that lie in the image."""
        return [int(number) for number in self.sheet["image"]["patches"]]

    @property
    def captions(self) -> list[str]:
        return [*(caption.value for caption in self.at.caption), *self.plain("caption")]

    def plain(self, kind: str = "") -> list[str]:
        """What app/plain_text.py has drawn, all of it or one kind, as a person reads it."""
        bodies = [element.proto.body for element in self.at.get("html")]
        return [unescape(re.sub("<[^>]+>", "", body)) for body in bodies if f'class="plain-{kind}' in body]

    def give(self, content: bytes, name: str = "mine.png") -> "Page":
        """Uploads an image."""
        uploader = next(widget for widget in self.at.file_uploader if str(widget.key).startswith("picture file"))
        uploader.set_value((name, content, "image/png"))
        return self.settle()

    def write(self, text: str, pair: str | None = None) -> "Page":
        self.at.text_area(key="text").set_value(text)
        if pair is not None:
            self.at.text_area(key="pair").set_value(pair)
        return self.settle()

    def control(self, key: str) -> Any:
        """The control's present widget: the page replaces those in popovers."""
        renewals = {sessions.key_of(name): count for name, count in self.state.renewals.items() if count}
        return self.at.get_by_key(f"{key} {renewals[key]}" if key in renewals else key)

    def choose(self, key: str, value: object) -> "Page":
        self.control(key).set_value(value)
        return self.settle()

    def remove(self, *units: int) -> "Page":
        """As clicks do: the component itself is tried in the browser."""
        self.state.change(removed=units)
        return self.settle()

    def press(self, key: str) -> "Page":
        self.at.button(key=key).click()
        return self.run()


class JobsPage:
    """A page that starts jobs, in the hands of a person."""

    path = ""

    def __init__(self, opened: Callable[..., Page], **address: str) -> None:
        self.page = opened(self.path, **address)
        self.at = self.page.at

    def run(self) -> Self:
        self.page.run()
        return self

    @property
    def jobs(self) -> Jobs:
        return view.jobs()

    @property
    def texts(self) -> str:
        kinds = ("header", "subheader", "markdown", "caption", "success", "warning", "error", "code")
        elements = [element for kind in kinds for element in self.at.get(kind)]
        return "\n".join([*(element.value for element in elements), *self.page.plain()])

    def press(self, key: str) -> Self:
        self.at.button(key=key).click()
        return self.run()

    def until(self, true: Callable[[], bool]) -> Self:
        end = time.monotonic() + PATIENCE
        while not true() and time.monotonic() < end:
            time.sleep(0.02)
        assert true(), [(job.status, job.error) for job in self.jobs.all()]
        return self.run()


@pytest.fixture
def model(bert: FrozenModel) -> FrozenModel:
    bert.tokenizer.enable_truncation(64)
    return bert


def embedded(monkeypatch: pytest.MonkeyPatch, cards: dict[str, dict[str, Any]]) -> None:
    """Makes these the embedded models, with these cards."""
    for module in (sessions, model_pool, model_info.bundle_cards):
        monkeypatch.setattr(module, "bundle_names", lambda: tuple(cards))
    monkeypatch.setattr(model_info.bundle_cards, "read_card", lambda folder: cards[folder.name])


@pytest.fixture
def small(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The small model is the only one, and its card is as short as can be."""

    def load(name: str, **_rest: object) -> FrozenModel:
        if name != "small":
            raise ModelUnavailable(f"The model {name!r} is not available. Choose one of: small.")
        return model

    monkeypatch.setattr(catalog, "load", load)
    embedded(monkeypatch, {"small": {"labels": list(model.labels), "sha256": "1"}})
    yield from fresh_engine()


@pytest.fixture
def both(model: FrozenModel, pairs: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model of single texts and one of pairs in the places of the embedded ones, and one without a card."""
    pairs.tokenizer.enable_truncation(64)
    models = {"sst2": replace(model, input_names=("text",)), "nli": pairs, "owner/model": model}
    names = {"sst2": ["text"], "nli": ["premise", "hypothesis"]}
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: models[name])
    labels = list(model.labels)
    embedded(monkeypatch, {name: {"labels": labels, "texts": names[name], "sha256": "1"} for name in names})
    yield from fresh_engine()


@pytest.fixture
def multimodal(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model of texts and one of images, of random weights, in the places of the embedded ones."""
    bert.tokenizer.enable_truncation(64)
    models = {"sst2": replace(bert, input_names=("text",)), "scenes": scene_model(), "owner/model": scene_model()}
    cards: dict[str, dict[str, Any]] = {
        name: {"labels": list(models[name].labels), "sha256": "1"} for name in ("sst2", "scenes")
    }
    cards["scenes"] |= {"pictures": True, "generated": True, "generator": "scene"}
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: models[name])
    embedded(monkeypatch, cards)
    yield from fresh_engine()


def scene_model() -> SceneModel:
    """The architecture of `scenes` with one narrow layer, untrained."""
    words = train_tokenizer([sample.text for sample in curated_examples() if sample.image])
    narrow = network.config(words.get_vocab_size())
    narrow.num_hidden_layers, narrow.hidden_size, narrow.intermediate_size = 1, 32, 64  # quick
    with torch.random.fork_rng(devices=[]), pytest.MonkeyPatch.context() as patch:
        torch.manual_seed(0)
        patch.setattr(network, "config", lambda _vocabulary: narrow)
        module = network.SceneNetwork(words.get_vocab_size(), 3)
    return SceneModel(
        name="untrained",
        labels=("entailment", "neutral", "contradiction"),
        module=module.requires_grad_(False).eval(),
        tokenizer=words,
        mask_token=MASK,
        pad_token=PAD,
        version="1",
        input_names=("text",),
        unknown=UNK,
        english_only=True,
        mean_pooled=True,
    )


@pytest.fixture
def own_engine() -> Iterator[None]:
    yield from fresh_engine()


def fresh_engine() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    engine = session.engine()
    engine.close()
    engine.pool.wait()
    st.cache_resource.clear()


@pytest.fixture
def opened() -> Callable[..., Page]:
    """Opens the page at an address, without waiting for the results."""
    return Page


@pytest.fixture
def gate(model: FrozenModel) -> Iterator[Event]:
    """The model answers only while this is set."""
    open_gate = Event()
    open_gate.set()

    def wait(*_args: object) -> None:
        assert open_gate.wait(PATIENCE)

    handle = model.module.register_forward_pre_hook(wait)
    yield open_gate
    open_gate.set()
    handle.remove()
