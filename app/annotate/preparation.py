"""Asks the model and the methods about items before a person gets them, in a thread, and keeps the answers.

The comparisons run in the engine of the Compare page, in turn with those that people wait for there.
"""

import logging
import math
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from threading import Condition, Thread

from sqlalchemy import select

from app.annotate.items import item_of
from app.annotate.prepared import Prepared, PreparedMap
from app.annotate.projects import Project, project
from app.annotate.tables import ItemRow
from app.compare.engine import Engine
from app.compare.runs import Request, Run
from app.store import Store
from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.models.inputs.requirements import display_input_names
from explainers.results.comparison import Question
from explainers.results.settings import Settings

log = logging.getLogger(__name__)

LOOK = 0.05  # seconds between two looks at a run
MOST_WAITING = 200  # items; the earliest of them are forgotten, and asked for again when somebody needs them


class Preparer:
    """One for all sessions. `want` puts items first; what is prepared already costs nothing."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store, self.engine = store, engine
        self.waiting: list[int] = []
        self.problems: OrderedDict[int, str] = OrderedDict()  # by item; it is tried again when somebody looks at it
        self.changed = Condition()
        self.closed = False
        self.thread: Thread | None = None

    def want(self, items: Sequence[int]) -> None:
        """The first of them comes first."""
        with self.changed:
            if self.closed or not items:
                return
            rest = [item for item in self.waiting if item not in items]
            self.waiting = [*items, *rest][:MOST_WAITING]
            if self.thread is None or not self.thread.is_alive():
                self.thread = Thread(target=self._work, name="prepare items", daemon=True)
                self.thread.start()
            self.changed.notify_all()

    def try_again(self, item: int) -> None:
        self.problems.pop(item, None)
        self.want([item])

    def snapshot(self) -> dict[str, object]:
        return {"items_to_prepare": len(self.waiting)}

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.waiting.clear()
            self.changed.notify_all()

    def _work(self) -> None:
        while not self.closed:
            with self.changed:
                while not self.waiting and not self.closed:
                    self.changed.wait()
                if self.closed:
                    return
                item = self.waiting.pop(0)
            try:
                self._prepare(item)
                self.problems.pop(item, None)
            except Cancelled:
                return
            except ExplanationError as error:  # of the input, the model or the store
                self._note(item, str(error))
            except Exception as error:  # a programming error must not end the thread
                from explainers.comparison.runner import internal_error

                log.exception("an item is not prepared")
                self._note(item, internal_error(error))

    def _note(self, item: int, sentence: str) -> None:
        self.problems[item] = sentence
        while len(self.problems) > MOST_WAITING:
            self.problems.popitem(last=False)

    def _prepare(self, number: int) -> None:
        with self.store.read() as session:
            row = session.get(ItemRow, number)
        if row is None or row.prepared:
            return
        owner = project(self.store, row.project)
        if owner is None:
            return
        prepared = self._asked(owner, item_of(row).example)
        with self.store.begin() as session:
            stored = session.scalar(select(ItemRow).where(ItemRow.id == number).with_for_update())
            if stored is not None and not stored.prepared:  # another process may have been quicker
                stored.prepared = prepared.as_json()

    def _asked(self, owner: Project, example: Example) -> Prepared:
        spec = owner.spec
        if not spec.methods and not spec.narrators:
            return self._read(spec.model, example)
        request = Request(spec.model, example, None, spec.methods, Settings(), narrators=spec.narrators)
        run = self.engine.submit(request)
        while run.active:
            if self.closed:
                run.stop()
                raise Cancelled("Stopped.")
            run.lease.renew()
            with self.changed:
                self.changed.wait_for(lambda: self.closed, LOOK)
        if run.question is None or run.status != "done":
            raise ExplanationError(run.error or "The model did not answer.")
        return _of_run(run, run.question)

    def _read(self, name: str, example: Example) -> Prepared:
        """The model's class alone: one pass."""
        from explainers.comparison.decision import decide  # brings torch

        model = self.engine.pool.model(name, partial(_check, self))
        decision = decide(model, example, label=None, settings=Settings())
        return _of_question(decision.whole, decision.whole_probabilities)


def _check(preparer: Preparer) -> None:
    if preparer.closed:
        raise Cancelled("Stopped.")


def _of_question(question: Question, probabilities: tuple[float, ...]) -> Prepared:
    encoding, model = question.encoding, question.model
    return Prepared(
        texts=encoding.texts,
        units=encoding.units,
        names=tuple(display_input_names(model.input_names, len(encoding.texts))),
        labels=tuple(model.labels),
        label=question.label,
        probabilities=probabilities,
        version=model.version,
    )


def _of_run(run: Run, question: Question) -> Prepared:
    read = _of_question(question, run.probabilities)
    for name, column in run.columns.items():
        if column.result is not None:
            attribution = column.result.attribution
            defined = {id: value for id, value in column.result.metrics.items() if math.isfinite(value)}
            read.maps[name] = PreparedMap(attribution.scores, attribution.signed, defined)
    for narrative in run.narratives:
        read.sentences[narrative.method] = narrative.text
    return read
