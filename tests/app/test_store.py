import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import select

from app import store as stores
from app.store import URL_VARIABLE, Job, Store, default_url
from explainers.errors import ExplanationError
from explainers.training.artifacts import STORE_VARIABLE

Opened = Callable[..., Store]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(URL_VARIABLE, raising=False)


@pytest.fixture
def opened() -> Iterator[Opened]:
    stores: list[Store] = []

    def open_store(url: str = "") -> Store:
        stores.append(Store(url))
        return stores[-1]

    yield open_store
    for each in stores:
        each.close()


def job(**values: object) -> Job:
    return Job(
        **{"method": "aml", "model": "sst2", "variant": "mine", "texts": 20, "command": [], "folder": ""} | values
    )


def kept(store: Store) -> list[Job]:
    with store.read() as session:
        return list(session.scalars(select(Job)))


def test_what_is_kept_is_there_when_the_store_is_opened_again(opened: Opened) -> None:
    command = ["python", "-c", "a text with spaces; and $signs", "é"]
    with opened().begin() as session:
        session.add(job(command=command, folder="/somewhere"))
    with opened().begin() as session:
        stored = session.scalars(select(Job)).one()
    assert (stored.method, stored.command, stored.folder, stored.status) == ("aml", command, "/somewhere", "waiting")
    assert (stored.pid, stored.exit_code, stored.error, stored.finished) == (None, None, "", None)
    assert stored.active
    assert stored.created > 0


def test_what_failed_half_way_is_undone(opened: Opened) -> None:
    store = opened()

    def fail_half_way() -> None:
        with store.begin() as session:
            session.add(job())
            session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    with store.begin() as session:
        assert not session.scalars(select(Job)).all()


def test_a_number_is_never_given_twice(opened: Opened) -> None:
    store = opened()
    numbers = []
    for _ in range(2):
        with store.begin() as session:
            one = job()
            session.add(one)
            session.flush()
            numbers.append(one.id)
            session.delete(one)
    assert numbers == [1, 2]


def test_it_writes_ahead_so_that_readers_do_not_wait(opened: Opened, tmp_path: Path) -> None:
    writer, reader = opened(), opened()
    assert not kept(reader)
    connection = sqlite3.connect(tmp_path / "store" / "crosslight.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    with writer.begin() as session:
        session.add(job())
        session.flush()
        assert not kept(reader)


def test_many_threads_write_at_once(opened: Opened) -> None:
    store = opened()

    def write() -> None:
        for _ in range(10):
            with store.begin() as session:
                session.add(job())

    threads = [Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.begin() as session:
        assert len(session.scalars(select(Job)).all()) == 80


def test_another_database_can_be_named(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path / 'other.db'}")
    assert stores.exists()
    kept(opened())
    assert (tmp_path / "other.db").is_file()
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_is_understood(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv(URL_VARIABLE, f"{scheme}://me:secret@db/crosslight")
    assert default_url() == "postgresql+psycopg://me:secret@db/crosslight"


def test_nothing_is_made_before_something_is_kept(opened: Opened, tmp_path: Path) -> None:
    assert not stores.exists()
    assert not (tmp_path / "store").exists()
    store = opened()
    assert not stores.exists()
    kept(store)
    assert stores.exists()


@pytest.mark.parametrize("url", ["nonsense", "martian://db/x", "postgresql://me:secret@db:port/x"])
def test_a_store_that_cannot_be_opened_is_told_in_a_sentence(opened: Opened, url: str) -> None:
    with pytest.raises(ExplanationError, match=r"The store cannot be opened: .+\.") as error:
        opened(url)
    assert "secret" not in str(error.value)


def test_without_its_package_postgresql_is_told_in_a_sentence(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me:secret@db/crosslight")
    with pytest.raises(ExplanationError, match="psycopg") as error:
        opened()
    assert "secret" not in str(error.value)
