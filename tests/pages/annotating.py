"""The Annotate page in the hands of a person, and the only project that they made."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from app.annotate import projects, session, workbench
from app.annotate.projects import Project
from app.annotate.state import AnnotateState
from app.server.login import ANYBODY
from app.store import URL_VARIABLE
from explainers.installation import STORE_VARIABLE

Opened = Callable[..., Any]
PATIENCE = 120  # seconds
TEXTS = b"id,text,label\nA,good film,positive\nB,bad film,negative\nC,,positive\nD,not very good,positive\n"


class Annotate:
    """The Annotate page in the hands of a person."""

    def __init__(self, opened: Opened, **held: Any) -> None:
        self.page = opened("pages/annotate.py", AnnotateState(**held))
        self.at = self.page.at

    def run(self) -> "Annotate":
        self.page.run()
        return self

    def press(self, key: str) -> "Annotate":
        self.at.button(key=key).click()
        return self.run()

    def view(self, name: str) -> "Annotate":
        self.at.get_by_key("annotation view").set_value(name)
        return self.run()

    def create(self, content: bytes = TEXTS, name: str = "Films") -> "Annotate":
        self.at.text_input(key="project name").set_value(name)
        self.at.get_by_key("project data").set_value("Files of your own")
        self.run()
        if content:
            self.at.file_uploader[0].set_value(("films.csv", content, "text/csv"))
            self.run()
        return self.press("create project")

    def item(self) -> dict[str, Any]:
        """What the component shows, once the item is prepared."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                data: dict[str, Any] = json.loads(self.at.get_by_key("annotate").proto.json)
            except KeyError:
                time.sleep(0.05)
                self.run()
            else:
                return data
        raise AssertionError(f"the item was not prepared: {self.sentences}")

    def send(self, action: str = "confirm", key: str = "", **answer: object) -> "Annotate":
        """As the component does; its script is tried in the browser."""
        key = key or self.item()["key"]
        sent = {"done": {"id": str(time.monotonic()), "key": key, "action": action, "answer": answer}}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(st, "session_state", {"AnnotateState": self.state, "annotate": sent})
            workbench.done_pressed()
        return self.run()

    @property
    def state(self) -> AnnotateState:
        state: AnnotateState = self.at.session_state["AnnotateState"]
        return state

    @property
    def sentences(self) -> str:
        elements = [*self.at.caption, *self.at.info, *self.at.error, *self.at.markdown, *self.at.code]
        return "\n".join([*(element.value for element in elements), *self.page.plain()])


@pytest.fixture
def annotate(
    small: None, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Annotate]]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    yield lambda **state: Annotate(opened, **state)
    session.preparer().close()
    session.annotation_store().close()


def only_project() -> Project:
    (project,) = projects.projects(session.annotation_store(), ANYBODY)
    return project
