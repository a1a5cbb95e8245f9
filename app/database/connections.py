"""How a database is connected to, and how transactions of several apps keep out of each other's way."""

import sqlite3
import time
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

PATIENCE = 10_000  # milliseconds for which a writer waits for another one
POSTGRESQL = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 30}  # seconds, milliseconds, seconds


def connecting_engine(address: URL) -> Engine:
    """Connects when it is first used. With the execution option `writes`, a transaction waits for other writers."""
    backend = address.get_backend_name()
    settings = {name: value for name, value in POSTGRESQL.items() if name not in address.query}
    settings = settings if backend == "postgresql" else {}
    engine = create_engine(address, pool_pre_ping=True, hide_parameters=True, connect_args=settings)
    event.listen(engine, "begin", _begin)
    if backend == "sqlite":
        event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    """Readers do not wait for a writer, and writers wait for each other."""
    connection.isolation_level = None  # the driver begins no transactions, `_begin` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={PATIENCE}")
    _turn_to_wal(cursor)
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
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
