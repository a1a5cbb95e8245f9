"""What is wrong with the database, as a sentence for the person in front of the page: no path, no address, no SQL."""

import json
import sqlite3

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from explainers.errors import ExplanationError

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


def sentence(error: Exception, file: str) -> str:
    """Why the database failed and what to do; `file` is the name of SQLite's file."""
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
