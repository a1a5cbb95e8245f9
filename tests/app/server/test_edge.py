"""A real server with the edge in front of a small script, and a client that says what it likes."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from streamlit.web.server.app_discovery import discover_asgi_app
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from app.server import edge
from app.server.edge import allowed_hosts, security_headers
from app.server.lifetime import link_header
from app.streamlit_shims import STREAM, BackMsg, ForwardMsg
from explainers.errors import ExplanationError
from explainers.studies.speed import measure

SCRIPT = """
import streamlit as st

if __name__ == "__main__":

    @st.cache_resource
    def costly():
        return {"runs": 0}

    costly()["runs"] += 1
    st.text(f"run {costly()['runs']}")
else:
    from app.server import edge

    app = st.App(__file__, middleware=edge.middleware())
"""
ROOT = Path(__file__).parents[3]
PATIENCE = 30  # seconds
LARGEST = 32_000_000  # bytes of a message; a pasted image has at most 14 million
HEADERS = {name.lower(): value for name, value in security_headers().items()}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True)
class Served:
    """A running server."""

    port: int
    log: Path

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get(self, path: str, host: str | None = None, **headers: str) -> Answer:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request("GET", path, headers={"Host": self.host if host is None else host, **headers})
            response = connection.getresponse()
            return Answer(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read().decode(errors="replace"),
            )

    def open(self, origin: str | None, host: str | None = None) -> ClientConnection:
        """A WebSocket of Streamlit's protocol. Raises `InvalidStatus` if it is refused."""
        plug = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        try:
            return connect(
                f"ws://{host or self.host}{STREAM}",
                sock=plug,
                origin=origin,  # type: ignore[arg-type]
                subprotocols=["streamlit"],  # type: ignore[list-item]
                open_timeout=PATIENCE,
                max_size=None,
            )
        except InvalidStatus:
            plug.close()
            raise

    def window(self) -> ClientConnection:
        """As a browser opens it."""
        return self.open(f"http://{self.host}")


def shown(window: ClientConnection) -> str:
    """Runs the script once, and returns the text that it shows."""
    window.send(BackMsg(rerun_script={}).SerializeToString())
    text, end = "", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        message = ForwardMsg()
        message.ParseFromString(bytes(window.recv(timeout=PATIENCE)))  # type: ignore[arg-type]
        if message.WhichOneof("type") == "delta" and message.delta.new_element.WhichOneof("type") == "text":
            text = message.delta.new_element.text.body
        if message.WhichOneof("type") == "script_finished":
            return text
    raise TimeoutError("the script did not end")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "entry.py").write_text(SCRIPT, encoding="utf-8")
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")  # the settings of the app
    port = measure.free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CROSSLIGHT_HOSTS": "App.example.org, *.example.net"}
    command = [sys.executable, "-m", "streamlit", "run", "entry.py", "--server.headless=true"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--server.port={port}"], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        measure.wait_for(port)
        yield Served(port, folder / "log")
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/favicon.png", "/methods", "/no/such/page.js"])
def test_every_answer_has_the_headers(served: Served, path: str) -> None:
    answer = served.get(path)
    assert HEADERS.items() <= answer.headers.items()
    assert "unsafe-eval" not in security_headers()["Content-Security-Policy"]


def test_the_page_names_the_scripts_that_its_first_elements_need(served: Served) -> None:
    assert link_header() in served.get("/").headers["link"]
    assert "link" not in served.get("/_stcore/health").headers


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:1",
        "LOCALHOST.:8501",
        "127.0.0.1",
        "[::1]:8501",
        "app.example.org",
        "a.b.example.net:443",
    ],
)
def test_allowed_names_are_answered_with_any_port(served: Served, host: str) -> None:
    assert served.get("/_stcore/health", host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "example.net",
        "evilexample.net",
        "app.example.org@evil.example",
        "",
        "a b",
    ],
)
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/_stcore/host-config"])
def test_other_names_are_refused_with_a_sentence(served: Served, host: str, path: str) -> None:
    answer = served.get(path, host)
    assert answer.status == 400
    assert HEADERS.items() <= answer.headers.items()
    assert "CROSSLIGHT_HOSTS" in answer.text


def test_a_page_of_another_address_reads_nothing(served: Served) -> None:
    other = f"http://127.0.0.1:{served.port + 1}"
    assert served.get("/_stcore/health", Origin=other).status == 403
    assert served.get("/_stcore/health", Origin=f"http://{served.host}").status == 200


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/metrics/"])
def test_metrics_are_closed(served: Served, path: str) -> None:
    assert served.get(path).status == 404


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 403),
        ("null", 403),
        ("http://evil.example", 403),
        ("http://localhost:{port}", 403),  # another name is another site, with storage of its own
        ("http://127.0.0.1:{other}", 403),
        ("http://127.0.0.1", 403),
        ("file://127.0.0.1:{port}", 403),
        ("http://evil.example?127.0.0.1:{port}", 403),
    ],
)
def test_a_connection_from_another_address_is_refused(served: Served, origin: str | None, status: int) -> None:
    if origin is not None:
        origin = origin.format(port=served.port, other=served.port + 1)
    with pytest.raises(InvalidStatus) as failure:
        served.open(origin)
    assert failure.value.response.status_code == status


def test_a_name_that_points_here_opens_no_connection(served: Served) -> None:
    with pytest.raises(InvalidStatus) as failure:
        served.open("http://evil.example", host="evil.example")
    assert failure.value.response.status_code == 400


@pytest.mark.parametrize("address", ["app.example.org", "127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_the_own_page_opens_a_connection(served: Served, address: str) -> None:
    host = address.format(port=served.port)
    with served.open(f"http://{host}", host=host) as window:
        assert shown(window).startswith("run ")


def test_one_tab_cannot_clear_what_all_share(served: Served) -> None:
    with served.window() as window:
        runs = int(shown(window).removeprefix("run "))
        window.send(BackMsg(clear_cache=True).SerializeToString())
        assert shown(window) == f"run {runs + 1}"
    assert served.log.read_text().count("refused a message: clear_cache") == 1


@pytest.mark.parametrize("frame", ["text", b"\xff\xff\xff"])
def test_what_is_no_message_ends_the_connection_without_a_traceback(served: Served, frame: str | bytes) -> None:
    with served.window() as window:
        shown(window)
        window.send(frame)
        if isinstance(frame, bytes):
            with pytest.raises(ConnectionClosed):
                shown(window)
        else:
            assert shown(window).startswith("run ")
    assert "Traceback" not in served.log.read_text()


def test_a_message_larger_than_any_pasted_image_ends_the_connection(served: Served) -> None:
    with served.window() as window:
        shown(window)
        with suppress(ConnectionClosed):  # while it is sent, or afterwards
            window.send(bytes(LARGEST + 1))
        with pytest.raises(ConnectionClosed):
            shown(window)
        assert window.close_code in (1009, 1006)  # the second where the end arrives while the message is still sent


@pytest.mark.parametrize("given", ["https://app.example.org", "app.example.org:8501", "*", "a.*.org", "a b", "app/x"])
def test_a_setting_that_is_no_name_ends_the_start_with_a_sentence(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("CROSSLIGHT_HOSTS", f"localhost,{given}")
    with pytest.raises(ExplanationError, match="without scheme, port and path"):
        allowed_hosts()
    with pytest.raises(SystemExit, match="without scheme"):
        edge.middleware()


@pytest.mark.parametrize("given", ["", ",", " , ,"])
def test_an_empty_setting_adds_no_name(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("CROSSLIGHT_HOSTS", given)
    assert allowed_hosts() == ("localhost", "127.0.0.1", "[::1]")


def test_the_entry_is_served_behind_the_edge() -> None:
    result = discover_asgi_app(ROOT / "streamlit_app.py")
    assert result.import_string == "streamlit_app:app"
    app = import_module("streamlit_app").app
    assert [middleware.cls for middleware in app._user_middleware] == [edge.Edge]
    assert app.script_path == ROOT / "streamlit_app.py"
