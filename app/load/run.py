"""Carries out a load test: all sessions at once in one process, while the server is watched."""

import asyncio

from app.load.report import LoadLevel
from app.load.scenario import LoadPlan, Outcome, Person, warmed_up
from app.load.server import Watched
from app.load.watch import watched

LOOK = 1.0  # seconds between two samples
STAGGER = 1.0  # seconds within which all sessions open their first tab


def level(plan: LoadPlan, sessions: int, server: Watched | None) -> LoadLevel:
    """All sessions, after one comparison that loads the model. Raises `ExplanationError` if the server ends."""
    return asyncio.run(_level(plan, sessions, server))


async def _level(plan: LoadPlan, sessions: int, server: Watched | None) -> LoadLevel:
    cold = await warmed_up(plan)
    clock = asyncio.get_running_loop().time
    begun = clock()
    outcomes, samples = await watched(server, LOOK, _all(plan, sessions))
    return LoadLevel(sessions, clock() - begun, cold, tuple(outcomes), tuple(samples))


async def _all(plan: LoadPlan, sessions: int) -> list[Outcome]:
    async def one(number: int) -> list[Outcome]:
        await asyncio.sleep(STAGGER * number / sessions)
        return await Person(plan, number).compare()

    results = await asyncio.gather(*(one(number) for number in range(sessions)))
    return [outcome for outcomes in results for outcome in outcomes]
