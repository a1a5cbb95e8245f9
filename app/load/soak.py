"""Tabs that open and close at random for a long time: does memory stay flat, and does work without a viewer end?

A tab asks for one to three comparisons and is closed at a random moment, often in the middle of one.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from app.load.client import ConnectionLost, opened
from app.load.measure import MOST_SENTENCES, TEXTS_PER_TAB, Ended, LoadPlan, compared, spread, text_of, warmed_up
from app.load.server import Sample, Watched, watched

LOOK = 10.0  # seconds between two samples
SETTLED = 300.0  # seconds after which memory should be flat
QUIET = 15.0  # seconds after the last tab has closed, within which all work without a viewer has ended
LONGEST_STAY, LONGEST_PAUSE = 40.0, 5.0  # seconds that a tab is open, and between two tabs of one person


@dataclass(frozen=True)
class Soaked:
    """`samples` every `LOOK` seconds; `after` is the server when no tab has been open for `QUIET` seconds."""

    seconds: float
    tabs: int  # opened and closed
    ended: tuple[Ended, ...]  # comparisons whose end their tab has seen
    errors: tuple[str, ...]
    samples: tuple[Sample, ...]
    after: Sample

    def summary(self) -> dict[str, Any]:
        """Plain data, for JSON: memory in MB, `left_over` runs as the app itself counts them (None: it does not say),
        and `idle_load`, the share of one core that it still used in the quiet."""
        settled = self.samples[min(int(SETTLED / LOOK), len(self.samples) - 1)]
        return {
            "seconds": round(self.seconds),
            "tabs": self.tabs,
            "comparisons": len(self.ended),
            "errors": len(self.errors),
            "refused": sum(visit.end == "refused" for visit in self.ended),
            "all_columns": spread([visit.last for visit in self.ended]),
            "memory_at_start": round(self.samples[0].memory),
            "memory_settled": round(settled.memory),
            "memory_at_end": round(self.samples[-1].memory),
            "peak_memory": round(max(sample.memory for sample in self.samples)),
            "threads": [settled.threads, self.samples[-1].threads, self.after.threads],
            "most_runs": max((runs(sample) or 0 for sample in self.samples), default=0),
            "left_over": runs(self.after),
            "idle_load": round(self.after.load, 3),
            "sentences": Counter(self.errors).most_common(MOST_SENTENCES),
            "memory_by_sample": [round(sample.memory) for sample in self.samples],
            "threads_by_sample": [sample.threads for sample in self.samples],
        }


def runs(sample: Sample) -> int | None:
    """How many comparisons were on their way, waiting ones included; None where the app does not say."""
    said = (sample.status or {}).get("queue")
    if isinstance(said, dict):
        return sum(number for number in said.values() if isinstance(number, int))
    return said if isinstance(said, int) else None


def soaked(plan: LoadPlan, people: int, server: Watched) -> Soaked:
    """For `plan.length` seconds. Raises `ExplanationError` if the server ends."""
    return asyncio.run(_soaked(plan, people, server))


async def _soaked(plan: LoadPlan, people: int, server: Watched) -> Soaked:
    await warmed_up(plan)
    visitors = [Visitor(plan, number) for number in range(people)]
    clock = asyncio.get_running_loop().time
    begun = clock()
    _, samples = await watched(server, LOOK, asyncio.gather(*(visitor.visit() for visitor in visitors)))
    seconds = clock() - begun
    await asyncio.sleep(QUIET)
    server.sample()  # from here on the load is that of the quiet
    await asyncio.sleep(LOOK)
    ended = tuple(end for visitor in visitors for end in visitor.ended)
    errors = tuple(sentence for visitor in visitors for sentence in visitor.errors)
    return Soaked(seconds, sum(v.tabs for v in visitors), ended, errors, tuple(samples), server.sample())


class Visitor:
    """One person who comes and goes."""

    def __init__(self, plan: LoadPlan, number: int) -> None:
        self.plan, self.number = plan, number
        self.chance = random.Random(f"{plan.seed} {number}")
        self.tabs = self.texts = 0
        self.ended: list[Ended] = []
        self.errors: list[str] = []

    async def visit(self) -> None:
        clock = asyncio.get_running_loop().time
        end = clock() + self.plan.length
        while (left := end - clock()) > 0:
            try:
                async with asyncio.timeout(min(left, self.chance.uniform(0, LONGEST_STAY))):
                    await self._stay()
            except TimeoutError:
                pass  # the tab was closed
            except ConnectionLost as error:
                self.errors.append(str(error))
            self.tabs += 1
            await asyncio.sleep(min(max(end - clock(), 0), self.chance.uniform(0, LONGEST_PAUSE)))

    async def _stay(self) -> None:
        """In one tab, for as long as nobody closes it."""
        text, since = self._text(), asyncio.get_running_loop().time()
        async with opened(self.plan.url, {**self.plan.query, "text": text}) as tab:
            for _ in range(self.chance.randint(1, TEXTS_PER_TAB)):
                ended = await compared(tab, text, since=since, patience=self.plan.patience)
                self.ended.append(ended)
                self.errors += ended.sentences if ended.end in ("failed", "late") else ()
                text, since = self._text(), asyncio.get_running_loop().time()
                await tab.type(text)
            await tab.idle(LONGEST_STAY)

    def _text(self) -> str:
        self.texts += 1
        return text_of(self.plan.seed, self.number, self.texts)
