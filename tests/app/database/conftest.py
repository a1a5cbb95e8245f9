"""Databases for tests: SQLite, and a PostgreSQL server that lives in a folder of its own as long as the tests run."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from app.model_pool import DEVICE_VARIABLE
from app.store import URL_VARIABLE, Store
from explainers.installation import STORE_VARIABLE

DEBIAN = "/usr/lib/postgresql/*/bin"
SETTINGS = "-c listen_addresses= -c fsync=off -c log_min_messages=fatal"

Opened = Callable[[], Store]


@dataclass
class Server:
    """`run` calls one of PostgreSQL's programs, as a user that is not root, whom the server refuses."""

    programs: Path
    folder: Path
    user: str | None

    def run(self, program: str, *arguments: str) -> str:
        command = [str(self.programs / program), *arguments]
        rights = {"user": self.user, "group": self.user, "extra_groups": ()} if self.user else {}
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, **rights)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    def begin(self) -> "Server":
        options = f"{SETTINGS} -k {self.folder}"
        self.run("pg_ctl", "start", "-w", "-D", "data", "-l", "server.log", "-o", options)
        return self

    def end(self) -> None:
        self.run("pg_ctl", "stop", "-w", "-D", "data", "-m", "immediate")

    def query(self, database: str, statement: str) -> str:
        return self.run("psql", "-h", str(self.folder), "-U", "tests", "-d", database, "-tAqc", statement).strip()

    def url(self, database: str) -> str:
        return f"postgresql://tests@/{database}?host={self.folder}"


def programs() -> Path | None:
    """Where PostgreSQL's server is installed, the newest one."""
    places = [path for path in Path("/").glob(DEBIAN[1:]) if (path / "initdb").is_file()]
    places.sort(key=lambda path: int(path.parent.name))
    on_path = shutil.which("initdb")
    return places[-1] if places else Path(on_path).parent if on_path else None


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A running server without a network; skipped where PostgreSQL is not installed."""
    place = programs()
    if place is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is at most 107 characters long
    user = None
    if os.geteuid() == 0:
        user = "postgres" if any(account.pw_name == "postgres" for account in pwd.getpwall()) else "nobody"
        shutil.chown(folder, user)
    server = Server(place, folder, user)
    try:
        server.run("initdb", "-D", "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale", "C")
        yield server.begin()
        server.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def on_postgresql(postgresql: Server, numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a new database of the server, which the store uses in this test."""
    name = f"test{next(numbers)}"
    postgresql.query("postgres", f"CREATE DATABASE {name}")
    monkeypatch.setenv(URL_VARIABLE, postgresql.url(name))
    return name


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    for variable in (URL_VARIABLE, DEVICE_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, empty: None) -> str:
    """The test runs once with each."""
    if request.param == "postgresql":
        request.getfixturevalue("on_postgresql")
    return str(request.param)


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens the store as an app does; what was opened is closed at the end."""
    stores: list[Store] = []

    def open_store() -> Store:
        stores.append(Store())
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()
