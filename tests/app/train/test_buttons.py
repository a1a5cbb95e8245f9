"""The buttons of a training that is over."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest


def page(folder: str, exit_code: int | None) -> None:
    from types import SimpleNamespace
    from typing import Any, cast

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
        status="failed",
        error="It failed.",
        exit_code=exit_code,
        created=1.0,
        started=1.0,
        finished=2.0,
    )
    jobs = cast(Any, SimpleNamespace(cancel=None, resume=None, delete=None))
    _draw(jobs, ANYBODY, Overview((job,), {}, frozenset()))


@pytest.mark.parametrize(("exit_code", "label"), [(2, "Try again"), (1, "Resume"), (137, "Resume"), (None, "Resume")])
def test_only_what_may_go_on_is_resumed(tmp_path: Path, exit_code: int | None, label: str) -> None:
    app = AppTest.from_function(page, kwargs={"folder": str(tmp_path), "exit_code": exit_code}).run()
    assert not app.exception
    assert app.button(key="resume 1").label == label
