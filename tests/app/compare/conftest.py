"""The session and the address of the Compare page."""

from types import SimpleNamespace
from typing import Any

import pytest

from app import session
from app.compare import kept_inputs
from app.compare import state as compare
from app.compare.state import CompareState, compare_state
from explainers.datasets.example import Example, InputImage


@pytest.fixture
def page(query: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What Streamlit remembers of a session, and the address."""
    browser = SimpleNamespace(session_state={}, query_params=query)
    for module in (session, compare):
        monkeypatch.setattr(module, "st", browser)
    return browser


@pytest.fixture(autouse=True)
def server_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_inputs, "SERVER", kept_inputs.ServerMemory())


def opened(page: Any, **address: str) -> CompareState:
    page.query_params.update(address)
    compare_state().begin()
    compare_state().model_chosen()
    return compare_state()


def ask(state: CompareState, image: InputImage | None = None, *, pair: bool = True) -> None:
    """As the page does after its controls: an empty second text is none."""
    text, second = state.controls.texts
    state.ask(Example(text, (second or None) if pair else None, image=image))
