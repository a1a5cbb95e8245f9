import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, inspect, select

from app.database import connections
from app.database.connections import make_tables
from app.store import Base, Job, Store, default_url
from explainers.training.spec import FitSpec

SPEC = FitSpec("aml", "sst2")
Opened = Callable[[], Store]
FIRST_VERSION = """CREATE TABLE trainings (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    created FLOAT NOT NULL, method VARCHAR NOT NULL, model VARCHAR NOT NULL, variant VARCHAR NOT NULL,
    texts INTEGER NOT NULL, spec_json VARCHAR NOT NULL, folder VARCHAR NOT NULL, status VARCHAR NOT NULL,
    pid INTEGER, exit_code INTEGER, error VARCHAR NOT NULL, started FLOAT, finished FLOAT
)"""  # as it was before trainings had owners
INSERT = """INSERT INTO trainings (created, method, model, variant, texts, spec_json, folder, status, error)
    VALUES (1.0, 'aml', 'sst2', 'mine', 20, '{"method": "aml", "model": "sst2"}', '/somewhere', 'failed',
    'It stopped.')"""


def kept(store: Store) -> list[Job]:
    with store.read() as session:
        return list(session.scalars(select(Job)))


def test_a_file_of_an_earlier_version_goes_on(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    file = sqlite3.connect(tmp_path / "store" / "crosslight.db")
    file.execute(FIRST_VERSION)
    file.execute(INSERT)
    file.commit()
    (job,) = kept(opened())
    assert (job.spec, job.error, job.owner, job.owner_name) == (SPEC, "It stopped.", "", "")
    file.execute(INSERT)  # an app of the earlier version goes on as well
    file.commit()
    file.close()
    assert len(kept(opened())) == 2


def test_a_database_of_an_earlier_version_goes_on(on_postgresql: str, opened: Opened, postgresql: Any) -> None:
    first = FIRST_VERSION.replace("INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "SERIAL PRIMARY KEY")
    for statement in (first, INSERT):
        postgresql.query(on_postgresql, statement)
    (job,) = kept(opened())
    assert (job.spec, job.error, job.owner) == (SPEC, "It stopped.", "")


@pytest.mark.usefixtures("database")
def test_apps_that_begin_at_once_make_one_table(opened: Opened) -> None:
    apps, failures, begin = [opened() for _ in range(6)], [], Barrier(6)

    def start(store: Store) -> None:
        begin.wait()
        try:
            kept(store)
        except Exception as error:  # a thread's exception would be lost
            failures.append(error)

    threads = [Thread(target=start, args=(store,)) for store in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.usefixtures("database")
def test_an_app_that_is_slower_sees_that_the_change_is_made(monkeypatch: pytest.MonkeyPatch, opened: Opened) -> None:
    """It asked before the quicker one had changed anything."""
    kept(opened())
    engine = create_engine(default_url())
    answers = iter([False, True, True])
    monkeypatch.setattr(connections, "_exists", lambda *_: next(answers))
    jobs = Base.metadata.tables["trainings"].to_metadata(MetaData())  # alone: other pages have tables, too
    missing, stale = connections._missing, iter([[jobs.columns["owner"]]])
    monkeypatch.setattr(connections, "_missing", lambda *given: next(stale, None) or missing(*given))
    make_tables(engine, jobs.metadata)
    engine.dispose()


@pytest.mark.usefixtures("database")
def test_a_change_that_fails_for_good_is_not_hidden(opened: Opened) -> None:
    kept(opened())
    metadata = MetaData()
    Table("trainings", metadata, Column("id", Integer, primary_key=True), Column("wrong", String, nullable=False))
    with opened().begin() as session:
        session.add(Job(method="a", model="b", variant="c", texts=1, spec_json="", folder=""))
    engine: Engine = create_engine(default_url())
    with pytest.raises(Exception, match=r"wrong|NOT NULL"):
        make_tables(engine, metadata)  # a column without a value for the rows that are there
    assert "wrong" not in {column["name"] for column in inspect(engine).get_columns("trainings")}
    engine.dispose()
