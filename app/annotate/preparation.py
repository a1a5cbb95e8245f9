"""Computes the prediction and the explanations of items before a person gets them, in threads, and keeps them.

Several items are computed at once, each for `SECONDS`, so that a long text keeps nobody from the others; what did not
fit counts as failed, and in the last attempt an estimate that ended early is kept. An item that is deleted meanwhile is
computed no further.

A method that failed on an item is tried again when the item is opened again, `MOST_ATTEMPTS` times in all.

The comparisons run in the engine of the Compare page, in turn with those that people wait for there.
"""

import json
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Condition, Thread

from sqlalchemy import select

from app.annotate.projects import Prepared, PreparedMap, Project, item_of, locked, project, read_prepared, without_model
from app.annotate.tables import ItemRow
from app.compare.engine import Engine
from app.compare.runs import Request
from app.database.connections import StoreUnavailable
from app.model_pool import DOWNLOAD_FIRST
from app.store import Store
from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError, ModelUnavailable, without_folders
from explainers.models.bundle_cards import input_names_of_bundle
from explainers.models.foreign.hub_transfer import DownloadNotAllowed
from explainers.models.inputs.requirements import display_input_names
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, Settings

log = logging.getLogger(__name__)

WORKERS = 2  # items at once, as many as the engine computes
SECONDS = 120  # of computing for the explanations of one item, in one attempt
LOOK = 0.05  # seconds between two looks at a run
LOOK_FOR_ITEM = 2.0  # seconds between two looks whether the item is still there
MOST_ATTEMPTS = 3  # for one item
NO_REASON = "The method gave no explanation."
NO_TIME = f"It was not done within {SECONDS} s of computing."
MOST_WAITING = 200  # items; the earliest of them are forgotten, and asked for again when somebody needs them


class Preparer:
    """The threads that prepare items, for all sessions.

    `want` puts items first; what is prepared already costs nothing.
    """

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store, self.engine = store, engine
        self.waiting: list[int] = []
        self.opened: set[int] = set()  # of those that wait: whose failed methods are tried again
        self.problems: OrderedDict[int, str] = OrderedDict()  # by item; it is tried again when somebody looks at it
        self.changed = Condition()
        self.closed = False
        self.working: set[int] = set()  # items
        self.threads: list[Thread] = []

    def want(self, items: Sequence[int]) -> None:
        """Prepare these items before all others, the first of them first."""
        with self.changed:
            if self.closed or not items:
                return
            wanted = [item for item in items if item not in self.working]
            rest = [item for item in self.waiting if item not in items]
            self.waiting = [*wanted, *rest][:MOST_WAITING]
            self.opened &= set(self.waiting)
            self._start()

    def _start(self) -> None:
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        for _ in range(min(WORKERS, len(self.working) + len(self.waiting)) - len(self.threads)):
            self.threads.append(Thread(target=self._work, name="prepare items", daemon=True))
            self.threads[-1].start()
        self.changed.notify_all()

    def want_missing(self, item: int) -> None:
        """Try the failed methods of an item that is opened again, after what others wait for."""
        with self.changed:
            if not self.closed and item not in self.opened and item not in self.working:
                self.opened.add(item)
                self.waiting = [*self.waiting, item] if item not in self.waiting else self.waiting
                self._start()

    def try_again(self, item: int) -> None:
        with self.changed:
            self.problems.pop(item, None)
        self.want([item])

    def snapshot(self) -> dict[str, object]:
        return {"items_to_prepare": len(self.waiting) + len(self.working)}

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
                opened = item in self.opened
                self.opened.discard(item)
                self.working.add(item)
            problem = self._problem(item, opened=opened)  # raises nothing
            with self.changed:
                self.working.discard(item)
                self.problems.pop(item, None)
                if problem:
                    self.problems[item] = problem
                while len(self.problems) > MOST_WAITING:
                    self.problems.popitem(last=False)

    def _problem(self, item: int, *, opened: bool) -> str:
        """Prepare an item; return why that was not possible, empty where it was or nobody needs it any more."""
        try:
            self._prepare(item, opened=opened)
        except Cancelled:
            return ""
        except ExplanationError as error:  # of the input, the model or the store
            return str(error)
        except BaseException as error:  # a programming error, or a library's panic: the thread goes on
            from explainers.comparison.runner import internal_error

            log.exception("an item is not prepared")
            return internal_error(error)
        return ""

    def _prepare(self, number: int, *, opened: bool = False) -> None:
        with self.store.read() as session:
            row = session.get(ItemRow, number)
        owner = project(self.store, row.project) if row is not None else None
        if row is None or owner is None or (row.prepared and not opened):
            return
        earlier = read_prepared(row.prepared) if row.prepared else None
        asked = (*owner.spec.methods, *owner.spec.narrators)
        methods = asked if earlier is None else earlier.missing(asked)
        if earlier is not None and (not methods or earlier.attempts >= MOST_ATTEMPTS):
            return
        try:
            last = earlier is not None and earlier.attempts + 1 >= MOST_ATTEMPTS
            prepared = self._asked(owner, item_of(row).example, methods, partial(self._is_there, number), last=last)
        except Cancelled:
            raise
        except ExplanationError as error:  # of the model: no method was asked
            if earlier is None:
                raise
            prepared = replace(earlier, failures=dict.fromkeys(methods, str(error)))
        self._keep(
            row.project, number, row.prepared, earlier.joined(prepared) if earlier is not None else prepared, asked
        )

    def _keep(self, project_number: int, number: int, before: str, prepared: Prepared, asked: Sequence[str]) -> None:
        """Store what was computed, unless another process was quicker."""
        with self.store.begin() as session:
            owner = locked(session, project_number)  # before the item, as whoever confirms does
            stored = session.scalar(select(ItemRow).where(ItemRow.id == number).with_for_update())
            if owner is None or stored is None or stored.prepared != before:
                return
            stored.prepared = prepared.as_json()
            missing = prepared.missing(asked)
            if missing and prepared.attempts >= MOST_ATTEMPTS:
                stored.failed = json.dumps({id: prepared.failures.get(id, NO_REASON) for id in missing})
            else:
                stored.failed = ""
            owner.revision += 1

    def _is_there(self, number: int) -> bool:
        """Return whether the item is there, also where the store cannot be asked."""
        try:
            with self.store.read() as session:
                return session.get(ItemRow, number) is not None
        except StoreUnavailable:
            return True

    def _asked(
        self,
        owner: Project,
        example: Example,
        asked: Sequence[str],
        is_there: Callable[[], bool] = lambda: True,
        *,
        last: bool = False,
    ) -> Prepared:
        """Raises `Cancelled` when this is closed, or the item is not there any more."""
        spec = owner.spec
        if not spec.asks_model:
            return without_model(example, input_names_of_bundle(spec.model))
        methods = tuple(id for id in spec.methods if id in asked)
        narrators = tuple(id for id in spec.narrators if id in asked)
        if not methods and not narrators:
            return self._read(spec.model, example)
        request = Request(spec.model, example, None, methods, Settings(), narrators=narrators, budget=SECONDS)
        run = self.engine.submit(request)
        looked = time.monotonic()
        try:
            while run.active:
                if time.monotonic() - looked > LOOK_FOR_ITEM:
                    looked = time.monotonic()
                    if not is_there():
                        raise Cancelled("Stopped.")
                if self.closed:
                    raise Cancelled("Stopped.")
                run.lease.renew()
                with self.changed:
                    self.changed.wait_for(lambda: self.closed, LOOK)
        finally:
            run.stop()  # does nothing to one that has ended
        if run.download:  # a person must allow it, and this page has no button for that
            raise ModelUnavailable(f"{run.error} {DOWNLOAD_FIRST}")
        if run.status != "done":
            raise ExplanationError(run.error or "The model did not answer.")
        return _of_comparison(run.comparison(), (*methods, *narrators), early=last)

    def _read(self, name: str, example: Example) -> Prepared:
        """Return the model's class alone: one pass."""
        from explainers.comparison.decision import decide  # brings torch

        try:
            model = self.engine.pool.model(name, partial(_check, self))
        except DownloadNotAllowed as error:
            raise error.with_step(DOWNLOAD_FIRST) from error
        return _of_decision(*decide(model, example, settings=Settings()))


def _check(preparer: Preparer) -> None:
    if preparer.closed:
        raise Cancelled("Stopped.")


def _of_decision(decision: Decision, probabilities: tuple[float, ...]) -> Prepared:
    encoding, card = decision.encoding, decision.card
    return Prepared(
        texts=encoding.texts,
        units=encoding.units,
        names=tuple(display_input_names(card.input_names, len(encoding.texts))),
        labels=card.labels,
        label=decision.label,
        probabilities=probabilities,
        version=card.version,
    )


def _of_comparison(comparison: Comparison, asked: Sequence[str], *, early: bool = False) -> Prepared:
    """Return what was computed of what was asked; with `early` also estimates that ended before they had settled."""
    read = _of_decision(comparison.decision, comparison.probabilities)
    unfinished = () if early else comparison.ended_early
    for result in comparison.results:
        if result.method in unfinished:
            continue
        defined = {id: value for id, value in result.metrics.items() if math.isfinite(value)}
        read.maps[result.method] = PreparedMap(result.attribution.scores, result.attribution.signed, defined)
    for narrative in comparison.narratives:
        read.sentences[narrative.method] = narrative.text
    reasons = dict.fromkeys((*comparison.postponed, *unfinished), NO_TIME)
    reasons |= {failure.method: without_folders(failure.reason) for failure in comparison.failures}
    read.failures.update({id: reasons.get(id) or NO_REASON for id in read.missing(asked)})
    return read
