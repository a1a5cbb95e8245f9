"""The frozen models of one server process: each is loaded once, shared by all sessions, and the last ones are kept.

Nothing here knows Streamlit. torch is imported with the first model, so that the first page is drawn before it loads.
"""

import logging
import os
from collections import OrderedDict
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel

log = logging.getLogger(__name__)

MODELS_KEPT = 2
DEVICE_VARIABLE, ROOTS_VARIABLE = "CROSSLIGHT_DEVICE", "CROSSLIGHT_MODELS"


class ModelPool:
    def __init__(self) -> None:
        self.models: OrderedDict[str, FrozenModel] = OrderedDict()
        self.loading = Lock()
        self.warming: list[Thread] = []

    def loaded(self, name: str) -> "FrozenModel | None":
        return self.models.get(name)

    def model(self, name: str) -> "FrozenModel":
        """Loads it if necessary. Raises `ModelUnavailable` with a sentence."""
        with self.loading:  # many sessions, one load
            if name not in self.models:
                from explainers.models.catalog import load

                self.models[name] = load(name, device=os.environ.get(DEVICE_VARIABLE, "auto"), roots=roots())
                while len(self.models) > MODELS_KEPT:
                    self.models.popitem(last=False)
            self.models.move_to_end(name)
            return self.models[name]

    def warm_up(self, name: str) -> None:
        """Loads the libraries and a model in the background, ahead of the first explanation."""
        thread = Thread(target=self._load_quietly, args=(name,), name="warm-up", daemon=True)
        self.warming.append(thread)
        thread.start()

    def wait(self) -> None:
        """Until nothing is loaded in the background any more."""
        for thread in self.warming:
            thread.join()

    def _load_quietly(self, name: str) -> None:
        try:
            self.model(name)
        except ExplanationError:
            log.info("the model %s could not be loaded ahead of time", name)
        for spec in METHODS:
            spec.make(erasure="mask", seed=0, samples=10, steps=1)  # imports what the method needs


def roots() -> tuple[Path, ...]:
    """The folders from which the app may load models."""
    return tuple(Path(root) for root in os.environ.get(ROOTS_VARIABLE, ".").split(os.pathsep))
