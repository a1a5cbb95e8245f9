"""Files that were given to an uploader and stay while it is not drawn."""

from types import SimpleNamespace
from typing import Any

import pytest

from app import components, session
from app.components import KEPT, named_files
from app.session import Visit


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Visit:
    """What the session of these tests holds."""
    held = Visit()
    monkeypatch.setattr(session, "visit", lambda: held)
    return held


def upload(name: str, size: int = 1) -> Any:
    return SimpleNamespace(name=name, size=size, getvalue=lambda: b"")


def take(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Streamlit does when a person has given or removed files."""
    monkeypatch.setattr(session, "value_of", lambda _key: given)
    components._take_files("mine")


def test_removed_files_are_forgotten_and_those_that_streamlit_has_deleted_are_none(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(upload("a.csv"), monkeypatch)
    assert [file.name for file in visit.files["mine"]] == ["a.csv"]
    take([upload("b.csv"), SimpleNamespace(file_id="deleted")], monkeypatch)
    assert [file.name for file in visit.files["mine"]] == ["b.csv"]
    take(None, monkeypatch)
    assert visit.files["mine"] == ()


def test_large_files_are_not_kept(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    take([upload("a.zip", KEPT - 1), upload("b.zip", 1)], monkeypatch)
    assert len(visit.files["mine"]) == 2
    take([upload("a.zip", KEPT), upload("b.zip", 1)], monkeypatch)
    assert visit.files["mine"] == ()


def test_many_files_are_counted() -> None:
    assert named_files(["a.csv"]) == "a.csv"
    assert named_files(["a.csv", "b.png"]) == "a.csv and b.png"
    assert named_files(["a.csv", "b.png", "c.png", "d.png"]) == "a.csv, b.png and 2 more"
