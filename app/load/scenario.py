"""What one person does under load: opens Compare with a text of their own, waits for all columns, goes on to the next.

Every text differs from all others, so that no result is remembered. Every third one is opened in a new tab, the others
are typed into the tab that is open.
"""

import asyncio
import random
import re
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from app.load.tab import ConnectionLost, Tab, opened

Query = dict[str, str | list[str]]  # an address after the question mark
End = Literal["done", "failed", "refused", "late", "lost"]
TEXTS_PER_TAB = 3
WARM_UP = 10_000  # number of the session before the test
REFUSED = re.compile(r"is busy|too many|try again (in|later)", re.IGNORECASE)  # what the app says to one too many
PAUSE_AFTER_REFUSAL = 5.0  # seconds
VOCABULARY = (
    "good bad film the was a not dull plot very story actor slow bright long short music quiet ending scene funny sad "
    "clever simple deep flat warm cold rich poor strong weak fresh old new first last best worst light dark great "
    "honest false loud soft plain sharp gentle rough early late young tired happy angry small"
)
WORDS = tuple(VOCABULARY.split())


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
        if stopped or tab.alarms or any(REFUSED.search(sentence) for sentence in tab.sentences):
            return _stopped(tab, first)
    return Ended("late", first, None, (f"Not done after {patience:.0f} s.",))


def _stopped(tab: Tab, first: float | None) -> Ended:
    """A comparison that the app ended or did not begin: refused with a sentence that says so, or else failed."""
    reasons = [sentence for sentence in tab.sentences if REFUSED.search(sentence)]
    if reasons:
        return Ended("refused", first, None, tuple(reasons))
    return Ended("failed", first, None, tuple(tab.alarms or tab.sentences) or ("Stopped without a reason.",))
