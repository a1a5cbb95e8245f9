"""The buttons of a training that is over."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainers.installation import STORE_VARIABLE


def page(folder: str, exit_code: int | None, status: str = "failed", *, sha: str = "aa") -> None:
    import json
    from pathlib import Path
    from types import SimpleNamespace
    from typing import Any, cast

    import streamlit as st

    from app.server.login import ANYBODY
    from app.store import Job
    from app.train.job_list import JobList
    from app.train.jobs import Overview
    from app.train.processes import OUTPUT
    from app.train.state import train_state
    from app.train.view import _draw
    from explainers.training.artifacts import own_folder
    from explainers.training.spec import FitSpec

    job = Job(
        id=1,
        method="aml",
        model="owner/model",
        variant="mine",
        texts=20,
        spec_json=FitSpec("aml", "owner/model").as_json(),
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

    (Path(folder) / OUTPUT).write_text(json.dumps({"model": {"version": "1"}, "sha256": "aa"}))
    made = own_folder("owner/model", "1") / "aml-mine.json"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(json.dumps({"sha256": sha}))
    jobs = cast(Any, SimpleNamespace(cancel=None, resume=None, delete=delete))
    _draw(JobList(jobs, ANYBODY, "fit", train_state(), _draw), Overview((job,), {}, frozenset()))


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))


@pytest.mark.parametrize(("exit_code", "label"), [(2, "Try again"), (1, "Resume"), (137, "Resume"), (None, "Resume")])
def test_only_what_may_go_on_is_resumed(tmp_path: Path, exit_code: int | None, label: str) -> None:
    app = AppTest.from_function(
        page, default_timeout=60, kwargs={"folder": str(tmp_path), "exit_code": exit_code}
    ).run()
    assert not app.exception
    assert app.button(key="resume 1").label == label


def test_weights_are_deleted_where_asked_for(tmp_path: Path) -> None:
    given = {"folder": str(tmp_path), "exit_code": 0, "status": "done"}
    app = AppTest.from_function(page, default_timeout=60, kwargs=given).run()
    app.button(key="delete 1").click().run()
    assert app.session_state["deleted"] == (1, False)
    app.checkbox(key="weights 1").check().run()
    app.button(key="delete 1").click().run()
    assert app.session_state["deleted"] == (1, True)


def test_weights_that_others_have_replaced_are_not_offered(tmp_path: Path) -> None:
    given = {"folder": str(tmp_path), "exit_code": 0, "status": "done", "sha": "bb"}
    app = AppTest.from_function(page, default_timeout=60, kwargs=given).run()
    assert not app.exception
    assert not app.checkbox
    assert "These weights were deleted, or replaced by others of their name." in [
        caption.value for caption in app.caption
    ]
