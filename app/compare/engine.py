"""Runs comparisons in the background, a few at a time, and remembers their results for all sessions.

A page asks for a `Run` and looks at it as often as it likes; nothing here knows Streamlit. Each run has a thread of its
own, which computes only while it is its turn, and so has each follow-up of a run that is over. The modules that bring
torch with them are imported there, so that the page is drawn while they load. `ProgressWatch` tells the server's health
check which runs hang.

At its end each run is a line of the log, with what it cost and how it ended:

    run model=sst2 input=text units=12 outcome=done waited=0.02 seconds=3.41 calls=512 methods=lime:1.20,aml:0.31

No text, file, class, name of foreign weights or of a foreign model is in it: such a model is "other", a method has its
registered name. A method that answered from memory has "remembered" for its seconds, one whose result comes with the
project "stored", one that could not explain "failed", one that was not reached "open".
"""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Thread

import psutil  # type: ignore[import-untyped]

from app.compare import computation, fair_scheduler, stored_results
from app.compare.runs import Column, FollowUp, Key, Lease, Request, Result, Run
from app.model_pool import DRAWN, ModelPool
from app.server import lifetime
from explainers.attribution.given import guess_spec
from explainers.errors import Cancelled, ExplanationError, InputRefused
from explainers.methods.registry import applicable, select
from explainers.models.bundle_cards import bundle_names
from explainers.models.foreign.hub_transfer import DownloadNotAllowed
from explainers.models.smollm2 import LanguageModelMissing, smollm2_folder

log = logging.getLogger(__name__)

AT_ONCE = 2  # runs that compute at the same time; others wait for their turn
LONGEST_QUEUE = 64  # runs on their way; further ones are refused
QUEUE_VARIABLE = "CROSSLIGHT_QUEUE"
GRACE = 5.0  # seconds within which stopped runs end
BUSY = "The server is busy with {} comparisons. Try again in a moment."
STILL = 45.0  # seconds without progress; with the ten seconds between two looks a fault is reported within a minute
LONG = 600.0  # seconds for what reports no progress: loading a model, or one batch of a large model

Trace = tuple[object, ...]


@dataclass(eq=False)
class ProgressWatch:
    """Remembers since when each run has been as it is.

    A run moves while its status changes, it asks the model, columns settle, or its thread computes (a fit outside the
    model). A run that waits for its turn stands still with good reason as long as any other run moves.
    """

    traces: dict[Run, tuple[Trace, float]] = field(default_factory=dict)

    def standing(self, runs: list[Run], now: float | None = None) -> list[Run]:
        """Looks at `runs` at the time `now` (seconds, monotonic) and returns those that hang."""
        now = time.monotonic() if now is None else now
        computed = _processor_seconds()
        seen: dict[Run, tuple[Trace, float]] = {}
        for run in runs:
            trace = (run.status, run.meter.used, run.meter.in_batch, run.settled, int(_computed(run, computed)))
            before = self.traces.get(run)
            seen[run] = before if before is not None and before[0] == trace else (trace, now)
        self.traces = seen
        still = {run: now - since for run, (_, since) in seen.items()}
        moves = any(seconds <= STILL or self._may_take_long(run) for run, seconds in still.items())
        return [
            run
            for run, seconds in still.items()
            if seconds > LONG or (seconds > STILL and not self._may_take_long(run) and not (run.turn.waits and moves))
        ]

    @staticmethod
    def _may_take_long(run: Run) -> bool:
        return run.status == "loading" or run.meter.in_batch


def _processor_seconds() -> dict[int, float]:
    """Seconds of processor time by the system's number of a thread of this process."""
    return {thread.id: thread.user_time + thread.system_time for thread in psutil.Process().threads()}


def _computed(run: Run, computed: dict[int, float]) -> float:
    thread: Thread | None = run.thread
    return computed.get(thread.native_id or 0, 0.0) if thread is not None else 0.0


class Engine:
    """Runs and remembered results of one server process."""

    def __init__(self, pool: ModelPool) -> None:
        self.pool = pool
        self.turns = fair_scheduler.FairScheduler(AT_ONCE)
        self.progress = ProgressWatch()
        self.memory = computation.ResultMemory()
        self.queue: list[Run] = []  # those on their way
        self.threads: set[Thread] = set()
        self.closed = False

    def submit(self, request: Request, *, fresh: bool = False, lease: Lease | None = None) -> Run:
        """Starts a comparison, or takes over one at which nobody looks any more, as after a reload.

        What is stored with the project is done at once, without a model. `fresh` computes also that, and what is
        remembered. Where too many are on their way the run has failed with a sentence.
        """
        lease = lease or Lease()
        for other in () if fresh else list(self.queue):
            if other.request == request and other.wanted and not other.lease.connected():
                other.lease = lease
                return other
        guess = filter(None, [guess_spec(request.guess, request.removed)])
        specs = (*guess, *request.given, *applicable(select(request.methods), request.example))
        run = Run(request, {spec.id: Column(spec) for spec in specs}, lease=lease)
        run.meter.give_way = partial(self.turns.pause, run.turn, partial(check, run))
        run.meter.step_aside = partial(self.turns.leave, run.turn)
        stored = None if fresh else stored_results.stored_answer(request)
        if stored is not None and stored_results.fill(run, stored):
            self.pool.warm_up(request.model, after=DRAWN)  # for what comes next
            log_run(run)
            return run
        if self.closed or len(self.queue) >= longest_queue():
            run.error, run.status = BUSY.format(len(self.queue)), "failed"
            return run
        self.queue.append(run)
        run.thread = self._start("explain", partial(self._work, run, fresh, stored))
        return run

    def is_fetched_since(self, run: Run) -> bool:
        """Return whether the model for whose download the run has failed is no longer refused, or no longer missing."""
        if run.lacks_smollm2:
            return smollm2_folder() is not None
        return bool(run.download) and self.pool.refusal(run.request.model) is None

    def ahead_of(self, run: Run) -> int:
        """How many runs compute before this one does."""
        return self.turns.ahead_of(run.turn)

    def submit_follow_up(
        self, run: Run, key: Key, work: Callable[[FollowUp[Result]], None], initial: Result | None = None
    ) -> FollowUp[Result]:
        """Return what is computed under `key` for a run that is over. The first call starts it, in turn with others.

        `work` writes the result, which is `initial` until then. What was stopped is forgotten, so that it is computed
        again as soon as somebody looks.
        """
        known: FollowUp[Result] | None = run.follow_ups.get(key)
        if known is not None:
            return known
        follow_up = run.follow_ups[key] = FollowUp(result=initial)
        turn = fair_scheduler.Turn(quick=False)

        def still_wanted() -> None:
            if self.closed or run.lease.expired or follow_up.meter.cancel.is_set():
                raise Cancelled("Stopped.")

        follow_up.meter.give_way = partial(self.turns.pause, turn, still_wanted)
        follow_up.meter.step_aside = partial(self.turns.leave, turn)
        self._start("follow-up", partial(self._follow_up, run, key, follow_up, work, turn))
        return follow_up

    def snapshot(self) -> dict[str, object]:
        """Numbers and model names for the server's owner; nothing that was typed."""
        runs, embedded = list(self.queue), bundle_names()
        return {
            "queue": len(runs),
            "without_viewer": sum(not run.lease.connected() for run in runs),
            "computing": len(self.turns.computing),
            "waiting": len(self.turns.waiting),
            "hanging": len(self.progress.standing(runs)),
            "remembered_results": len(self.memory.results),
            "models": [name if name in embedded else "other" for name in self.pool.names()],
            "models_loading": len(self.pool.loads),
        }

    def close(self) -> None:
        """Stops everything and refuses what comes after. Returns when all threads have ended, or after some seconds."""
        self.closed = True
        for run in list(self.queue):
            run.stop()
        end = time.monotonic() + GRACE
        for thread in list(self.threads):
            thread.join(max(0.0, end - time.monotonic()))

    def _start(self, name: str, work: Callable[[], None]) -> Thread:
        def whole() -> None:
            try:
                work()
            finally:
                self.threads.discard(thread)

        thread = Thread(target=whole, name=name, daemon=True)  # the process does not wait for it
        self.threads.add(thread)
        thread.start()
        return thread

    def _work(self, run: Run, fresh: bool, stored: stored_results.StoredAnswer | None) -> None:
        began, status = time.perf_counter(), run.status
        try:
            self._compute(run, fresh, stored)
            status = "done"
        except Cancelled:
            status = "stopped"
        except ExplanationError as error:
            run.error, status = str(error), "failed"
            run.download = error.size.amount if isinstance(error, DownloadNotAllowed) else ""
            run.lacks_smollm2 = isinstance(error, LanguageModelMissing)
            run.refuses_input = isinstance(error, InputRefused)
        except BaseException as error:  # a programming error, or a library's panic: no run may stay without an end
            from explainers.comparison.runner import internal_error

            log.exception("a comparison failed")
            run.error, status = internal_error(error), "failed"
        finally:
            self.turns.leave(run.turn)
            run.seconds = time.perf_counter() - began - run.meter.waited
            self.queue.remove(run)
            run.end(status)
            log_run(run)
            if not self.queue:
                lifetime.release_memory()

    def _follow_up(
        self,
        run: Run,
        key: Key,
        follow_up: FollowUp[Result],
        work: Callable[[FollowUp[Result]], None],
        turn: fair_scheduler.Turn,
    ) -> None:
        try:
            work(follow_up)
        except Cancelled:
            run.follow_ups.pop(key, None)
            follow_up.error = "Stopped."
        except ExplanationError as error:
            follow_up.error = str(error)
        except BaseException as error:  # a programming error: the reader gets a sentence, the log the traceback
            from explainers.comparison.runner import internal_error

            log.exception("a computation after a comparison failed")
            follow_up.error = internal_error(error)
        finally:
            self.turns.leave(turn)
            follow_up.active = False

    def _compute(self, run: Run, fresh: bool, stored: stored_results.StoredAnswer | None) -> None:
        still_wanted = partial(check, run)
        still_wanted()
        run.advance("loading")
        request = run.request
        model = self.pool.model(request.model, still_wanted, request.device)  # computes nothing, so it takes no turn
        run.advance("waiting")
        computation.compute(run, model.in_precision(request.precision), self.memory, stored, fresh=fresh)


def check(run: Run) -> None:
    """Raises `Cancelled` if the run was stopped, or if nobody looks at it any more."""
    if run.lease.expired:
        run.abandon()
    if run.meter.cancel.is_set():
        raise Cancelled("Stopped.")


def longest_queue() -> int:
    """As CROSSLIGHT_QUEUE says."""
    number = os.environ.get(QUEUE_VARIABLE, "")
    return int(number) if number.isdecimal() else LONGEST_QUEUE


def log_run(run: Run) -> None:
    """Write the line of a run that is over."""
    log.info("%s", log_line(run))


def log_line(run: Run) -> str:
    """Return the line; `waited` are the seconds in which others computed, `seconds` all the rest."""
    example = run.request.example
    decision = run.decision or run.whole
    values = {
        "model": run.request.model if run.request.model in bundle_names() else "other",
        "input": "image" if example.image is not None else "pair" if example.pair else "text",
        "units": len(decision.encoding.units) if decision is not None else 0,
        "outcome": "abandoned" if run.abandoned else run.status,
        "waited": f"{run.meter.waited:.2f}",
        "seconds": f"{run.seconds:.2f}",
        "calls": run.meter.calls,
        "methods": ",".join(_logged_cost(run, column) for column in run.columns.values()) or "none",
    }
    return "run " + " ".join(f"{name}={value}" for name, value in values.items())


def _logged_cost(run: Run, column: Column) -> str:
    """Return a method and its seconds; the name of weights, which a person has typed, is left out."""
    method, _, weights = column.spec.id.partition(":")
    return f"{method}{':own' if weights else ''}:{_logged_seconds(run, column)}"


def _logged_seconds(run: Run, column: Column) -> str:
    if column.stored:
        return "stored"
    if column.remembered:
        return "remembered"
    if run.failure(column.spec.id):
        return "failed"
    result = run.result(column.spec.id)
    return f"{result.attribution.seconds:.2f}" if result is not None else "open"
