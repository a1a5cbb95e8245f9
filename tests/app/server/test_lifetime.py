"""The end of the server while comparisons are on their way."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from weakref import WeakSet

import psutil  # type: ignore[import-untyped]
import pytest

from app.load.client import Tab, opened
from app.load.server import Query, Watched, target
from app.server import lifetime
from app.server.lifetime import link_header
from app.streamlit_shims import DRAWING, INDEX, SCRIPTS

LONGEST = 60.0  # seconds
STARTING = 120.0
TABS = 2  # one computes, the other waits


@pytest.fixture
def server() -> Iterator[tuple[str, Query, Watched]]:
    with target("", "one-layer") as (address, query, process):
        assert process is not None
        yield address, query, process


async def tabs_computing(address: str, query: Query, then: signal.Signals, process: psutil.Process) -> float:
    """Opens tabs, each with its own text and many samples, sends the signal, and returns the seconds to the end."""
    async with AsyncExitStack() as stack:
        tabs: list[Tab] = []
        for number in range(TABS):
            text = f"Text number {number} {'has a good many words ' * 8}"
            tabs.append(await stack.enter_async_context(opened(address, {**query, "text": text, "samples": "5000"})))
            await tabs[-1].idle(0.25)
        # the last one may wait longer than any limit: one of them has to compute
        async with asyncio.timeout(STARTING):
            while not any(tab.sheet is not None and "running" in tab.sheet.statuses for tab in tabs):
                await asyncio.gather(*(tab.idle(0.25) for tab in tabs))
        started = time.monotonic()
        os.kill(process.pid, then)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() - started < LONGEST
            await asyncio.sleep(0.05)
        return time.monotonic() - started


@pytest.mark.slow
def test_a_signal_ends_the_server_while_comparisons_wait_and_compute(server: tuple[str, Query, Watched]) -> None:
    """SIGINT, which has the same handler, ends the servers of the browser tests."""
    address, query, watched = server
    seconds = asyncio.run(tabs_computing(address, query, signal.SIGTERM, watched.process))
    assert seconds < LONGEST


class Part:
    def __init__(self, name: str, *, broken: bool = False) -> None:
        self.name, self.broken, self.closed = name, broken, False

    def snapshot(self) -> dict[str, object]:
        return {self.name: 1}

    def close(self) -> None:
        self.closed = True
        if self.broken:
            raise OSError


def test_the_parts_tell_how_they_are_and_are_closed_also_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lifetime, "_parts", WeakSet())
    monkeypatch.setattr(lifetime, "_end", lambda: None)
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path))
    gone, broken, other = Part("gone"), Part("broken", broken=True), Part("other")
    for part in (gone, broken, other):
        lifetime.register(part)
    del gone, part

    async def serve() -> None:
        async with lifetime.lifespan(None):
            assert lifetime.snapshot() == {"broken": 1, "other": 1}
            while not list((tmp_path / "status").glob("*.json")):
                await asyncio.sleep(0.01)

    asyncio.run(serve())
    assert broken.closed
    assert other.closed
    assert not list((tmp_path / "status").glob("*.json"))


ROOT = Path(__file__).parents[3]


def test_the_header_names_existing_scripts_that_the_page_does_not_load() -> None:
    names = re.findall(r"<\./static/js/([\w.-]+\.js)>; rel=modulepreload", link_header())
    assert len(names) == len(set(names)) == link_header().count("modulepreload")
    assert all((SCRIPTS / name).is_file() for name in names)
    for kind in DRAWING:
        assert any(name.startswith(f"{kind}.") for name in names), kind  # Streamlit has renamed it
    assert not [name for name in names if name in INDEX.read_text(encoding="utf-8")]
    assert len(link_header()) < 1000  # nginx takes 4 kB of headers in all
