"""The store: what outlives a session and a crash, in a database.

SQLite in WAL mode in `crosslight.db` in the folder of the store, or the database that DATABASE_URL names. PostgreSQL
needs the package psycopg. Nothing is opened before the first transaction, and a failed one opens anew: a store that is
mended while the app runs is used again without a restart.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal

from sqlalchemy import JSON, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from app.database import connections
from explainers.errors import ExplanationError
from explainers.evaluation.set_spec import SetSpec, read_set_spec
from explainers.installation import PRIVATE, keep_private, make_store
from explainers.installation import store as folder
from explainers.training.spec import FitSpec, read_spec

log = logging.getLogger(__name__)

URL_VARIABLE = "DATABASE_URL"
FILE = "crosslight.db"
SPEC = "spec.json"  # in a training's folder
PRIVATE_FILE = 0o600
NOT_PRIVATE = (
    "Other accounts of this machine may read the store in %s: it belongs to another account, or its file system knows "
    "no rights."
)

JobKind = Literal["fit", "evaluate"]
Status = Literal["waiting", "running", "done", "failed", "cancelled"]


class Base(DeclarativeBase):
    type_annotation_map = {list[str]: JSON}  # noqa: RUF012 (SQLAlchemy's own form)


class Job(Base):
    """A training, or an evaluation of a set, in a process of its own. Moments are seconds since 1970, `folder` holds
    its data, log and what it has done so far; `spec_json` is what the process is started from. An evaluation has its
    preset as `method` and the name of its data as `variant`.

    `owner` is the `Person.id` of who asked for it and `owner_name` the name to show, both empty without login."""

    __tablename__ = "trainings"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 (a number is never given twice)

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[float] = mapped_column(default=time.time)
    method: Mapped[str]
    model: Mapped[str]
    variant: Mapped[str]
    texts: Mapped[int]
    spec_json: Mapped[str]
    folder: Mapped[str]
    status: Mapped[str] = mapped_column(default="waiting")
    pid: Mapped[int | None]
    exit_code: Mapped[int | None]
    error: Mapped[str] = mapped_column(default="")
    started: Mapped[float | None]
    finished: Mapped[float | None]
    owner: Mapped[str] = mapped_column(default="", server_default="")
    owner_name: Mapped[str] = mapped_column(default="", server_default="")
    kind: Mapped[str] = mapped_column(default="fit", server_default="fit")  # the command: fit or evaluate

    @property
    def active(self) -> bool:
        return self.status in ("waiting", "running")

    @property
    def run_folder(self) -> Path:
        return Path(self.folder)

    @property
    def spec(self) -> FitSpec:
        """The specification of a training. Raises `ExplanationError` with a sentence if the stored JSON is none."""
        return read_spec(self.spec_json)

    @property
    def set_spec(self) -> SetSpec:
        """The specification of an evaluation. Raises `ExplanationError` with a sentence if the stored JSON is none."""
        return read_set_spec(self.spec_json)

    @property
    def checked_json(self) -> str:
        """What the process is started from. Raises `ExplanationError` with a sentence if it is no spec."""
        return self.set_spec.as_json() if self.kind == "evaluate" else self.spec.as_json()

    @property
    def arguments(self) -> list[str]:
        """What follows `python -m explainers` in its process, and tells it from all others."""
        return [self.kind, "--spec", str(self.run_folder / SPEC)]


class Store:
    """A database and its transactions. Raises `ExplanationError` if DATABASE_URL names none."""

    def __init__(self, url: str = "", synchronous: connections.Synchronous = "FULL") -> None:
        self.own_folder = not (url or os.environ.get(URL_VARIABLE))
        try:
            address = make_url(url or default_url())
            self.engine = connections.connecting_engine(address, synchronous)
        except (ImportError, NoSuchModuleError) as error:
            raise ExplanationError(f"The store cannot be opened: {error}. Check {URL_VARIABLE}.") from error
        except (ArgumentError, ValueError) as error:  # the message may hold a part of the password
            raise ExplanationError(
                f"The store cannot be opened: {URL_VARIABLE} is not the address of a database. "
                "Write it as postgresql://user:password@host/database."
            ) from error
        self.file = Path(address.database or FILE).name
        self.readers = sessionmaker(self.engine, expire_on_commit=False)
        self.writers = sessionmaker(self.engine.execution_options(writes=True), expire_on_commit=False)
        self.preparing, self.ready = Lock(), False
        self.sqlite = address.get_backend_name() == "sqlite"
        self.deleted = self.sqlite  # whether the log may hold what was deleted; at first by an earlier process
        event.listen(self.engine, "after_cursor_execute", self._note_deletion)

    def begin(self) -> AbstractContextManager[Session]:
        """A transaction: what happens in the block is kept if it ends well, and else undone. Writers wait for each
        other. Raises `StoreUnavailable` with a sentence."""
        return self._transaction(self.writers)

    def read(self) -> AbstractContextManager[Session]:
        """A transaction that only reads and waits for nobody. Raises `StoreUnavailable` with a sentence."""
        return self._transaction(self.readers)

    @contextmanager
    def _transaction(self, sessions: sessionmaker[Session]) -> Iterator[Session]:
        try:
            self._make_ready()
            with sessions.begin() as session:
                yield session
            self._forget_deleted()
        except (SQLAlchemyError, *connections.UNREADABLE) as error:
            if not isinstance(error, (DBAPIError, *connections.UNREADABLE)):
                log.exception("a transaction failed")
            self.ready = False
            self.engine.dispose()  # the next transaction opens what may have been replaced
            raise connections.StoreUnavailable(connections.sentence(error, self.file)) from error

    def _make_ready(self) -> None:
        with self.preparing:
            if self.ready:
                return
            if self.own_folder:
                make_folder()
                make_file()
            connections.make_tables(self.engine, Base.metadata)
            self.ready = True

    def _note_deletion(self, _connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        self.deleted = self.deleted or (self.sqlite and statement.lstrip()[:6].upper() == "DELETE")

    def _forget_deleted(self) -> None:
        """Removes from the log what was deleted; while others read, the next transaction tries it again."""
        if self.deleted:
            try:
                self.deleted = not connections.truncate_log(self.engine)
            except (SQLAlchemyError, sqlite3.Error):
                log.debug("the log was not truncated", exc_info=True)

    def close(self) -> None:
        if self.ready:
            self._forget_deleted()
        self.engine.dispose()


def default_url() -> str:
    """As DATABASE_URL says, in SQLAlchemy's spelling, or the file in the store's folder."""
    url = os.environ.get(URL_VARIABLE, "")
    scheme, separator, rest = url.partition("://")
    if url:
        return f"postgresql+psycopg://{rest}" if scheme in ("postgres", "postgresql") else scheme + separator + rest
    return f"sqlite:///{file()}"


def make_folder() -> None:
    """Makes the folder of the store, for its owner alone, with all that an earlier version left in it. Raises
    `StoreUnavailable` if that is not possible."""
    try:
        private = keep_private(make_store(), PRIVATE)
        for path in folder().rglob("*"):
            if not path.is_symlink():
                keep_private(path, PRIVATE if path.is_dir() else PRIVATE_FILE)
        if not private:
            log.warning(NOT_PRIVATE, folder().resolve())
    except OSError as error:
        reason = f"The store's folder cannot be made: {error.strerror}. Check CROSSLIGHT_STORE."
        raise connections.StoreUnavailable(reason) from error


def make_file() -> None:
    """Makes the database, for its owner alone; SQLite gives its other files the same rights.

    One that is there is not opened: to close it would end the locks that this process holds on it for SQLite, and
    another process would remove the write-ahead log under its eyes.
    """
    try:
        os.close(os.open(file(), os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    except FileExistsError:
        return
    except OSError as error:
        raise connections.StoreUnavailable(connections.REFUSED.format(file=FILE)) from error


def file() -> Path:
    return folder().resolve() / FILE


def exists() -> bool:
    """Return whether anything was ever kept."""
    return bool(os.environ.get(URL_VARIABLE)) or file().is_file()
