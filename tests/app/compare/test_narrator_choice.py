"""The narrators in the sidebar."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainers.installation import STORE_VARIABLE
from explainers.methods.narrator_specs import NARRATORS


def page() -> None:
    import streamlit as st

    from app.compare.controls import narrators
    from app.compare.state import compare_state

    state = compare_state()
    state.begin()
    st.json(narrators("speaker", "1", state))


@pytest.fixture
def fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the narrators of the model "speaker"."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    folder = tmp_path / "narrative" / "speaker-1"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.usefixtures("fitted")
def test_without_fitted_narrators_there_is_nothing_to_choose() -> None:
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    assert not app.get("button_group")
    assert app.json[0].value == "null"


def test_all_that_are_fitted_are_chosen_until_one_is_taken_away(fitted: Path) -> None:
    for spec in NARRATORS[1:]:
        (fitted / f"{spec.id}.safetensors").touch()
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    (pills,) = app.get("button_group")
    assert pills.options == [spec.name for spec in NARRATORS[1:]]
    assert json.loads(app.json[0].value) == list(NARRATORS.ids[1:])
    pills.set_value([NARRATORS.get("cause").name]).run()
    assert app.json[0].value == '["cause"]'


def test_the_address_chooses(fitted: Path) -> None:
    for spec in NARRATORS:
        (fitted / f"{spec.id}.safetensors").touch()
    app = AppTest.from_function(page, default_timeout=60)
    app.query_params["narrators"] = "φ + TS"
    assert app.run().json[0].value == '["cause_phi_ts"]'
