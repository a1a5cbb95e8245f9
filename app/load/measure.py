"""What one person does under load, what many at once have measured, and whether memory stays flat for a long time.

A person opens Compare with a text of their own, waits for all columns, and goes on to the next. Every text differs from
all others, so that no result is remembered. Every third one is opened in a new tab, the others are typed into the tab
that is open.

In a soak, a tab asks for one to three comparisons and is closed at a random moment, often in the middle of one.
"""

import asyncio
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from app.load.client import ConnectionLost, Tab, opened
from app.load.server import WORDS, Query, Sample, Watched, watched

End = Literal["done", "failed", "refused", "late", "lost"]
TEXTS_PER_TAB = 3
WARM_UP = 10_000  # number of the session before the test
REFUSED = re.compile(r"is busy|too many|try again (in|later)", re.IGNORECASE)  # what the app says to one too many
PAUSE_AFTER_REFUSAL = 5.0  # seconds
LOOK = 1.0  # seconds between two samples
STAGGER = 1.0  # seconds within which all sessions open their first tab
MOST_SENTENCES = 10  # different ones that a report repeats
SOAK_LOOK = 10.0  # seconds between two samples
SETTLED = 300.0  # seconds after which memory should be flat
QUIET = 15.0  # seconds after the last tab has closed, within which all work without a viewer has ended
LONGEST_STAY, LONGEST_PAUSE = 40.0, 5.0  # seconds that a tab is open, and between two tabs of one person


@dataclass(frozen=True)
class LoadPlan:
    """`query` is the address besides the text; seconds: `length` of the test, `think` between two texts, `patience`."""

    url: str
    query: Query
    length: float
    think: float = 0.0
    patience: float = 300.0
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """One comparison. `first` and `last` are the seconds to the first and to all columns, None if they never came."""

    session: int
    begun: float  # seconds after the start of the test
    end: End
    first: float | None = None
    last: float | None = None
    sentences: tuple[str, ...] = field(default=())


class Ended(NamedTuple):
    """How a comparison ended; times in seconds."""

    end: End
    first: float | None
    last: float | None
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class LoadLevel:
    """One number of sessions. `cold` are the seconds of the comparison before, which loads the model."""

    sessions: int
    seconds: float
    cold: float | None
    outcomes: tuple[Outcome, ...]
    samples: tuple[Sample, ...]  # the first before, the last after

    def count(self, *ends: str) -> int:
        return sum(outcome.end in ends for outcome in self.outcomes)

    @property
    def errors(self) -> int:
        return self.count("failed", "late", "lost")

    def summary(self) -> dict[str, Any]:
        """Plain data, for JSON. Seconds; None where nothing was measured."""
        return {
            "sessions": self.sessions,
            "seconds": round(self.seconds, 1),
            "cold_seconds": self.cold,
            "comparisons": len(self.outcomes),
            "done": self.count("done"),
            "errors": self.errors,
            "refused": self.count("refused"),
            "first_column": spread([outcome.first for outcome in self.outcomes]),
            "all_columns": spread([outcome.last for outcome in self.outcomes if outcome.end == "done"]),
            "per_session": self.per_session(),
            "fairness": fairness(self.outcomes, self.sessions),
            "memory": [round(sample.memory) for sample in self.samples[:1] + self.samples[-1:]],
            "peak_memory": round(max((sample.memory for sample in self.samples), default=0)),
            "threads": [sample.threads for sample in self.samples[:1] + self.samples[-1:]],
            "sentences": Counter(sentence for outcome in self.outcomes for sentence in outcome.sentences).most_common(
                MOST_SENTENCES
            ),
        }

    def per_session(self) -> list[int]:
        """Finished comparisons of the session with the fewest and of the one with the most."""
        done = Counter(outcome.session for outcome in self.outcomes if outcome.end == "done")
        counts = [done[number] for number in range(self.sessions)]
        return [min(counts), max(counts)]


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


def text_of(seed: int, session: int, number: int) -> str:
    """Eight to fourteen words; the same numbers give the same text."""
    chance = random.Random(f"{seed} {session} {number}")
    return " ".join(chance.choices(WORDS, k=chance.randint(8, 14)))


class Person:
    """One session: opens tabs and types texts, one after the other, and notes how long each took."""

    def __init__(self, plan: LoadPlan, number: int) -> None:
        self.plan, self.number = plan, number
        self.clock = asyncio.get_running_loop().time
        self.start = self.clock()
        self.outcomes: list[Outcome] = []

    @property
    def over(self) -> bool:
        return self.clock() - self.start >= self.plan.length

    async def compare(self) -> list[Outcome]:
        """At least once and until the time is over; what has begun may end, for as long as the plan has patience."""
        while not self.outcomes or not self.over:
            begun = self.clock() - self.start
            try:
                await self._one_tab()
            except ConnectionLost as error:
                self.outcomes.append(Outcome(self.number, begun, "lost", sentences=(str(error),)))
            if self.outcomes[-1].end != "done" and not self.over:
                await asyncio.sleep(PAUSE_AFTER_REFUSAL)
        return self.outcomes

    async def _one_tab(self) -> None:
        """Explains some texts in one tab; leaves it early when something went wrong."""
        text, since = self._text(), self.clock()
        async with opened(self.plan.url, {**self.plan.query, "text": text}) as tab:
            await self._note(tab, text, since)
            for _ in range(TEXTS_PER_TAB - 1):
                await tab.idle(self.plan.think)
                if self.over or self.outcomes[-1].end != "done":
                    return
                text, since = self._text(), self.clock()
                await tab.type(text)
                await self._note(tab, text, since)

    def _text(self) -> str:
        return text_of(self.plan.seed, self.number, len(self.outcomes))

    async def _note(self, tab: Tab, text: str, since: float) -> None:
        end, first, last, sentences = await compared(tab, text, since=since, patience=self.plan.patience)
        self.outcomes.append(Outcome(self.number, since - self.start, end, first, last, sentences))


async def warmed_up(plan: LoadPlan) -> float | None:
    """Seconds of one comparison, which loads the model; None if it failed."""
    outcomes = await Person(replace(plan, length=0.0), WARM_UP).compare()
    return outcomes[-1].last


async def compared(tab: Tab, text: str, *, since: float, patience: float) -> Ended:
    """Listens until the text is explained. Times count from `since` on the loop's clock. Raises `ConnectionLost`."""
    clock = asyncio.get_running_loop().time
    first: float | None = None
    while (left := since + patience - clock()) > 0:
        await tab.hear(left)
        sheet, passed = tab.sheet, clock() - since
        if sheet is not None and sheet.text == text:
            if first is None and "done" in sheet.statuses:
                first = passed
            if sheet.settled:
                return Ended("failed" if sheet.failures else "done", first, passed, sheet.failures)
        if tab.errors:
            return Ended("failed", first, None, tuple(tab.errors))
        stopped = sheet is not None and sheet.text == text and "stopped" in sheet.statuses
        if stopped or tab.error_boxes or any(REFUSED.search(sentence) for sentence in tab.sentences):
            return _stopped(tab, first)
    return Ended("late", first, None, (f"Not done after {patience:.0f} s.",))


def _stopped(tab: Tab, first: float | None) -> Ended:
    """A comparison that the app ended or did not begin: refused with a sentence that says so, or else failed."""
    reasons = [sentence for sentence in tab.sentences if REFUSED.search(sentence)]
    if reasons:
        return Ended("refused", first, None, tuple(reasons))
    return Ended("failed", first, None, tuple(tab.error_boxes or tab.sentences) or ("Stopped without a reason.",))


def spread(values: Sequence[float | None]) -> dict[str, float] | None:
    """Median and 95th percentile (nearest rank) of those that are known."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    nearest = -(-95 * len(known) // 100)  # rounded up
    return {"median": round(statistics.median(known), 3), "p95": round(known[nearest - 1], 3)}


def fairness(outcomes: Sequence[Outcome], sessions: int) -> float | None:
    """Mean seconds to all columns of the slowest session over those of the fastest; None if one finished nothing."""
    seconds = defaultdict(list)
    for outcome in outcomes:
        if outcome.end == "done" and outcome.last is not None:
            seconds[outcome.session].append(outcome.last)
    means = [statistics.fmean(second) for second in seconds.values()]
    return round(max(means) / min(means), 2) if means and len(means) == sessions else None


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
        settled = self.samples[min(int(SETTLED / SOAK_LOOK), len(self.samples) - 1)]
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
    _, samples = await watched(server, SOAK_LOOK, asyncio.gather(*(visitor.visit() for visitor in visitors)))
    seconds = clock() - begun
    await asyncio.sleep(QUIET)
    server.sample()  # from here on the load is that of the quiet
    await asyncio.sleep(SOAK_LOOK)
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
