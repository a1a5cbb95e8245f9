import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.compare import engine
from app.compare.runs import Column, Request, Run
from explainers.datasets.example import Example
from explainers.methods.registry import METHODS
from explainers.results.comparison import Comparison
from explainers.results.decision import Settings
from explainers.results.events import Failure

SECRET = "A secret text about secret.csv"


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "bundle_names", lambda: ("sst2",))


def a_run(model: str = "sst2", example: Example | None = None, **values: Any) -> Run:
    """Three methods: one of 1.2 s, one from memory, one that failed; and weights of a person's own."""
    request = Request(model, example or Example(SECRET), "secret label", ("lime",), Settings())
    columns = {
        "lime": Column(METHODS.get("lime")),
        "occlusion": Column(METHODS.get("occlusion"), remembered=True),
        "aml": Column(METHODS.get("aml")),
        "aml:secret": Column(METHODS.get("aml").variant("secret")),
    }
    comparison = Comparison(
        cast(Any, SimpleNamespace(encoding=SimpleNamespace(units=(1, 2, 3)))),
        (0.5, 0.5),
        results=(result("lime", 1.2), result("occlusion", 0.5)),
        failures=(Failure("aml", f"{SECRET} is too long."),),
    )
    run = Run(request, columns, status="done", seconds=3.456, current=comparison, **values)
    run.meter.calls = 512
    return run


def result(method: str, seconds: float) -> Any:
    return SimpleNamespace(method=method, attribution=SimpleNamespace(seconds=seconds))


def test_a_run_is_one_line_of_what_it_cost(caplog: pytest.LogCaptureFixture) -> None:
    run = a_run()
    with caplog.at_level(logging.INFO):
        run.meter.waited = 0.5
        engine.log_run(run)
    assert caplog.messages == [
        "run model=sst2 input=text units=3 outcome=done waited=0.50 seconds=3.46 calls=512 "
        "methods=lime:1.20,occlusion:remembered,aml:failed,aml:own:open"
    ]


def test_nothing_of_what_was_asked_is_in_it() -> None:
    run = a_run("/home/secret/model", Example(SECRET, "secret hypothesis"))
    run.error, run.status, run.current = SECRET, "failed", None
    line = engine.log_line(run)
    assert line.startswith("run model=other input=pair units=0 outcome=failed ")
    assert "secret" not in line.lower()


@pytest.mark.parametrize("status", ["done", "stopped", "failed"])
def test_the_outcome_is_the_status(status: Any) -> None:
    run = a_run()
    run.status = status
    assert f" outcome={status} " in engine.log_line(run)


def test_a_run_that_nobody_looked_at_is_abandoned() -> None:
    run = a_run()
    run.abandon()
    run.status = "stopped"
    assert " outcome=abandoned " in engine.log_line(run)


def test_a_run_without_methods_says_so() -> None:
    run = a_run()
    run.columns = {}
    run.request = replace(run.request, methods=())
    assert engine.log_line(run).endswith("methods=none")
