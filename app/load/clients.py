"""What a client takes away from the server that it measures: `python -m app.load.clients`.

The same tabs ask for one comparison after the other, once in Chromium by Playwright and once by the test's own client.
Counted are the processor seconds of the client's processes, the browser's included, from the moment at which every tab
has shown its first comparison, so that neither other work on the machine nor the start of the browser counts.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

import psutil  # type: ignore[import-untyped]

from app.load.client import opened
from app.load.measure import compared, text_of
from app.load.server import Query, Watched, target
from explainers.errors import ExplanationError
from explainers.installation import ASSETS
from explainers.studies.speed.measure import ARGUMENTS, chromium

TABS, SECONDS = (1, 4, 8), 10.0
PATIENCE = 60.0  # seconds
DRAWN_WITHIN = 300.0  # seconds; browsers that draw take the cores from the server
FILE = ASSETS / "docs" / "load" / "clients.json"
DONE = """text => [...document.querySelectorAll("*")].some(element => {
  const sheet = element.shadowRoot?.querySelector(".crosslight-sheet");
  const methods = [...(sheet?.querySelectorAll("[data-method]") ?? [])];
  return sheet?.querySelector(".text")?.textContent === text && methods.length > 0 &&
    methods.every(method => method.dataset.status === "done");
})"""

Ask = Callable[[str], Awaitable[None]]  # types a text into an open tab, and returns when all columns are there
Client = Callable[[str, Query, int], AbstractAsyncContextManager[list[Ask]]]  # address, query, number of tabs


@dataclass(frozen=True)
class ClientCost:
    """What so many open tabs cost: processor seconds of client and server, and MB of memory of the client."""

    client: str
    tabs: int
    seconds: float
    comparisons: int
    client_seconds: float
    server_seconds: float
    memory: float


@asynccontextmanager
async def own_tabs(address: str, query: Query, tabs: int) -> AsyncIterator[list[Ask]]:
    """Yield a function for every tab of the test's own client; raises `ExplanationError` for what is not done."""
    async with AsyncExitStack() as stack:

        async def one(number: int) -> Ask:
            first = text_of(tabs, number, -1)
            tab = await stack.enter_async_context(opened(address, {**query, "text": first}))

            async def seen(text: str) -> None:
                since = asyncio.get_running_loop().time()
                ended = await compared(tab, text, since=since, patience=PATIENCE)
                if ended.end != "done":
                    raise ExplanationError(" ".join(ended.sentences))

            async def ask(text: str) -> None:
                await tab.type(text)
                await seen(text)

            await seen(first)
            return ask

        yield await asyncio.gather(*(one(number) for number in range(tabs)))


@asynccontextmanager
async def chromium_tabs(address: str, query: Query, tabs: int, *preferred: str) -> AsyncIterator[list[Ask]]:
    """Yield a function for every tab, each in a browser context of its own; of the first browser that is installed."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(*preferred), args=ARGUMENTS)

        async def one(number: int) -> Ask:
            first = text_of(-tabs, number, -1)
            page = await (await browser.new_context(reduced_motion="reduce")).new_page()
            page.set_default_timeout(1000 * DRAWN_WITHIN)
            box = page.get_by_role("textbox", name="Text", exact=True)

            async def seen(text: str) -> None:
                await page.wait_for_function(DONE, arg=text, polling=100, timeout=1000 * DRAWN_WITHIN)

            async def ask(text: str) -> None:
                await box.fill(text)
                await box.press("Control+Enter")
                await seen(text)

            await page.goto(f"{address}?{urlencode({**query, 'text': first}, doseq=True)}")
            await seen(first)
            return ask

        yield await asyncio.gather(*(one(number) for number in range(tabs)))
        await browser.close()


CLIENTS: dict[str, Client] = {"own": own_tabs, "Chromium": chromium_tabs}


async def cost(client: str, tabs: int, address: str, query: Query, server: Watched) -> ClientCost:
    """Return what client and server use while every tab asks for one comparison after the other."""
    memory = memory_of(server)
    async with CLIENTS[client](address, query, tabs) as asks:
        before, begun = used(server), time.monotonic()

        async def repeated(number: int, ask: Ask) -> int:
            done = 0
            while not done or time.monotonic() < begun + SECONDS:
                await ask(text_of(tabs if client == "own" else -tabs, number, done))
                done += 1
            return done

        counts = await asyncio.gather(*(repeated(number, ask) for number, ask in enumerate(asks)))
        seconds, after, memory = time.monotonic() - begun, used(server), memory_of(server) - memory
    own, its = (end - start for end, start in zip(after, before, strict=True))
    return ClientCost(client, tabs, round(seconds, 1), sum(counts), round(own, 2), round(its, 2), round(memory))


def used(server: Watched) -> tuple[float, float]:
    """Return the processor seconds of the client with all that it has started, and of the server."""
    times = [process.cpu_times() for process in (*of_client(server), server.process)]
    own, its = times[:-1], times[-1]
    return sum(usage.user + usage.system for usage in own), its.user + its.system


def memory_of(server: Watched) -> float:
    """Return the MB of the client with all that it has started; what processes share counts once."""
    return sum(float(process.memory_full_info().pss) for process in of_client(server)) / 1e6


def of_client(server: Watched) -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *(child for child in own.children(recursive=True) if child != server.process)]


if __name__ == "__main__":
    with target("", "one-layer") as (address, query, server):
        if server is not None:
            costs = [asdict(asyncio.run(cost(name, tabs, address, query, server))) for name in CLIENTS for tabs in TABS]
            FILE.write_text(json.dumps({"cores": os.cpu_count(), "costs": costs}, indent=1), encoding="utf-8")
