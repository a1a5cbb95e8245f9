"""Eight people at once, each in a browser of their own, as `app.load.clients` plays them."""

import asyncio

import pytest
from playwright.async_api import Error as BrowserError

from app.load.clients import chromium_tabs
from app.load.measure import text_of
from app.load.server import target
from explainers.studies.speed.measure import LIGHT

TABS = 8


@pytest.mark.browser
@pytest.mark.crowded
def test_eight_tabs_each_see_all_columns_of_their_own_texts() -> None:
    """The load test's own client draws nothing; this is what its tabs stand for."""

    async def compare(address: str, query: dict[str, str | list[str]]) -> None:
        async with chromium_tabs(address, query, TABS, LIGHT) as asks:  # each has seen its first text when it is there
            await asyncio.gather(*(ask(text_of(0, number, 1)) for number, ask in enumerate(asks)))

    with target("", "one-layer") as (address, query, _server):
        try:
            asyncio.run(compare(address, query))
        except BrowserError as error:
            if "Executable doesn't exist" in error.message:
                pytest.skip("there is no Chromium here")
            raise
