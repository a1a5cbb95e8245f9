"""The store: what outlives a session and a crash, in a database.

SQLite in WAL mode in `crosslight.db` in the folder of the store, or the database that DATABASE_URL names. PostgreSQL
needs the package psycopg. Nothing is opened before the first transaction, and a failed one opens anew: a store that is
mended while the app runs is used again without a restart.
"""

import logging
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal

from sqlalchemy import JSON, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from app.database.connections import connecting_engine
from app.database.faults import UNREADABLE, StoreUnavailable, sentence
from app.database.schema import make_tables
from explainers.errors import ExplanationError
from explainers.training.artifacts import store as folder
from explainers.training.fit_spec import FitSpec

log = logging.getLogger(__name__)

URL_VARIABLE = "DATABASE_URL"
FILE = "crosslight.db"

Status = Literal["waiting", "running", "done", "failed", "cancelled"]


class Base(DeclarativeBase):
    type_annotation_map = {list[str]: JSON}  # noqa: RUF012 (SQLAlchemy's own form)


class Job(Base):
    """A training in a process of its own. Moments are seconds since 1970, `folder` holds texts, log and checkpoint.

    `owner` is the `Person.id` of who asked for it and `owner_name` the name to show, both empty without login."""

    __tablename__ = "jobs"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 (a number is never given twice)

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[float] = mapped_column(default=time.time)
    method: Mapped[str]
    model: Mapped[str]
    variant: Mapped[str]
    texts: Mapped[int]
    command: Mapped[list[str]]
    folder: Mapped[str]
    status: Mapped[str] = mapped_column(default="waiting")
    pid: Mapped[int | None]
    exit_code: Mapped[int | None]
    error: Mapped[str] = mapped_column(default="")
    started: Mapped[float | None]
    finished: Mapped[float | None]
    owner: Mapped[str] = mapped_column(default="", server_default="")
    owner_name: Mapped[str] = mapped_column(default="", server_default="")

    @property
    def active(self) -> bool:
        return self.status in ("waiting", "running")

    @property
    def run_folder(self) -> Path:
        return Path(self.folder)

    @property
    def spec(self) -> FitSpec:
        """The training that the command starts. Raises `ExplanationError` if it starts none."""
        return FitSpec.from_arguments(self.command[self.command.index("fit") :])

    @property
    def typed(self) -> str:
        """The command as a person would type it."""
        return shlex.join(["python", *self.command[1:]])


class Store:
    """A database and its transactions. Raises `ExplanationError` if DATABASE_URL names none."""

    def __init__(self, url: str = "") -> None:
        self.own_folder = not (url or os.environ.get(URL_VARIABLE))
        try:
            address = make_url(url or default_url())
            self.engine = connecting_engine(address)
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
        except (SQLAlchemyError, *UNREADABLE) as error:
            if not isinstance(error, (DBAPIError, *UNREADABLE)):
                log.exception("a transaction failed")
            self.ready = False
            self.engine.dispose()  # the next transaction opens what may have been replaced
            raise StoreUnavailable(sentence(error, self.file)) from error

    def _make_ready(self) -> None:
        with self.preparing:
            if self.ready:
                return
            if self.own_folder:
                make_folder()
            make_tables(self.engine, Base.metadata)
            self.ready = True

    def close(self) -> None:
        self.engine.dispose()


def default_url() -> str:
    """As DATABASE_URL says, in SQLAlchemy's spelling, or the file in the store's folder."""
    url = os.environ.get(URL_VARIABLE, "")
    scheme, separator, rest = url.partition("://")
    if url:
        return f"postgresql+psycopg://{rest}" if scheme in ("postgres", "postgresql") else scheme + separator + rest
    return f"sqlite:///{file()}"


def make_folder() -> None:
    """Makes the folder of the store. Raises `StoreUnavailable` if that is not possible."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"The store's folder cannot be made: {error.strerror}. Check CROSSLIGHT_STORE."
        raise StoreUnavailable(reason) from error


def file() -> Path:
    return folder().resolve() / FILE


def exists() -> bool:
    """Whether anything was ever kept."""
    return bool(os.environ.get(URL_VARIABLE)) or file().is_file()
