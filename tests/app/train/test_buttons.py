"""The buttons of a training that is over."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest


def page(folder: str, exit_code: int | None, status: str = "failed", *, replaced: bool = False) -> None:
    from types import SimpleNamespace
    from typing import Any, cast

    import streamlit as st

    from app.login.account import ANYBODY
    from app.store import Job
    from app.train.jobs import Overview
    from app.train.view import _draw

    job = Job(
        id=1,
        method="aml",
        model="owner/model",
        variant="mine",
        texts=20,
        command=["python", "-m", "explainers", "fit", "aml"],
        folder=folder,
        owner="",
        owner_name="",
        status=status,
        error="It failed." if status == "failed" else "",
        exit_code=exit_code,
        created=1.0,
        started=1.0,
        finished=2.0,
    )

    def delete(number: int, _account: object, *, weights: bool) -> None:
        st.session_state["deleted"] = number, weights

    jobs = cast(Any, SimpleNamespace(cancel=None, resume=None, delete=delete))
    _draw(jobs, ANYBODY, Overview((job,), {}, frozenset({1} if replaced else ())))


@pytest.mark.parametrize(("exit_code", "label"), [(2, "Try again"), (1, "Resume"), (137, "Resume"), (None, "Resume")])
def test_only_what_may_go_on_is_resumed(tmp_path: Path, exit_code: int | None, label: str) -> None:
    app = AppTest.from_function(page, kwargs={"folder": str(tmp_path), "exit_code": exit_code}).run()
    assert not app.exception
    assert app.button(key="resume 1").label == label


def test_weights_are_deleted_where_asked_for(tmp_path: Path) -> None:
    given = {"folder": str(tmp_path), "exit_code": 0, "status": "done"}
    app = AppTest.from_function(page, kwargs=given).run()
    app.button(key="delete 1").click().run()
    assert app.session_state["deleted"] == (1, False)
    app.checkbox(key="weights 1").check().run()
    app.button(key="delete 1").click().run()
    assert app.session_state["deleted"] == (1, True)


@pytest.mark.parametrize(("status", "replaced"), [("failed", False), ("done", True)])
def test_there_are_no_weights_to_delete(tmp_path: Path, status: str, replaced: bool) -> None:
    given = {"folder": str(tmp_path), "exit_code": 1, "status": status, "replaced": replaced}
    app = AppTest.from_function(page, kwargs=given).run()
    assert not app.exception
    assert not app.checkbox
