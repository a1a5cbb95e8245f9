"""The one place of the app that touches models: runs in the background, a few at a time, shared by all sessions.

A page asks for a `Run` and looks at it as often as it likes; nothing here knows Streamlit. The modules that bring
torch with them are imported in the worker, so that the page is drawn while they load.
"""

import logging
import os
import time
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import Cancelled, ExplanationError
from explainers.methods import METHODS, Entry, chosen, fitting
from explainers.models.meter import Meter
from explainers.narrative.entries import IDS as NARRATORS
from explainers.settings import Settings

if TYPE_CHECKING:
    from app.one_kind import OneKind
    from explainers.api import Comparison
    from explainers.comparison import Chance, Failed, Measured, Question
    from explainers.explanation import Attribution
    from explainers.metrics.masking import Asked
    from explainers.models.classifier import FrozenModel
    from explainers.narrative.narrative import Narrative
    from explainers.one_text import OneTextAlone

log = logging.getLogger(__name__)

Status = Literal["waiting", "loading", "running", "done", "stopped", "failed"]
AT_ONCE = 2  # runs that compute at the same time; others wait in line
MODELS_KEPT = 2
RESULTS_KEPT = 2000
PICTURES_KEPT = 200 * 2**20  # bytes of the pictures of remembered results
DEVICE_VARIABLE, ROOTS_VARIABLE = "CROSSLIGHT_DEVICE", "CROSSLIGHT_MODELS"


@dataclass(frozen=True)
class Request:
    """All that a comparison depends on, in plain values. `label` is None for the predicted class."""

    model: str
    text: str
    label: str | None
    methods: tuple[str, ...]
    settings: Settings
    removed: tuple[int, ...] = ()
    pair: str | None = None
    picture: Picture | None = None

    @property
    def example(self) -> Example:
        return Example(self.text, self.pair, picture=self.picture)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)


@dataclass
class Column:
    """One method's place on the page. `base` is the meter's count when it began."""

    entry: Entry
    attribution: "Attribution | None" = None
    result: "Measured | None" = None
    failure: str = ""
    base: int | None = None
    finished: float = 0.0  # time.time() of the computation, to say how old a remembered result is
    remembered: bool = False

    @property
    def settled(self) -> bool:
        return self.result is not None or bool(self.failure)


@dataclass(eq=False)  # two sessions may ask the same: their runs are still two
class Run:
    """A comparison on its way. Written by one worker, read by one page."""

    request: Request
    columns: dict[str, Column]
    meter: Meter = field(default_factory=Meter)
    status: Status = "waiting"
    error: str = ""
    whole: "Question | None" = None  # the text as typed, nothing removed
    whole_probabilities: tuple[float, ...] = ()
    question: "Question | None" = None  # what is explained: the text less the removed units
    probabilities: tuple[float, ...] = ()
    one_text_alone: "OneTextAlone | None" = None
    chance: "Chance | None" = None
    narratives: "tuple[Narrative, ...]" = ()  # cheap, so they are not remembered
    unspoken: "tuple[Failed, ...]" = ()  # narrators that could not say anything
    one_kind: "dict[str, OneKind]" = field(default_factory=dict)  # curves over patches or words alone
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def active(self) -> bool:
        return self.status in ("waiting", "loading", "running")

    def stop(self) -> None:
        self.meter.cancel.set()
        for each in self.one_kind.values():
            each.meter.cancel.set()
        if self.status == "waiting":
            self.status = "stopped"  # at once; the worker that comes to it passes it over

    def comparison(self) -> "Comparison":
        """What is finished so far, for charts, tables and downloads."""
        from explainers.api import Comparison
        from explainers.comparison import Failed

        if self.question is None:
            raise ValueError("the run has no prediction yet")
        return Comparison(
            self.question,
            self.probabilities,
            tuple(column.result for column in self.columns.values() if column.result),
            self.chance,
            (*(Failed(c.entry.id, c.failure) for c in self.columns.values() if c.failure), *self.unspoken),
            self.request.removed,
            self.one_text_alone,
            self.narratives,
        )


def roots() -> tuple[Path, ...]:
    """The folders from which the app may load models."""
    return tuple(Path(root) for root in os.environ.get(ROOTS_VARIABLE, ".").split(os.pathsep))


class Engine:
    """Models, workers and remembered results of one server process."""

    def __init__(self) -> None:
        self.workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="explain")
        self.models: OrderedDict[str, FrozenModel] = OrderedDict()
        self.loading = Lock()
        self.results: OrderedDict[Hashable, object] = OrderedDict()
        self.asked: dict[Hashable, Asked] = {}  # for curves over one kind of units
        self.remembering = Lock()
        self.queue: list[Run] = []

    def submit(self, request: Request, *, fresh: bool = False) -> Run:
        """Starts a comparison. `fresh` computes also what is remembered."""
        own = fitting(chosen(request.methods), request.texts, pictured=request.picture is not None)
        run = Run(request, {each.id: Column(each) for each in own})
        self.queue.append(run)
        self.workers.submit(self._work, run, fresh)
        return run

    def ahead_of(self, run: Run) -> int:
        """How many runs have to finish before this one starts."""
        active = [each for each in self.queue if each.active]
        return max(0, active.index(run) - AT_ONCE + 1) if run in active else 0

    def loaded(self, name: str) -> "FrozenModel | None":
        return self.models.get(name)

    def warm_up(self, name: str) -> None:
        """Begins to load the libraries and a model, so that the first explanation finds them there."""
        self.workers.submit(self._quietly_load, name)

    def _quietly_load(self, name: str) -> None:
        try:
            self.model(name)
        except ExplanationError:
            log.info("the model %s could not be loaded ahead of time", name)
        for entry in METHODS:
            entry.make(erasure="mask", seed=0, samples=10, steps=1)  # imports what the method needs

    def model(self, name: str) -> "FrozenModel":
        with self.loading:  # many sessions, one load
            if name not in self.models:
                from explainers.models.catalog import load

                self.models[name] = load(name, device=os.environ.get(DEVICE_VARIABLE, "auto"), roots=roots())
                while len(self.models) > MODELS_KEPT:
                    self.models.popitem(last=False)
            self.models.move_to_end(name)
            return self.models[name]

    def _work(self, run: Run, fresh: bool) -> None:
        began = time.perf_counter()
        try:
            self._compute(run, fresh)
            run.status = "done"
        except Cancelled:
            run.status = "stopped"
        except ExplanationError as error:
            run.error, run.status = str(error), "failed"
        except Exception as error:  # a mistake of ours: the reader gets a sentence, the log the trace
            log.exception("a comparison failed")
            run.error, run.status = f"Something went wrong inside Crosslight ({type(error).__name__}).", "failed"
        finally:
            run.seconds = time.perf_counter() - began
            self.queue.remove(run)

    def _compute(self, run: Run, fresh: bool) -> None:
        if run.meter.cancel.is_set():
            raise Cancelled("Stopped.")
        run.status = "loading"
        model = self.model(run.request.model)
        from explainers.api import ask
        from explainers.comparison import Chance
        from explainers.comparison import run as compare
        from explainers.one_text import one_text_alone

        asked, example = run.request, run.request.example
        whole, probabilities = ask(model, example, label=asked.label, settings=asked.settings, meter=run.meter)
        run.whole, run.whole_probabilities = whole, probabilities
        left = whole
        if asked.removed:  # shown only once it is known: the whole text's figures would be the wrong ones
            left, probabilities = ask(
                model,
                example,
                label=model.labels[whole.label],
                settings=asked.settings,
                removed=asked.removed,
                meter=run.meter,
            )
        run.question, run.probabilities = left, probabilities
        run.one_text_alone = one_text_alone(left, run.meter)
        run.status = "running"
        key = (model.version, model.name, replace(asked, methods=(), label=model.labels[whole.label]))
        missing = [column.entry for column in run.columns.values() if fresh or not self._recall(run, column, key)]
        known = None if fresh else self.results.get((key, "chance"))
        run.chance = known if isinstance(known, Chance) else None
        for event in compare(left, missing, run.meter, chance_known=run.chance is not None):
            self._take(run, event, key)

    def _recall(self, run: Run, column: Column, key: Hashable) -> bool:
        with self.remembering:
            known = self.results.get((key, column.entry.id, self._weights(run, column.entry)))
        if not isinstance(known, tuple):
            return False
        column.result, column.finished = known
        column.attribution, column.remembered = column.result.attribution, True
        return True

    def _take(self, run: Run, event: object, key: Hashable) -> None:
        from explainers.comparison import Begun, Chance, Failed, Measured
        from explainers.explanation import Attribution
        from explainers.narrative.narrative import Narrative

        if isinstance(event, Narrative):
            run.narratives += (event,)
        elif isinstance(event, Failed) and event.method in NARRATORS:
            run.unspoken += (event,)
        elif isinstance(event, Begun):
            run.columns[event.method].base = run.meter.calls
        elif isinstance(event, Attribution):
            run.columns[event.method].attribution = event
        elif isinstance(event, Failed):
            run.columns[event.method].failure = event.reason
        elif isinstance(event, Measured):
            column = run.columns[event.attribution.method]
            column.attribution, column.finished = event.attribution, time.time()
            column.result = event
            self._remember((key, column.entry.id, self._weights(run, column.entry)), (event, column.finished))
        elif isinstance(event, Chance):
            run.chance = event
            self._remember((key, "chance"), event)

    def _weights(self, run: Run, entry: Entry) -> tuple[str, int] | None:
        """Which weights a learned method uses, so that fitting it again makes what is remembered old."""
        if entry.group != "Learned" or run.question is None:
            return None
        from explainers.learned.weights import place

        model, (base, _, variant) = run.question.model, entry.id.partition(":")
        try:
            found = place(model.name, model.version, "aml" if base == "faml" else base, variant).path
            return str(found), found.stat().st_mtime_ns
        except (ExplanationError, OSError):
            return None

    def _remember(self, key: Hashable, value: object) -> None:
        with self.remembering:
            self.results[key] = value
            while len(self.results) > RESULTS_KEPT or self._held() > PICTURES_KEPT:
                self.results.popitem(last=False)

    def _held(self) -> int:
        """Bytes of the different pictures about which something is remembered."""
        asked = (key[0][2].picture for key in self.results)  # type: ignore[index]
        return sum({id(each): len(each.content) for each in asked if each is not None}.values())
