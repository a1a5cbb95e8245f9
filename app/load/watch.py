"""The server process, sampled while sessions are under way."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from app.load.server import Sample, Watched

Result = TypeVar("Result")


async def watched(server: Watched | None, every: float, work: Awaitable[Result]) -> tuple[Result, list[Sample]]:
    """The result of `work`, and samples: one before, one every so many seconds, one after. None without a server.

    Raises `ExplanationError` if the server ends.
    """
    if server is None:
        return await work, []
    samples = [server.sample()]
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=every))[0]:
            samples.append(server.sample())
    finally:
        task.cancel()  # of no effect where it is done
    samples.append(server.sample())
    return task.result(), samples
