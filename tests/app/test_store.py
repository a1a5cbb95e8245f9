import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import delete, select

from app import store as stores
from app.store import URL_VARIABLE, Job, Store, default_url
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.training.spec import FitSpec

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
    for store in stores:
        store.close()


def job(**values: object) -> Job:
    return Job(
        **{"method": "aml", "model": "sst2", "variant": "mine", "texts": 20, "spec_json": "{}", "folder": ""} | values
    )


def kept(store: Store) -> list[Job]:
    with store.read() as session:
        return list(session.scalars(select(Job)))


def test_what_is_kept_is_there_when_the_store_is_opened_again(opened: Opened) -> None:
    spec = FitSpec("aml", "a model with spaces; and $signs", data="é", settings=(("epochs", "2"),))
    with opened().begin() as session:
        session.add(job(spec_json=spec.as_json(), folder="/somewhere"))
    with opened().begin() as session:
        stored = session.scalars(select(Job)).one()
    assert (stored.method, stored.spec, stored.folder, stored.status) == ("aml", spec, "/somewhere", "waiting")
    assert (stored.pid, stored.exit_code, stored.error, stored.finished) == (None, None, "", None)
    assert stored.active
    assert stored.created > 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "It is not JSON."),
        ('["python", "-m", "explainers", "fit", "aml"]', "It must be an object, not ['python', "),
        ('{"method": "aml"}', "The field model is missing."),
        ('{"method": "aml", "model": "sst2", "seeds": 0}', "The field seeds must be at least 1, not 0."),
        ('{"method": "aml", "model": "sst2", "colour": "red"}', "There is no field colour."),
    ],
    ids=["nothing", "a command", "a part", "out of bounds", "an unknown field"],
)
def test_a_spec_that_cannot_be_read_is_a_sentence(content: str, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        _ = job(spec_json=content).spec
    assert str(raised.value).startswith(f"The training's spec cannot be read. {sentence}")


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


def pragma(store: Store, name: str) -> int:
    with store.read() as session:
        value: int = session.connection().exec_driver_sql(f"PRAGMA {name}").scalar_one()
    return value


def test_what_is_confirmed_is_on_the_disk(opened: Opened) -> None:
    assert pragma(opened(), "synchronous") == 2  # FULL: each commit waits for the disk
    assert pragma(Store(synchronous="NORMAL"), "synchronous") == 1


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_no_other_account_may_read_anything_in_the_store(opened: Opened, umask: int) -> None:
    before = os.umask(umask)
    try:
        with opened().begin() as session:
            session.add(job())
            session.flush()
            files = list(stores.folder().rglob("*"))
            assert {path.name for path in files} == {"crosslight.db", "crosslight.db-wal", "crosslight.db-shm"}
            assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o600"] * 3
        assert stores.folder().stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_a_store_that_others_could_read_is_closed_to_them(opened: Opened) -> None:
    """As earlier versions made it."""
    run = stores.folder() / "runs" / "aml-mine"
    run.mkdir(parents=True)
    (run / "texts.txt").write_text("a private text")
    for path in (stores.folder(), *stores.folder().rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    kept(opened())
    assert all(path.stat().st_mode & 0o077 == 0 for path in (stores.folder(), *stores.folder().rglob("*")))
    assert (run / "texts.txt").read_text() == "a private text"


def test_a_store_that_stays_readable_is_reported(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stores.folder().mkdir()
    stores.folder().chmod(0o755)  # whatever the umask is
    monkeypatch.setattr(Path, "chmod", lambda *_args: None)  # as on a file system without rights
    kept(opened())
    assert "Other accounts of this machine may read the store" in caplog.text


def stored_bytes() -> bytes:
    return b"".join(path.read_bytes() for path in stores.folder().rglob("*") if path.is_file())


def add_secret(store: Store) -> None:
    with store.begin() as session:
        session.add(job(error="a text that nobody may keep " * 300))  # over several pages


def test_a_deleted_text_is_in_no_file_of_the_store(opened: Opened) -> None:
    store = opened()
    add_secret(store)
    assert b"nobody may keep" in stored_bytes()
    with store.begin() as session:
        session.execute(delete(Job))
    assert b"nobody may keep" not in stored_bytes()


def test_a_deletion_does_not_wait_for_readers_and_is_finished_after_them(opened: Opened) -> None:
    store, reader = opened(), opened()
    add_secret(store)
    with reader.read() as reading:
        assert reading.scalars(select(Job)).one().error
        begun = time.monotonic()
        with store.begin() as session:
            session.delete(session.scalars(select(Job)).one())
        assert time.monotonic() - begun < 9
        assert b"nobody may keep" in stored_bytes()  # the reader still needs it
    kept(store)
    assert b"nobody may keep" not in stored_bytes()


def test_what_a_killed_app_had_deleted_is_removed_at_the_next_start(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = opened()
    add_secret(killed)
    monkeypatch.setattr(stores.connections, "truncate_log", lambda _engine: False)
    with killed.begin() as session:
        session.execute(delete(Job))
    assert b"nobody may keep" in stored_bytes()
    monkeypatch.undo()
    monkeypatch.setenv(STORE_VARIABLE, str(Path(killed.engine.url.database or "").parent))
    kept(opened())
    assert b"nobody may keep" not in stored_bytes()
