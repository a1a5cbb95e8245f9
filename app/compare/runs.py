"""A comparison on its way: the request, the comparison so far, and the views that the page has made of it.

The page renews the lease of a run with every look: it tells whether anybody still looks.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock, Thread
from typing import Any, Generic, Literal, TypeVar

from app.compare.fair_scheduler import Turn
from app.model_pool import SERVER_DEVICE
from explainers.comparison.answer import answered
from explainers.comparison.budget import Budget, postponed_passes
from explainers.comparison.stored_results import StoredResult
from explainers.datasets.example import Example
from explainers.errors import Cancelled
from explainers.methods.registry import MethodSpec
from explainers.models.calls import Meter
from explainers.models.precision import Precision
from explainers.results.answer import Answer
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, Settings
from explainers.results.events import Event, MethodResult

GONE = 10.0  # seconds without a look, from a tab that is closed or disconnected
ELSEWHERE = 150.0  # the same from an open tab: at another page, or hidden, where browsers tick once a minute


@dataclass(eq=False)
class Lease:
    """`connected` tells whether the tab is still there."""

    connected: Callable[[], bool] = lambda: True
    renewed: float = field(default_factory=time.monotonic)

    def renew(self) -> None:
        self.renewed = time.monotonic()

    @property
    def expired(self) -> bool:
        unseen = time.monotonic() - self.renewed
        return unseen > GONE and (unseen > ELSEWHERE or not self.connected())


Status = Literal["waiting", "loading", "running", "done", "stopped", "failed"]
View = TypeVar("View")


@dataclass(frozen=True)
class Request:
    """All that a comparison depends on. `label` is None for the predicted class; with `versus` it is explained rather
    than that other class; `removed` are unit numbers."""

    model: str
    example: Example
    label: str | None
    methods: tuple[str, ...]
    settings: Settings
    removed: tuple[int, ...] = ()
    narrators: tuple[str, ...] | None = None  # None: all that are fitted to the model
    guess: tuple[int, ...] = ()  # numbers of the units that the person marked, the most important first
    given: tuple[MethodSpec, ...] = ()  # rows from a file: scores made elsewhere, people's marks
    versus: str | None = None
    device: str = SERVER_DEVICE
    precision: Precision = "float32"
    budget: int | None = field(default=None, compare=False)  # seconds; another one asks the same

    @property
    def about_input(self) -> "Request":
        """Without class, methods, narrators and what is given: what the model's answers depend on."""
        return replace(self, label=None, versus=None, methods=(), narrators=None, guess=(), given=())


@dataclass
class Column:
    """What a run alone knows of one of its methods; what was measured is in its comparison.

    `attribution` is the last estimate, or the final one. `base` are the answers that the run had used when the method
    started. `finished` is the time.time() of the computation, to tell the age of a remembered result.
    """

    spec: MethodSpec
    attribution: Attribution | None = None
    base: int | None = None
    finished: float = 0.0
    remembered: bool = False
    stored: bool = False  # taken from the results that come with the project


Result = TypeVar("Result")
Key = tuple[str, ...]  # what a follow-up computes, and about what: ("duel", "lime", "aml")


@dataclass(eq=False)
class FollowUp(Generic[Result]):
    """What is computed on demand for a run that is over; written by one worker, read by one page.

    `result` may grow while it is `active`, and stays None where there is nothing to tell.
    """

    meter: Meter = field(default_factory=Meter)
    result: Result | None = None
    active: bool = True
    error: str = ""


@dataclass(eq=False)  # two sessions may ask the same: their runs are still two
class Run:
    """Written by one worker, and after its end by follow-ups; read by one page, which alone uses `views`.

    `whole` is the input as typed, with nothing removed, and `whole_probabilities` are those of it. `current` is the
    comparison with what is known so far and the answer to it, None before the prediction.
    """

    request: Request
    columns: dict[str, Column]
    meter: Meter = field(default_factory=Meter)
    status: Status = "waiting"
    error: str = ""
    download: str = ""  # such as "1.3 GB": it has failed because so much must be allowed to be fetched first
    lacks_smollm2: bool = False  # it has failed because its language model is not on this machine
    refuses_input: bool = False  # it has failed, and will until the input is another one
    whole: Decision | None = None
    whole_probabilities: tuple[float, ...] = ()
    current: Comparison | None = None
    follow_ups: dict[Key, FollowUp[Any]] = field(default_factory=dict)
    lease: Lease = field(default_factory=Lease, repr=False)
    turn: Turn = field(default_factory=Turn, repr=False)
    thread: Thread | None = field(default=None, repr=False)
    abandoned: bool = False  # stopped because nobody looked; it starts again as soon as somebody does
    seconds: float = 0.0
    expected: int = 0  # about how many answers of the model it needs; 0 before the prediction
    budget: Budget | None = None  # from the moment on at which it began to explain
    least_time: int | None = None  # the smallest budget that ended a part of it, before its present one
    chosen_time: tuple[int | None] | None = None  # what a person had chosen when the page last looked
    stored: StoredResult | None = field(default=None, repr=False)  # with which it was filled, without a model
    previous: "Run | None" = field(default=None, repr=False)  # about the same units: shown until this one has results
    earlier: "Run | None" = field(default=None, repr=False)  # about the same input: its answer, until this has one
    rest_of: "Run | None" = field(default=None, repr=False)  # the same with less time, whose rest it computes
    views: dict[str, tuple[object, Any]] = field(default_factory=dict, repr=False)
    changing: Lock = field(default_factory=Lock, repr=False)  # of `current` and `status`

    @property
    def active(self) -> bool:
        return self.status in ("waiting", "loading", "running")

    @property
    def finished(self) -> bool:
        """Return whether it has come to its end; else the answer stays provisional."""
        return self.status == "done"

    @property
    def wanted(self) -> bool:
        return self.active and not self.meter.cancel.is_set()

    def stop(self) -> None:
        self.meter.cancel.set()
        for follow_up in list(self.follow_ups.values()):  # the page may add one
            follow_up.meter.cancel.set()
        with self.changing:
            if self.status == "waiting":
                self._keep_what_was_known()
                self.status = "stopped"  # at once; the worker passes it over

    def abandon(self) -> None:
        """Stops it because nobody looks any more."""
        self.abandoned = True
        self.stop()

    def follow_time(self, chosen: int | None) -> None:
        """Give the time that a person has chosen since the page last looked. A run that was asked to compute the rest
        has all the time until then."""
        before, self.chosen_time = self.chosen_time, (chosen,)
        if before not in (None, self.chosen_time):
            self.give_time(chosen)

    @property
    def short_of(self) -> int | None:
        """Return the seconds into which not everything fitted, where that was so; None without a limit."""
        return min((given for given in (self.request.budget, self.least_time) if given is not None), default=None)

    def give_time(self, seconds: int | None) -> None:
        """Change the budget while it is active, None for no limit. What is postponed already stays so."""
        with self.changing:
            before = self.request.budget
            if not self.active or before == seconds:
                return
            self.request = replace(self.request, budget=seconds)
            if self.current is not None and not self.current.is_complete:
                self.least_time = min(filter(None, (before, self.least_time)), default=None)
            elif self.current is not None:  # else it says for how many seconds something was postponed
                self.current = replace(self.current, budget=seconds)
            if self.budget is not None:
                self.budget.seconds = math.inf if seconds is None else seconds

    def take(self, event: Event) -> None:
        """Add what the event says to the comparison, and answer it again."""
        with self.changing:
            if self.current is None:
                raise ValueError("the run has no prediction yet")
            changed = self.current.with_event(event)
            if changed is not self.current:
                self.current = answered(changed, finished=self.finished)

    def advance(self, status: Status) -> None:
        """Set the status of a run that is on its way. Raises Cancelled where it was stopped meanwhile."""
        with self.changing:
            if not self.active:
                raise Cancelled("Stopped.")
            self.status = status

    def end(self, status: Status) -> None:
        """Sets the status with which the run is over; whoever looks takes it for ended from here on."""
        with self.changing:
            if status != "done":
                self._keep_what_was_known()
            self.rest_of = None
            if self.current is not None:
                self.current = answered(self.current, finished=status == "done")
            self.status = status

    def _keep_what_was_known(self) -> None:
        """Take the results of the run whose rest it was to compute, where it did not come as far."""
        before = self.rest_of
        if before is not None and _progress(before) > _progress(self):
            self.current, self.columns, self.whole = before.current, before.columns, before.whole

    @property
    def seconds_left(self) -> float | None:
        """Return about how many seconds it takes from here on; None as long as that is not known."""
        left = None if self.budget is None else self.budget.seconds_left(self.expected)
        missing = 0.0 if self.rest_of is None else self.rest_of.seconds_missing
        if left is None or self.budget is None or not missing:
            return left
        return min(left, max(missing - self.budget.spent, 0.0))  # what was computed before costs nothing

    @property
    def is_short(self) -> bool:
        """Return whether it is done, and not all fitted into its budget."""
        return self.status == "done" and self.current is not None and not self.current.is_complete

    @property
    def seconds_missing(self) -> float:
        """Return about how many seconds what did not fit into its budget would take; 0 where that is not known."""
        if self.current is None or self.current.is_complete or self.budget is None:
            return 0.0
        return self.budget.takes(postponed_passes(self.current, [column.spec for column in self.columns.values()]))

    @property
    def decision(self) -> Decision | None:
        """Return what is explained: the input without the removed units; None before the prediction."""
        return None if self.current is None else self.current.decision

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Return those of the explained input; none before the prediction."""
        return () if self.current is None else self.current.probabilities

    def result(self, method: str) -> MethodResult | None:
        """Return what was measured about the method; None before it was."""
        return None if self.current is None else self.current.result(method)

    def failure(self, method: str) -> str:
        """Return why the method, or narrator, has failed; empty where it has not."""
        return "" if self.current is None else self.current.failure(method)

    def is_settled(self, method: str) -> bool:
        """Return whether the method has a result or has failed."""
        return self.result(method) is not None or bool(self.failure(method))

    @property
    def settled_methods(self) -> tuple[str, ...]:
        """Return the ids of the methods that have a result or have failed."""
        return tuple(method for method in self.columns if self.is_settled(method))

    @property
    def settled(self) -> tuple[object, ...]:
        """Return a value that stays equal as long as the same results are known."""
        current = self.current
        if current is None:
            return ((),)
        sentences = len(current.narratives), len(current.narrative_checks), len(current.failures)
        joint = (
            current.consensus.attribution.scores if current.consensus is not None else ()
        )  # changes with every method
        known = current.random_control is not None, joint, current.ended_early, len(current.operator_checks)
        return self.settled_methods, *known, *sentences

    def view(self, name: str, key: object, make: Callable[[], View]) -> View:
        """What `make` returns, made anew only where `key` differs from that of the last call with this `name`."""
        last = self.views.get(name)
        if last is None or last[0] != key:
            last = self.views[name] = (key, make())
        view: View = last[1]
        return view

    def comparison(self) -> Comparison:
        """Return what is known so far, with the one answer to it, for page, plots, tables and downloads."""
        if self.current is None:
            raise ValueError("the run has no prediction yet")
        return self.current


def _progress(run: Run) -> tuple[int, int]:
    """Return how many random orders, without which there is no answer, and how many results there are."""
    if run.current is None:
        return 0, 0
    control = run.current.random_control
    return 0 if control is None else len(control.curves), len(run.current.results)


def answer_of(run: Run) -> Answer:
    """Return that of the run's comparison; pending before there is a prediction."""
    answer = None if run.current is None else run.current.answer
    return answer or Answer("pending", provisional=True)
