"""Runs comparisons in the background, a few at a time, and remembers their results for all sessions.

A page asks for a `Run` and looks at it as often as it likes; nothing here knows Streamlit. The modules that bring
torch with them are imported in the worker, so that the page is drawn while they load.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from app.compare.runs import Column, Request, Run
from app.model_pool import ModelPool
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import applicable, select
from explainers.methods.spec import MethodSpec
from explainers.metrics.erasure import Answers
from explainers.results.attribution import Attribution
from explainers.results.comparison import Failure, MethodResult, RandomControl
from explainers.results.narrative import Narrative
from explainers.training.artifacts import find_artifact

if TYPE_CHECKING:
    from explainers.comparison.decision import Decision
    from explainers.models.frozen_model import FrozenModel

log = logging.getLogger(__name__)

AT_ONCE = 2  # runs that compute at the same time; others wait in line
RESULTS_KEPT = 2000
IMAGES_KEPT = 200 * 2**20  # bytes of the images of remembered results


class Engine:
    """Workers and remembered results of one server process."""

    def __init__(self, pool: ModelPool) -> None:
        self.pool = pool
        self.workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="explain")
        self.results: OrderedDict[Hashable, object] = OrderedDict()
        self.answers: dict[Hashable, Answers] = {}  # for curves over one kind of units
        self.remembering = Lock()
        self.queue: list[Run] = []

    def submit(self, request: Request, *, fresh: bool = False) -> Run:
        """Starts a comparison. `fresh` computes also what is remembered."""
        specs = applicable(select(request.methods), request.example)
        run = Run(request, {spec.id: Column(spec) for spec in specs})
        self.queue.append(run)
        self.workers.submit(self._work, run, fresh)
        return run

    def ahead_of(self, run: Run) -> int:
        """How many runs have to finish before this one starts."""
        active = [each for each in self.queue if each.active]
        return max(0, active.index(run) - AT_ONCE + 1) if run in active else 0

    def _work(self, run: Run, fresh: bool) -> None:
        began = time.perf_counter()
        try:
            self._compute(run, fresh)
            run.status = "done"
        except Cancelled:
            run.status = "stopped"
        except ExplanationError as error:
            run.error, run.status = str(error), "failed"
        except Exception as error:  # a programming error: the reader gets a sentence, the log the traceback
            from explainers.comparison.runner import internal_error

            log.exception("a comparison failed")
            run.error, run.status = internal_error(error), "failed"
        finally:
            run.seconds = time.perf_counter() - began
            self.queue.remove(run)

    def _compute(self, run: Run, fresh: bool) -> None:
        if run.meter.cancel.is_set():
            raise Cancelled("Stopped.")
        run.status = "loading"
        model = self.pool.model(run.request.model)
        from explainers.comparison.runner import run as compare

        decision = self._decide(run, model)
        run.whole, run.whole_probabilities = decision.whole, decision.whole_probabilities
        run.question, run.probabilities = decision.question, decision.probabilities
        run.ablated_inputs = decision.ablated_inputs
        run.status = "running"
        label = model.labels[decision.whole.label]
        key = (model.version, model.name, replace(run.request, methods=(), label=label))
        missing = [column.spec for column in run.columns.values() if fresh or not self._recall(run, column, key)]
        control = None if fresh else self.results.get((key, "random control"))
        run.random_control = control if isinstance(control, RandomControl) else None
        for event in compare(decision.question, missing, run.meter, control_known=run.random_control is not None):
            self._take(run, event, key)

    def _decide(self, run: Run, model: "FrozenModel") -> "Decision":
        from explainers.comparison.decision import decide

        request = run.request
        predict = partial(
            decide, model, request.example, label=request.label, settings=request.settings, meter=run.meter
        )
        try:
            return predict(removed=request.removed)
        except ExplanationError:
            if request.removed:
                run.whole = predict().whole  # stays on the page, so that what was removed can be restored
            raise

    def _recall(self, run: Run, column: Column, key: Hashable) -> bool:
        with self.remembering:
            remembered = self.results.get((key, column.spec.id, self._weights(run, column.spec)))
        if not isinstance(remembered, tuple):
            return False
        column.result, column.finished = remembered
        column.attribution, column.remembered = column.result.attribution, True
        return True

    def _take(self, run: Run, event: object, key: Hashable) -> None:
        from explainers.comparison.runner import MethodStarted

        if isinstance(event, Narrative):
            run.narratives += (event,)
        elif isinstance(event, Failure) and event.method not in run.columns:
            run.narrator_failures += (event,)
        elif isinstance(event, MethodStarted):
            run.columns[event.method].base = run.meter.calls
        elif isinstance(event, Attribution):
            run.columns[event.method].attribution = event
        elif isinstance(event, Failure):
            run.columns[event.method].failure = event.reason
        elif isinstance(event, MethodResult):
            column = run.columns[event.attribution.method]
            column.attribution, column.finished = event.attribution, time.time()
            column.result = event
            self._remember((key, column.spec.id, self._weights(run, column.spec)), (event, column.finished))
        elif isinstance(event, RandomControl):
            run.random_control = event
            self._remember((key, "random control"), event)

    def _weights(self, run: Run, spec: MethodSpec) -> tuple[str, int] | None:
        """Which weights a learned method uses, so that fitting it again invalidates what is remembered."""
        if not spec.learns or run.question is None:
            return None
        model, variant = run.question.model, spec.id.partition(":")[2]
        try:
            path = find_artifact(model.name, model.version, spec.weights_of, variant).path
            return str(path), path.stat().st_mtime_ns
        except (ExplanationError, OSError):
            return None

    def _remember(self, key: Hashable, value: object) -> None:
        with self.remembering:
            self.results[key] = value
            while len(self.results) > RESULTS_KEPT or self._image_bytes() > IMAGES_KEPT:
                self.results.popitem(last=False)

    def _image_bytes(self) -> int:
        """Of the different images about which something is remembered."""
        images = (key[0][2].example.image for key in self.results)  # type: ignore[index]
        return sum({id(image): len(image.content) for image in images if image is not None}.values())
