"""PostgreSQL goes away in the middle of the work and comes back: nothing is lost, and meanwhile there is a sentence."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.database import connections
from app.database.connections import StoreUnavailable
from app.store import URL_VARIABLE, Job, Store
from app.train import processes
from app.train.jobs import Jobs, runs
from explainers.datasets.example import Example
from explainers.training.spec import FitSpec

PATIENCE = 120  # seconds
SPEC = FitSpec("aml", "owner/model", variant="mine")
TEXTS = tuple(Example(f"text {number}") for number in range(20))
SCRIPT = """
import json, pathlib, sys, time
folder = pathlib.Path(json.loads(pathlib.Path(sys.argv[3]).read_text())["folder"])
with (folder.parent / "begun").open("a") as file: file.write("once ")
while not (folder / "go").exists(): time.sleep(0.01)
print("{}")
"""


@pytest.fixture
def jobs(on_postgresql: str) -> Iterator[Jobs]:
    opened = Jobs(Store(), (sys.executable, "-c", SCRIPT))
    yield opened
    for child in opened.supervisor.children.values():
        processes.end(child.pid, at_once=True)
        child.wait()
    opened.close()


@pytest.fixture
def outage(postgresql: Any) -> Iterator[Callable[[], None]]:
    """Ends the server at once; it runs again after the test."""
    ended = []

    def end() -> None:
        postgresql.end()
        ended.append(True)

    yield end
    if ended and "no server" in status(postgresql):
        postgresql.begin()


def status(postgresql: Any) -> str:
    try:
        return str(postgresql.run("pg_ctl", "status", "-D", "data"))
    except AssertionError as error:
        return str(error)


def until(jobs: Jobs, true: Callable[[Job], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true(jobs.all()[0]) and time.monotonic() < end:
        jobs.tick()
        time.sleep(0.01)
    assert true(jobs.all()[0])


def test_a_connection_that_was_cut_is_replaced_unseen(jobs: Jobs, postgresql: Any, on_postgresql: str) -> None:
    jobs.submit(SPEC, TEXTS)
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{on_postgresql}'"
    assert "t" in postgresql.query("postgres", cut)
    assert [job.status for job in jobs.all()] == ["waiting"]


def test_a_connection_that_is_cut_within_a_transaction_undoes_it(
    jobs: Jobs, postgresql: Any, on_postgresql: str
) -> None:
    jobs.submit(SPEC, TEXTS)

    def cancel_and_cut() -> None:
        with jobs.store.begin() as session:
            job = session.get(Job, 1)
            assert job is not None
            job.status = "cancelled"
            session.flush()
            postgresql.query(
                "postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{on_postgresql}'"
            )

    with pytest.raises(StoreUnavailable) as error:
        cancel_and_cut()
    assert str(error.value) == connections.SILENT
    assert [job.status for job in jobs.all()] == ["waiting"]


def test_a_training_goes_on_while_the_server_is_away(jobs: Jobs, postgresql: Any, outage: Callable[[], None]) -> None:
    folder = jobs.submit(SPEC, TEXTS).run_folder
    until(jobs, lambda job: job.pid is not None)
    outage()
    with pytest.raises(StoreUnavailable) as error:
        jobs.overview()
    assert str(error.value) == connections.SILENT
    with pytest.raises(StoreUnavailable):
        jobs.submit(SPEC, TEXTS)
    with pytest.raises(StoreUnavailable):
        jobs.tick()
    assert [path.name for path in runs().iterdir() if path.is_dir()] == [folder.name]
    (folder / "go").touch()
    for child in jobs.supervisor.children.values():
        child.wait()
    postgresql.begin()
    until(jobs, lambda job: job.status == "done")
    assert jobs.all()[0].exit_code == 0


def test_a_server_that_goes_away_between_start_and_storing_costs_no_second_start(
    jobs: Jobs, postgresql: Any, outage: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = jobs.submit(SPEC, TEXTS).run_folder
    launch = jobs.supervisor._launch

    def launch_and_lose(job: Job) -> int | str:
        outage()
        return launch(job)

    monkeypatch.setattr(jobs.supervisor, "_launch", launch_and_lose)
    with pytest.raises(StoreUnavailable):
        jobs.tick()
    postgresql.begin()
    assert (jobs.all()[0].status, jobs.all()[0].pid) == ("running", None)
    until(jobs, lambda job: job.pid is not None)
    (folder / "go").touch()
    until(jobs, lambda job: job.status == "done")
    assert (runs() / "begun").read_text() == "once "


def test_a_server_that_is_not_there_is_named_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me:secret@/db?host=/nowhere")
    store = Store()
    with pytest.raises(StoreUnavailable) as error, store.read():
        pass
    assert str(error.value) == connections.SILENT
