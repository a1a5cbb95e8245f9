"""The store: what outlives a session and a crash, in a database.

SQLite in WAL mode in `crosslight.db` in the folder of the store, or the database that DATABASE_URL names. PostgreSQL
needs the package psycopg.
"""

import os
import shlex
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import JSON, create_engine, event
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from explainers.errors import ExplanationError
from explainers.training.artifacts import store as folder
from explainers.training.fit_spec import FitSpec

URL_VARIABLE = "DATABASE_URL"
FILE = "crosslight.db"
PATIENCE = 10_000  # milliseconds for which a writer waits for another one

Status = Literal["waiting", "running", "done", "failed", "cancelled"]


class Base(DeclarativeBase):
    type_annotation_map = {list[str]: JSON}  # noqa: RUF012 (SQLAlchemy's own form)


class Job(Base):
    """A training in a process of its own. Moments are seconds since 1970, `folder` holds texts, log and checkpoint."""

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
    """Opens the database and makes the tables that are missing. Raises `ExplanationError` if that is not possible."""

    def __init__(self, url: str = "") -> None:
        try:
            self.engine = create_engine(url or default_url())
            if self.engine.dialect.name == "sqlite":
                event.listen(self.engine, "connect", _prepared)
            Base.metadata.create_all(self.engine)
        except (ImportError, OSError, ArgumentError, NoSuchModuleError) as error:
            raise ExplanationError(f"The store cannot be opened: {error}. Check {URL_VARIABLE}.") from error
        except SQLAlchemyError as error:
            raise ExplanationError(f"The store cannot be opened: {getattr(error, 'orig', error)}.") from error
        self.sessions = sessionmaker(self.engine, expire_on_commit=False)

    def begin(self) -> AbstractContextManager[Session]:
        """A transaction: what happens in the block is kept if it ends well, and else undone."""
        return self.sessions.begin()

    def close(self) -> None:
        self.engine.dispose()


def default_url() -> str:
    """As DATABASE_URL says, in SQLAlchemy's spelling, or the file in the store's folder, which is made."""
    url = os.environ.get(URL_VARIABLE, "")
    scheme, separator, rest = url.partition("://")
    if url:
        return f"postgresql+psycopg://{rest}" if scheme in ("postgres", "postgresql") else scheme + separator + rest
    folder().mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{file()}"


def file() -> Path:
    return folder().resolve() / FILE


def exists() -> bool:
    """Whether anything was ever kept."""
    return bool(os.environ.get(URL_VARIABLE)) or file().is_file()


def _prepared(connection: Any, _record: object) -> None:
    """Readers do not wait for a writer, and writers wait for each other."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", f"busy_timeout={PATIENCE}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
