"""The methods that are chosen before anybody chooses."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainers.installation import STORE_VARIABLE
from explainers.methods.registry import METHODS


def page() -> None:
    import streamlit as st

    from app.compare.controls import _general_methods
    from app.compare.state import compare_state

    state = compare_state()
    state.begin()
    st.json(_general_methods("mine", "1", state))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the weights that were fitted to the model "mine"."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    folder = tmp_path / "learned" / "mine-1"
    folder.mkdir(parents=True)
    return folder


def test_a_method_that_was_not_fitted_to_the_model_is_offered_and_not_chosen(folder: Path) -> None:
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    chosen = json.loads(app.json[0].value)
    learned = {spec.id for spec in METHODS if spec.learns}
    assert learned
    assert not learned & set(chosen)
    assert "lime" in chosen
    assert any("CIMI" in group.options for group in app.get("button_group"))
    assert "Not fitted to this model: " in app.get("html")[0].proto.body
    (folder / "cimi.safetensors").touch()
    assert "cimi" in json.loads(app.run().json[0].value)
    assert "CIMI" not in app.get("html")[0].proto.body


def test_one_that_a_person_chooses_stays_chosen(folder: Path) -> None:
    app = AppTest.from_function(page, default_timeout=60)
    app.query_params["learned"] = "CIMI"
    assert "cimi" in json.loads(app.run().json[0].value)
