"""How a database is connected to, and how transactions of several apps keep out of each other's way."""

import sqlite3
import time
from functools import partial
from typing import Any, Literal

from sqlalchemy import URL, Connection, Engine, create_engine, event

PATIENCE = 10_000  # milliseconds for which a writer waits for another one
POSTGRESQL = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 30}  # seconds, milliseconds, seconds

Synchronous = Literal["FULL", "NORMAL"]


def connecting_engine(address: URL, synchronous: Synchronous = "FULL") -> Engine:
    """Connects when it is first used. With the execution option `writes`, a transaction waits for other writers.

    Of SQLite, `synchronous` decides whether a transaction that is confirmed is on the disk (`FULL`), or only after the
    next checkpoint (`NORMAL`).
    """
    backend = address.get_backend_name()
    settings = {name: value for name, value in POSTGRESQL.items() if name not in address.query}
    settings = settings if backend == "postgresql" else {}
    engine = create_engine(address, pool_pre_ping=True, hide_parameters=True, connect_args=settings)
    event.listen(engine, "begin", _begin)
    if backend == "sqlite":
        event.listen(engine, "connect", partial(_prepare, synchronous))
    return engine


def _prepare(synchronous: Synchronous, connection: Any, _record: object) -> None:
    """Readers do not wait for a writer, writers wait for each other, and what is deleted is overwritten."""
    connection.isolation_level = None  # the driver begins no transactions, `_begin` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={PATIENCE}")
    _turn_to_wal(cursor)
    for pragma in (f"synchronous={synchronous}", "secure_delete=ON", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _turn_to_wal(cursor: Any) -> None:
    """SQLite does not wait here as `busy_timeout` says: two that turn a new file at once may each hold what the other
    one needs, so the later one is refused at once, and asks again."""
    last = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    """A writer waits at its beginning, so that what it has read does not change before it writes."""
    writes = connection.get_execution_options().get("writes", False)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    elif writes and connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {PATIENCE}")


def truncate_log(engine: Engine) -> bool:
    """Moves what SQLite's write-ahead log holds into the database and empties the log, so that what was deleted is in
    neither. Returns False, at once, while another transaction still reads from the log."""
    with engine.connect() as connection:
        raw = connection.connection.cursor()  # the driver's own, because there is no checkpoint in a transaction
        try:
            raw.execute("PRAGMA busy_timeout=0")
            (busy, _, _) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            raw.execute(f"PRAGMA busy_timeout={PATIENCE}")
            raw.close()
    return not busy
