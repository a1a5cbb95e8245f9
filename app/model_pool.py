"""The frozen models of one server process: each is loaded once, shared by all sessions, and the last ones are kept.

Every load has a thread of its own, so that a slow one delays nobody who asks for another model. Nothing here knows
Streamlit. torch is imported with the first model, so that the first page is drawn before it loads.
"""

import logging
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Event, Lock, Semaphore, Thread
from typing import TYPE_CHECKING

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.methods.registry import METHODS
from explainers.models.bundle_cards import bundle_names
from explainers.models.foreign.hub_transfer import Transfer, transferring

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel

log = logging.getLogger(__name__)

MODELS_KEPT = 2
FOREIGN_AT_ONCE = 2  # loads of models that do not come with the project; further ones wait
MOST_LOADS = 16  # on their way at the same time, those that wait included
PATIENCE = 180.0  # seconds for which one waits for a model
DRAWN = 3.0  # seconds after which the first page is drawn; importing torch holds Python's lock and would delay it
CHECK = 0.2  # seconds between two looks at whether the model is still wanted
DEVICE_VARIABLE, ROOTS_VARIABLE = "CROSSLIGHT_DEVICE", "CROSSLIGHT_MODELS"


class ModelPool:
    def __init__(self) -> None:
        self.models: OrderedDict[str, FrozenModel] = OrderedDict()
        self.loads: dict[str, Future[FrozenModel]] = {}
        self.downloads: dict[str, Transfer] = {}  # of the loads
        self.waiting: Counter[str] = Counter()  # how many wait for a model
        self.changing = Lock()  # held for a moment, never while a model loads
        self.foreign = Semaphore(FOREIGN_AT_ONCE)
        self.warming: dict[str, Thread] = {}
        self.needed = Event()  # set once a model is asked for

    def loaded(self, name: str) -> "FrozenModel | None":
        return self.models.get(name)

    def model(self, name: str, check: Callable[[], None] = lambda: None) -> "FrozenModel":
        """Loads it if necessary. `check` is called while one waits, and may raise to give up.

        Raises `ModelUnavailable` with a sentence, also where the model takes too long; then its load goes on, but not
        its download, which nobody waits for any more.
        """
        self.needed.set()
        with self.changing:
            model = self.models.get(name)
            if model is not None:
                self.models.move_to_end(name)
                return model
            load = self.loads.get(name)
            if load is None or not self.downloads[name].go_on():
                load = self._begin(name)
            transfer = self.downloads[name]
            self.waiting[name] += 1
        try:
            _wait(name, load, transfer, check)
        finally:
            with self.changing:
                self.waiting[name] -= 1
                if not self.waiting[name]:
                    del self.waiting[name]
                    transfer.stop()
        return load.result()

    def download(self, name: str) -> Transfer | None:
        """How far the download of this model is, if one is on its way."""
        transfer = self.downloads.get(name)
        return transfer if transfer is not None and transfer.done < transfer.total else None

    def warm_up(self, name: str, after: float = 0.0) -> None:
        """Loads the libraries and a model in the background, ahead of the first explanation.

        It begins as soon as any model is needed, at the latest `after` some seconds.
        """
        before = self.warming.get(name)
        if self.loaded(name) is not None or (before is not None and before.is_alive()):
            return
        thread = Thread(target=self._load_quietly, args=(name, after), name="warm-up", daemon=True)
        self.warming[name] = thread
        thread.start()

    def wait(self) -> None:
        """Until nothing is loaded in the background any more."""
        self.needed.set()
        for thread in list(self.warming.values()):
            thread.join()

    def _begin(self, name: str) -> "Future[FrozenModel]":
        if len(self.loads) >= MOST_LOADS:
            raise ModelUnavailable(f"{MOST_LOADS} models are being loaded. Try {name!r} again in a minute.")
        load = self.loads[name] = Future()
        transfer = self.downloads[name] = Transfer()
        Thread(target=self._load, args=(name, load, transfer), name=f"load {name}", daemon=True).start()
        return load

    def _load(self, name: str, load: "Future[FrozenModel]", transfer: Transfer) -> None:
        """In a thread of its own. Whatever is raised there reaches those who wait."""
        try:
            with transferring(transfer):
                model = self._loaded_from_disk(name)
        except BaseException as error:
            with self.changing:
                self._forget(name, load)
            load.set_exception(error)
            return
        with self.changing:
            self.models[name] = model
            while len(self.models) > MODELS_KEPT:
                self.models.popitem(last=False)
            self._forget(name, load)
        load.set_result(model)

    def _forget(self, name: str, load: "Future[FrozenModel]") -> None:
        """The load, unless another one has taken its place since it was stopped."""
        if self.loads.get(name) is load:
            del self.loads[name], self.downloads[name]

    def _loaded_from_disk(self, name: str) -> "FrozenModel":
        from explainers.models.catalog import load
        from explainers.models.libraries import import_transformers

        embedded = name in bundle_names()
        import_transformers(auto=not embedded)
        device = os.environ.get(DEVICE_VARIABLE, "auto")
        if embedded:
            return load(name, device=device, roots=roots())
        with self.foreign:
            return load(name, device=device, roots=roots())

    def _load_quietly(self, name: str, after: float) -> None:
        self.needed.wait(after)
        try:
            self.model(name)
        except ExplanationError:
            log.info("the model %s could not be loaded ahead of time", name)
        for spec in METHODS:
            spec.make(erasure="mask", seed=0, samples=10, steps=1)  # imports what the method needs


def _wait(name: str, load: "Future[FrozenModel]", transfer: Transfer, check: Callable[[], None]) -> None:
    """Until the load is done; a download may take as long as bytes come."""
    end, there = time.monotonic() + PATIENCE, 0
    while not load.done():
        check()
        if transfer.done > there:
            end, there = time.monotonic() + PATIENCE, transfer.done
        if time.monotonic() > end:
            raise ModelUnavailable(f"The model {name!r} has not loaded within {PATIENCE:.0f} s. Try again later.")
        wait_for(load, CHECK)


def wait_for(load: "Future[FrozenModel]", seconds: float) -> None:
    """Until it is done, at most for some seconds; whatever it ends with is not raised here."""
    try:
        load.exception(timeout=seconds)
    except TimeoutError:
        return


def roots() -> tuple[Path, ...]:
    """The folders from which the app may load models; an empty part of the variable is none."""
    return tuple(Path(root) for root in os.environ.get(ROOTS_VARIABLE, ".").split(os.pathsep) if root.strip())
