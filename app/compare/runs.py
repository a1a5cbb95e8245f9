"""A comparison on its way: the request, the results so far, and the views that the page has made of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from app.compare.leases import Lease
from app.compare.turns import Turn
from explainers.comparison.verdict import verdict
from explainers.datasets.example import Example
from explainers.methods.spec import MethodSpec
from explainers.models.meter import Meter
from explainers.results.ablated_inputs import AblatedInputs
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison, Failure, MethodResult, Question, RandomControl
from explainers.results.duel import Duel
from explainers.results.narrative import Narrative, NarrativeCheck
from explainers.results.operator_check import OperatorCheck
from explainers.results.settings import Settings

if TYPE_CHECKING:
    from app.compare.duel_runs import DuelState
    from app.compare.interaction_runs import InteractionState
    from app.compare.modality_curves import ModalityCurves
    from explainers.comparison.stored_results import StoredResult

Status = Literal["waiting", "loading", "running", "done", "stopped", "failed"]
View = TypeVar("View")


@dataclass(frozen=True)
class Request:
    """All that a comparison depends on. `label` is None for the predicted class, `removed` are unit numbers."""

    model: str
    example: Example
    label: str | None
    methods: tuple[str, ...]
    settings: Settings
    removed: tuple[int, ...] = ()
    narrators: tuple[str, ...] | None = None  # None: all that are fitted to the model
    guess: tuple[int, ...] = ()  # numbers of the units that the person marked, the most important first
    given: tuple[MethodSpec, ...] = ()  # rows from a file: scores made elsewhere, people's marks

    @property
    def about_input(self) -> "Request":
        """Without class, methods, narrators and what is given: what the model's answers depend on."""
        return replace(self, label=None, methods=(), narrators=None, guess=(), given=())


@dataclass
class Column:
    """One method of a run. `base` are the answers that the run had used when the method started."""

    spec: MethodSpec
    attribution: Attribution | None = None
    result: MethodResult | None = None
    failure: str = ""
    base: int | None = None
    finished: float = 0.0  # time.time() of the computation, to tell the age of a remembered result
    remembered: bool = False
    stored: bool = False  # taken from the results that come with the project

    @property
    def settled(self) -> bool:
        return self.result is not None or bool(self.failure)


@dataclass(eq=False)  # two sessions may ask the same: their runs are still two
class Run:
    """Written by one worker, read by one page, which alone uses `views`."""

    request: Request
    columns: dict[str, Column]
    meter: Meter = field(default_factory=Meter)
    status: Status = "waiting"
    error: str = ""
    whole: Question | None = None  # the input as typed, nothing removed
    whole_probabilities: tuple[float, ...] = ()
    question: Question | None = None  # what is explained: the input without the removed units
    probabilities: tuple[float, ...] = ()
    ablated_inputs: AblatedInputs | None = None
    random_control: RandomControl | None = None
    narratives: tuple[Narrative, ...] = ()  # cheap, so they are not remembered
    narrator_failures: tuple[Failure, ...] = ()
    narrative_checks: tuple[NarrativeCheck, ...] = ()
    operator_checks: tuple[OperatorCheck, ...] = ()
    modality_curves: "dict[str, ModalityCurves]" = field(default_factory=dict)  # by kind of unit
    duels: "dict[tuple[str, str], DuelState]" = field(default_factory=dict)  # by ids of the two methods
    stored_duels: tuple[Duel, ...] = ()  # those that come with the project
    interactions: "InteractionState | None" = None  # once somebody has asked for them
    lease: Lease = field(default_factory=Lease, repr=False)
    turn: Turn = field(default_factory=Turn, repr=False)
    thread: Thread | None = field(default=None, repr=False)
    abandoned: bool = False  # stopped because nobody looked; it starts again as soon as somebody does
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    stored: "StoredResult | None" = field(default=None, repr=False)  # with which it was filled, without a model
    previous: "Run | None" = field(default=None, repr=False)  # about the same input: shown until this one has results
    views: dict[str, tuple[object, Any]] = field(default_factory=dict, repr=False)

    @property
    def active(self) -> bool:
        return self.status in ("waiting", "loading", "running")

    @property
    def finished(self) -> bool:
        """Whether all that was asked for is there; the verdict on what was stopped, or has failed, stays "
        "provisional."""
        return self.status == "done"

    @property
    def wanted(self) -> bool:
        return self.active and not self.meter.cancel.is_set()

    def stop(self) -> None:
        self.meter.cancel.set()
        for curves in list(self.modality_curves.values()):  # the page may add one
            curves.meter.cancel.set()
        for duel in list(self.duels.values()):
            duel.meter.cancel.set()
        if self.interactions is not None:
            self.interactions.meter.cancel.set()
        if self.status == "waiting":
            self.status = "stopped"  # at once; the worker passes it over

    def abandon(self) -> None:
        """Stops it because nobody looks any more."""
        self.abandoned = True
        self.stop()

    @property
    def settled(self) -> tuple[object, ...]:
        """Equal as long as the same results are known."""
        columns = tuple(name for name, column in self.columns.items() if column.settled)
        checks = len(self.narrative_checks), len(self.operator_checks)
        return columns, self.random_control is not None, len(self.narratives), len(self.narrator_failures), *checks

    def view(self, name: str, key: object, make: Callable[[], View]) -> View:
        """What `make` returns, made anew only where `key` differs from that of the last call with this `name`."""
        last = self.views.get(name)
        if last is None or last[0] != key:
            last = self.views[name] = (key, make())
        view: View = last[1]
        return view

    def comparison(self) -> Comparison:
        """What is finished so far, with the one verdict on it, for page, plots, tables and downloads."""
        if self.question is None:
            raise ValueError("the run has no prediction yet")
        duels = tuple(state.duel for state in list(self.duels.values()) if state.duel is not None)
        return self.view("comparison", (self.settled, self.finished, duels), lambda: self._comparison(duels))

    def _comparison(self, duels: tuple[Duel, ...]) -> Comparison:
        if self.question is None:
            raise ValueError("the run has no prediction yet")
        columns = list(self.columns.values())  # read once: the worker goes on
        comparison = Comparison(
            self.question,
            self.probabilities,
            tuple(column.result for column in columns if column.result),
            self.random_control,
            (*(Failure(each.spec.id, each.failure) for each in columns if each.failure), *self.narrator_failures),
            self.request.removed,
            self.ablated_inputs,
            self.narratives,
            self.narrative_checks,
            self.operator_checks,
            duels,
        )
        return replace(comparison, verdict=verdict(comparison, finished=self.finished))
