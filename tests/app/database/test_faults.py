"""What fails below the store becomes a sentence, and nothing that was kept is lost."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import event, select

from app.database import connections
from app.database.connections import StoreUnavailable
from app.store import Job, Store
from explainers.installation import STORE_VARIABLE
from explainers.training.spec import FitSpec

Opened = Callable[[], Store]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store" / "crosslight.db"


def job(**values: object) -> Job:
    return Job(
        **{"method": "aml", "model": "sst2", "variant": "mine", "texts": 20, "spec_json": "{}", "folder": ""} | values
    )


def keep(store: Store, **values: object) -> None:
    with store.begin() as session:
        session.add(job(**values))


def kept(store: Store) -> list[Job]:
    with store.read() as session:
        return list(session.scalars(select(Job)))


def reason(store: Store) -> str:
    with pytest.raises(StoreUnavailable) as error:
        keep(store)
    return str(error.value)


def test_a_damaged_file_is_named_and_a_new_one_begun_when_it_is_gone(
    opened: Opened, file: Path, tmp_path: Path
) -> None:
    file.parent.mkdir()
    file.write_bytes(b"This is no database. " * 1000)
    store = opened()
    sentence = reason(store)
    assert sentence == connections.DAMAGED.format(file="crosslight.db")
    assert str(tmp_path) not in sentence
    file.rename(tmp_path / "damaged.db")
    keep(store)  # without a restart
    assert len(kept(store)) == 1


def test_a_full_disk_is_named_and_what_was_kept_stays(opened: Opened) -> None:
    store = opened()
    keep(store)
    store.engine.dispose()
    event.listen(store.engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count=2"))
    with pytest.raises(StoreUnavailable, match="The disk of the server is full"):
        keep(store, error="x" * 100_000)
    assert len(kept(opened())) == 1


def test_a_locked_file_is_named(opened: Opened, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 20)
    store = opened()
    keep(store)
    writer = sqlite3.connect(file)
    writer.execute("BEGIN IMMEDIATE")
    assert reason(store) == connections.BUSY
    assert len(kept(store)) == 1  # a reader does not wait
    writer.close()
    keep(store)


def test_a_file_that_may_not_be_written_is_named(opened: Opened) -> None:
    store = opened()
    keep(store)
    store.engine.dispose()
    event.listen(store.engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only=ON"))
    assert reason(store) == connections.REFUSED.format(file="crosslight.db")


def test_a_folder_that_cannot_be_made_is_named(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "taken" / "store"))
    assert reason(opened()) == "The store's folder cannot be made: Not a directory. Check CROSSLIGHT_STORE."


def test_a_table_that_is_gone_is_made_anew(opened: Opened, file: Path) -> None:
    store = opened()
    keep(store)
    with sqlite3.connect(file) as other:
        other.execute("DROP TABLE trainings")
    reason(store)
    keep(store)


def test_bits_that_flip_in_the_file_end_in_a_sentence_or_in_nothing(opened: Opened, file: Path) -> None:
    first = opened()
    for _ in range(5):
        keep(first, spec_json=FitSpec("aml", "sst2").as_json(), folder="/somewhere")
    first.close()
    whole, chance = file.read_bytes(), random.Random(0)
    for _ in range(150):
        flipped = bytearray(whole)
        for _ in range(8):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        for beside in file.parent.glob("crosslight.db-*"):
            beside.unlink()
        file.write_bytes(flipped)
        store = Store()
        with suppress(StoreUnavailable):
            for kept_job in kept(store):
                assert kept_job.error is not None
            keep(store)
        store.close()


WRITER = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("UPDATE trainings SET error = 'written elsewhere'")
file.commit()
file.close()
"""


def test_a_second_store_of_a_process_leaves_the_locks_of_the_first(opened: Opened, file: Path) -> None:
    """SQLite's locks belong to the process: who opens and closes the file ends them, and the next process that goes
    takes the write-ahead log with it."""
    first = opened()
    keep(first)
    kept(opened())  # as the trainings, the annotations and the groups have a store each
    subprocess.run([sys.executable, "-c", WRITER, str(file)], check=True)
    assert Path(f"{file}-wal").exists()
    assert [kept_job.error for kept_job in kept(first)] == ["written elsewhere"]
