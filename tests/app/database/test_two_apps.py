"""Two apps on one database: nothing starts twice, and each sees what the other does."""

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest

from app.database import connections
from app.database.connections import StoreUnavailable
from app.store import Job, Store
from app.train import processes
from app.train.jobs import Jobs, runs
from explainers.datasets.example import Example
from explainers.training.spec import FitSpec

PATIENCE = 120  # seconds
SPEC = FitSpec("aml", "owner/model", variant="mine")
TEXTS = tuple(Example(f"text {number}") for number in range(20))
PROLOGUE = """
import json, os, pathlib, sys, time
spec = json.loads(pathlib.Path(sys.argv[3]).read_text())
folder = pathlib.Path(spec["folder"])
def note(word): os.write(log, f"{word} {folder.name}\\n".encode())
log = os.open(folder.parent / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
note("begin")
"""
QUICK = 'time.sleep(0.1); note("end"); print(json.dumps({}))'
SLOW = "time.sleep(60)"

App = Callable[..., Jobs]


@pytest.fixture
def app(database: str) -> Iterator[App]:
    apps: list[Jobs] = []

    def open_app(script: str = QUICK) -> Jobs:
        apps.append(Jobs(Store(), (sys.executable, "-c", PROLOGUE + script)))
        return apps[-1]

    yield open_app
    for app in apps:
        for child in app.supervisor.children.values():
            processes.end(child.pid, at_once=True)
            child.wait()
        app.close()


def state(jobs: Jobs, number: int = 1) -> Job:
    return next(job for job in jobs.all() if job.id == number)


def until(jobs: Jobs, true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        jobs.tick()
        time.sleep(0.01)
    assert true(), [(job.id, job.status, job.error) for job in jobs.all()]


def over(jobs: Jobs) -> list[Job]:
    until(jobs, lambda: not any(job.active for job in jobs.all()))
    return jobs.all()


def begun() -> list[str]:
    """The words that the processes wrote, in their order."""
    file = runs() / "log"
    return file.read_text().splitlines() if file.is_file() else []


def test_a_training_is_queued_carried_out_resumed_and_deleted(app: App) -> None:
    jobs = app("sys.exit('It stopped.') if not spec['resume'] else print(json.dumps({'a': 1}))")
    folder = jobs.submit(SPEC, TEXTS).run_folder
    (failed,) = over(jobs)
    assert (failed.status, failed.exit_code, failed.error) == ("failed", 1, "It stopped.")
    jobs.resume(1)
    (done,) = over(jobs)
    assert (done.status, done.exit_code, processes.card(done)) == ("done", 0, {"a": 1})
    jobs.delete(1)
    assert (jobs.all(), folder.exists()) == ([], False)


def test_no_training_starts_twice_and_one_runs_at_a_time(app: App) -> None:
    apps = [app(), app()]
    for number in range(6):
        apps[number % 2].submit(replace(SPEC, variant=f"v{number}"), TEXTS)
    threads = [Thread(target=over, args=(jobs,)) for jobs in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert apps[0].counts() == {"done": 6}
    words = [line.split()[0] for line in begun()]
    assert words == ["begin", "end"] * 6


def test_each_sees_and_ends_the_other_s(app: App) -> None:
    first, second = app(SLOW), app(SLOW)
    first.submit(SPEC, TEXTS)
    until(first, lambda: bool(begun()))
    assert [job.status for job in second.all()] == ["running"]
    second.tick()
    assert len(begun()) == 1
    (pid,) = first.supervisor.children
    second.cancel(1)
    assert state(first).status == "cancelled"
    until(first, lambda: not processes.group_alive(pid))  # only its parent can bury it
    until(second, lambda: state(second).pid is None)


def test_an_app_that_crashed_before_the_start_leaves_the_training_to_the_next(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = app(), app()
    first.submit(SPEC, TEXTS)
    with monkeypatch.context() as patch:
        patch.setattr(processes, "start", crash)
        with pytest.raises(KeyboardInterrupt):
            first.tick()
    second.tick()
    assert (state(second).status, begun()) == ("running", [])  # the first may still be about to start it
    monkeypatch.setattr(processes, "STARTING", 0.0)
    assert over(second)[0].status == "done"
    assert len(begun()) == 2


def crash(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_app_that_crashed_after_the_start_leaves_the_process_to_the_next(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = app(SLOW), app(SLOW)
    first.submit(SPEC, TEXTS)
    launch = first.supervisor._launch

    def start_and_crash(job: Job) -> None:
        launch(job)
        raise KeyboardInterrupt

    monkeypatch.setattr(first.supervisor, "_launch", start_and_crash)
    with pytest.raises(KeyboardInterrupt):
        first.tick()
    (started,) = first.supervisor.children.values()
    until(second, lambda: state(second).pid == started.pid)
    second.cancel(1)
    assert started.wait(PATIENCE) != 0
    until(second, lambda: state(second).pid is None)
    assert len(begun()) <= 1


def test_a_store_that_fails_after_the_start_learns_of_the_process_later(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = app()
    jobs.submit(SPEC, TEXTS)
    launch, begin = jobs.supervisor._launch, jobs.store.begin

    def fail() -> None:
        raise StoreUnavailable("The database does not answer.")

    def launch_and_lose(job: Job) -> int | str:
        monkeypatch.setattr(jobs.store, "begin", fail)
        return launch(job)

    monkeypatch.setattr(jobs.supervisor, "_launch", launch_and_lose)
    with pytest.raises(StoreUnavailable):
        jobs.tick()
    assert (state(jobs).status, state(jobs).pid) == ("running", None)
    monkeypatch.setattr(jobs.store, "begin", begin)
    monkeypatch.setattr(processes, "STARTING", 0.0)
    assert over(jobs)[0].status == "done"
    assert len(begun()) == 2


def test_an_app_that_meets_another_one_at_its_first_beginning_asks_again() -> None:
    """Two apps that turn a new file to WAL at once: SQLite refuses one of them without waiting."""
    refused = sqlite3.OperationalError("database is locked")
    refused.sqlite_errorcode = sqlite3.SQLITE_BUSY
    cursor = Mock()
    cursor.execute.side_effect = [refused, refused, None]
    connections._turn_to_wal(cursor)
    assert cursor.execute.call_count == 3


def test_a_file_that_stays_locked_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 100)
    with closing(sqlite3.connect(tmp_path / "crosslight.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = Store(f"sqlite:///{tmp_path / 'crosslight.db'}")
        with pytest.raises(StoreUnavailable, match="keeps the store locked"), store.read():
            pass
        store.close()
