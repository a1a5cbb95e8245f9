"""The database of the store: connections, tables, and sentences about what is wrong with it.

Transactions of several apps keep out of each other's way. Tables are made where they are missing, and columns that an
earlier version did not have are added; of two apps that do so at once, the second sees that the first was quicker. A
sentence is for the person in front of the page: it has no path, no address and no SQL.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from sqlalchemy import URL, Column, Connection, Engine, MetaData, Table, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateColumn, CreateTable

from explainers.errors import ExplanationError

PATIENCE = 10_000  # milliseconds for which a writer waits for another one
POSTGRESQL = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 30}  # seconds, milliseconds, seconds

Synchronous = Literal["FULL", "NORMAL"]

FULL = "The disk of the server is full. Free some space, then try again."
DAMAGED = (
    "The file {file} in the store's folder is damaged. Move it away, with {file}-wal and {file}-shm if they are there; "
    "then the app begins a new one, without trainings, annotations and groups. Fitted weights lie in other files."
)
BUSY = "Another process keeps the store locked. Try again in a moment."
REFUSED = "{file} cannot be opened or written. Check the permissions of the store's folder."
FAULTY = "{file} cannot be read or written: the disk is full or reports an error. The log has the details."
SILENT = (
    "The database does not answer. Trainings that run go on, and what is stored is shown again when it is back. "
    "Check that it runs and that DATABASE_URL is right."
)
FORBIDDEN = "The user of DATABASE_URL has no right to the tables of the database. Grant it, then try again."
OTHER = "The store cannot be read or written. The log has the details."

UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError)  # what a damaged file raises besides the driver's errors
BY_SQLITE_CODE = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_READONLY: REFUSED,
    sqlite3.SQLITE_PERM: REFUSED,
    sqlite3.SQLITE_CANTOPEN: REFUSED,
    sqlite3.SQLITE_IOERR: FAULTY,
}
BY_SQLSTATE = {  # https://www.postgresql.org/docs/current/errcodes-appendix.html
    "53100": FULL,
    "55P03": BUSY,
    "40P01": BUSY,
    "42501": FORBIDDEN,
    "25006": FORBIDDEN,
}


class StoreUnavailable(ExplanationError):
    """The store cannot be read or written."""


def connecting_engine(address: URL, synchronous: Synchronous = "FULL") -> Engine:
    """Return an engine that connects when it is first used.

    With the execution option `writes`, a transaction waits for other writers. `synchronous` is for SQLite: whether what
    is confirmed is on the disk (`FULL`), or only after the next checkpoint (`NORMAL`).
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
    """Set SQLite so that readers do not wait for a writer, writers do, and what is deleted is overwritten."""
    connection.isolation_level = None  # the driver begins no transactions, `_begin` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={PATIENCE}")
    _turn_to_wal(cursor)
    for pragma in (f"synchronous={synchronous}", "secure_delete=ON", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _turn_to_wal(cursor: Any) -> None:
    """Turn the file to write-ahead logging, and ask again while another process does so.

    SQLite does not wait here as `busy_timeout` says: each of two may hold what the other needs, so it refuses at once.
    """
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
    """Begin a transaction; a writer waits here, so that what it has read does not change before it writes."""
    writes = connection.get_execution_options().get("writes", False)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    elif writes and connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {PATIENCE}")


def truncate_log(engine: Engine) -> bool:
    """Empty SQLite's write-ahead log into the database, so that what was deleted is in neither.

    Return False, at once, while another transaction still reads from the log.
    """
    with engine.connect() as connection:
        raw = connection.connection.cursor()  # the driver's own, because there is no checkpoint in a transaction
        try:
            raw.execute("PRAGMA busy_timeout=0")
            (busy, _, _) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            raw.execute(f"PRAGMA busy_timeout={PATIENCE}")
            raw.close()
    return not busy


def make_tables(engine: Engine, metadata: MetaData) -> None:
    """Create tables and add columns; a column that is added must be nullable or have a server default."""
    for table in metadata.sorted_tables:
        if not _exists(engine, table):
            _execute(engine, str(CreateTable(table).compile(engine)), partial(_exists, engine, table))
        for column in _missing(engine, table):
            _execute(engine, _addition(engine, table, column), partial(_has, engine, table, column))


def _exists(engine: Engine, table: Table) -> bool:
    return bool(inspect(engine).has_table(table.name))


def _has(engine: Engine, table: Table, column: Column[object]) -> bool:
    return column not in _missing(engine, table)


def _missing(engine: Engine, table: Table) -> list[Column[object]]:
    present = {column["name"] for column in inspect(engine).get_columns(table.name)}
    return [column for column in table.columns if column.name not in present]


def _addition(engine: Engine, table: Table, column: Column[object]) -> str:
    name = engine.dialect.identifier_preparer.format_table(table)
    return f"ALTER TABLE {name} ADD COLUMN {CreateColumn(column).compile(dialect=engine.dialect)}"


def _execute(engine: Engine, statement: str, done: Callable[[], bool]) -> None:
    try:
        with engine.execution_options(writes=True).begin() as connection:
            connection.exec_driver_sql(statement)
    except DBAPIError:
        if not done():
            raise


def sentence(error: Exception, file: str) -> str:
    """Return why the database failed and what to do; `file` is the name of SQLite's file."""
    return (_known(error) or OTHER).format(file=file)


def _known(error: Exception) -> str | None:
    if isinstance(error, UNREADABLE):
        return DAMAGED
    if isinstance(error, PoolTimeout):
        return BUSY
    if not isinstance(error, DBAPIError):
        return None
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return BY_SQLITE_CODE.get(code & 0xFF)  # the lower byte says which kind, the upper ones say more
    if str(error.orig).startswith("Could not decode to UTF-8"):
        return DAMAGED
    state = getattr(error.orig, "sqlstate", None)
    lost = error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
    return BY_SQLSTATE.get(state or "") or (SILENT if lost else None)
