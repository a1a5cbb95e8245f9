"""The frozen models of one server process: each is loaded once, shared by all sessions, and the last ones are kept.

Every load has a thread of its own, so that a slow one delays nobody who asks for another model. Nothing here knows
Streamlit. torch is imported with the first model, so that the first page is drawn before it loads.

Transformers is imported in one thread at a time. It imports its parts when they are first used, and fails at random
where two threads do so at once (`KeyError` or `ImportError` of a module that is half there). Whatever may run beside
another thread calls this first.
"""

import logging
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from threading import Event, Lock, Semaphore, Thread
from typing import TYPE_CHECKING, NamedTuple

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.methods.registry import METHODS
from explainers.models.bundle_cards import bundle_names
from explainers.models.foreign.hub_transfer import LARGE, DownloadNotAllowed, Transfer, asking, at_most, transferring
from explainers.models.prompt import DEFAULT_PROMPT
from explainers.models.smollm2 import NAME as SMOLLM2

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel

log = logging.getLogger(__name__)

MODELS_KEPT = 2
FOREIGN_AT_ONCE = 2  # loads of models that do not come with the project; further ones wait
MOST_LOADS = 16  # on their way at the same time, those that wait included
PATIENCE = 180.0  # seconds for which one waits for a model
DRAWN = 3.0  # seconds after which the first page is drawn; importing torch holds Python's lock and would delay it
CHECK = 0.2  # seconds between two looks at whether the model is still wanted
SERVER_DEVICE = "auto"  # as CROSSLIGHT_DEVICE says
DOWNLOAD_FIRST = "Download it on Compare first."
DEVICE_VARIABLE, ROOTS_VARIABLE = "CROSSLIGHT_DEVICE", "CROSSLIGHT_MODELS"

PARTS = (
    "transformers",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
)  # what the embedded models and the narrators are made of
AUTO_PARTS = (
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.auto.image_processing_auto",
)  # what other models are found by; a second more
LATE_PARTS = (
    "captum.attr",
    "explainers.attribution.surrogate",
    "scipy.stats",
)  # what methods import only as they run

_importing = Lock()


class Placed(NamedTuple):
    """A model's name, and the device on which it is: what "auto" stands for, not "auto". Its precision is not named:
    models of both share their weights."""

    name: str
    device: str


class ModelPool:
    def __init__(self) -> None:
        self.models: OrderedDict[Placed, FrozenModel] = OrderedDict()
        self.loads: dict[Placed, Future[FrozenModel]] = {}
        self.downloads: dict[Placed, Transfer] = {}  # of the loads
        self.waiting: Counter[Placed] = Counter()  # how many wait for a model
        self.changing = Lock()  # held for a moment, never while a model loads
        self.foreign = Semaphore(FOREIGN_AT_ONCE)
        self.warming: dict[str, Thread] = {}
        self.needed = Event()  # set once a model is asked for
        self.refused: dict[str, DownloadNotAllowed] = {}  # by the name of a model that waits for somebody to allow it
        self.allowed: dict[str, int] = {}  # bytes that somebody has allowed to be fetched for a model
        self.devices: tuple[str, ...] | None = None  # that this machine has; not known before torch is imported

    def loaded(self, name: str) -> "FrozenModel | None":
        """On any device."""
        models = list(self.models.items())
        return next((model for key, model in models if key.name == name), None)

    def names(self) -> list[str]:
        """Return the names of the loaded models, those used last at the end."""
        return [key.name for key in list(self.models)]

    def offered_devices(self) -> tuple[str, ...]:
        """Return the devices of this machine that a person may choose, first the server's own; only that one where
        CROSSLIGHT_DEVICE names it, and as long as no other is known."""
        return (self.devices or (SERVER_DEVICE,)) if own_device() == SERVER_DEVICE else (SERVER_DEVICE,)

    def model(self, name: str, check: Callable[[], None] = lambda: None, device: str = SERVER_DEVICE) -> "FrozenModel":
        """Loads it if necessary. `check` is called while one waits, and may raise to give up.

        Raises `DownloadNotAllowed` before a large download that nobody has allowed yet, and `ModelUnavailable` with a
        sentence, also where the model takes too long; then its load goes on, but not
        its download, which nobody waits for any more.
        """
        self.needed.set()
        key = self._placed(name, device)
        with self.changing:
            model = self.models.get(key)
            if model is not None:
                self.models.move_to_end(key)
                return model
            load = self.loads.get(key)
            if load is None or not self.downloads[key].go_on():
                load = self._begin(key)
            transfer = self.downloads[key]
            self.waiting[key] += 1
        try:
            _wait(name, load, transfer, check)
        finally:
            with self.changing:
                self.waiting[key] -= 1
                if not self.waiting[key]:
                    del self.waiting[key]
                    transfer.stop()
        return load.result()

    def download(self, name: str) -> Transfer | None:
        """How far the download of this model is, if one is on its way, for whichever device."""
        transfers = [transfer for key, transfer in list(self.downloads.items()) if key.name == name]
        return next((transfer for transfer in transfers if transfer.done < transfer.total), None)

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

    def _placed(self, name: str, chosen: str) -> Placed:
        """Raises `ModelUnavailable` where this machine does not have the device."""
        import_transformers()  # before what needs it
        from explainers.models.catalog import available_devices, resolve_device

        self.devices = available_devices()
        return Placed(name, str(resolve_device(own_device() if own_device() != SERVER_DEVICE else chosen)))

    def _begin(self, key: Placed) -> "Future[FrozenModel]":
        if len(self.loads) >= MOST_LOADS:
            raise ModelUnavailable(f"{MOST_LOADS} models are being loaded. Try {key.name!r} again in a minute.")
        load = self.loads[key] = Future()
        transfer = self.downloads[key] = Transfer()
        Thread(target=self._load, args=(key, load, transfer), name=f"load {key.name}", daemon=True).start()
        return load

    def _load(self, key: Placed, load: "Future[FrozenModel]", transfer: Transfer) -> None:
        """In a thread of its own. Whatever is raised there reaches those who wait."""
        name = key.name
        try:
            with transferring(transfer), asking(at_most(LARGE + self.allowed.get(name, 0))):
                model = self._loaded_from_disk(key)
        except BaseException as error:
            with self.changing:
                if isinstance(error, DownloadNotAllowed):
                    self.refused[name] = error
                self._forget(key, load)
            load.set_exception(error)
            return
        with self.changing:
            self.models[key] = model
            self.allowed.pop(name, None)
            self.refused.pop(name, None)
            while len(self.models) > MODELS_KEPT:
                self.models.popitem(last=False)
            self._forget(key, load)
        load.set_result(model)

    def refusal(self, name: str) -> DownloadNotAllowed | None:
        """Return why this model was not fetched; None where it was not refused, or a job has fetched it since."""
        refused = self.refused.get(name)
        if refused is None or not refused.is_fetched():
            return refused
        with self.changing:
            if self.refused.get(name) is refused:
                del self.refused[name]
        return None

    def is_settled(self, name: str) -> bool:
        """Return whether no load can change what is known: the model is here, or its download was refused."""
        return self.loaded(name) is not None or self.refusal(name) is not None

    def allow_download(self, name: str) -> None:
        """Let what was refused of this model be fetched from the hub; for all sessions, until it is loaded. Where a
        further part of it is large, that is refused in turn."""
        with self.changing:
            refused = self.refused.pop(name, None)
            if refused is not None:
                self.allowed[name] = refused.size.bytes

    def _forget(self, key: Placed, load: "Future[FrozenModel]") -> None:
        """The load, unless another one has taken its place since it was stopped."""
        if self.loads.get(key) is load:
            del self.loads[key], self.downloads[key]

    def _loaded_from_disk(self, key: Placed) -> "FrozenModel":
        from explainers.models.catalog import load

        name, device = key
        embedded = name in bundle_names()
        import_transformers(auto=not embedded)
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
            spec.make(erasure="mask", seed=0, samples=10, steps=1)  # imports the method
        for part in LATE_PARTS:
            import_module(part)


def first_model() -> str:
    """Return the model with which a session begins; without embedded ones the language model that Compare fetches."""
    return (bundle_names() or (f"{SMOLLM2}:{DEFAULT_PROMPT}",))[0]


def own_device() -> str:
    """Return the device that CROSSLIGHT_DEVICE names, by default "auto"."""
    return os.environ.get(DEVICE_VARIABLE) or SERVER_DEVICE


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


def import_transformers(*, auto: bool = False) -> None:
    """Imports it with BERT and GPT-2, and with the classes that find other architectures if `auto`."""
    with _importing:
        for part in (*PARTS, *(AUTO_PARTS if auto else ())):
            import_module(part)
