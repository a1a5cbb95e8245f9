"""Explanations kept in a folder, so that every measurement of a set reads them and none explains an input again.

An explanation is found again by everything that it depends on: the code of the methods and models, the model with its
device and precision, the method with its weights, the settings, the input with its units, and the class. The file holds
a checksum of these and the scores, but no text. Several processes may read and write it.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from explainers.comparison import runner
from explainers.comparison.decision import card_of, encode_units
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.measurement import Explain, final_attribution, predicted_class, weights_checksum
from explainers.installation import IMPORTED_FROM
from explainers.methods.registry import MethodSpec, applicable
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings

FILE = "explanations.sqlite"
EXPLAINING = ("attribution", "comparison", "learned", "methods", "models")  # packages on which scores depend
WAIT = 60.0  # seconds for another process that is writing
TABLE = "CREATE TABLE IF NOT EXISTS explanations (key TEXT PRIMARY KEY, attribution TEXT NOT NULL) WITHOUT ROWID"
KEPT = tuple(field.name for field in fields(Attribution) if field.name not in ("encoding", "draws"))


def explaining(folder: Path | None) -> Explain:
    """Return how a set is explained: with what the folder holds, or without one always anew."""
    return final_attribution if folder is None else ExplanationStore(folder).attribution


def explain_set(
    model: FrozenModel,
    inputs: Sequence[Example],
    specs: Sequence[MethodSpec],
    settings: Settings,
    explain: Explain,
    progress: Callable[[str], None],
) -> tuple[int, dict[str, str]]:
    """Explain the predicted class of every input that has units, by every method that applies.

    Returns how many explanations there are, and by method why one failed, which ends neither the others nor the set.
    """
    started, made, reasons = time.monotonic(), 0, dict[str, str]()
    for number, example in enumerate(inputs, 1):
        pooled = model.pooled(PredictionCache())
        encoding = encode_units(pooled, example, settings)
        if not encoding.units:
            continue
        decision = Decision(card_of(pooled), encoding, predicted_class(pooled, encoding), settings)
        for spec in applicable(specs, example):
            try:
                explain(spec, pooled, decision)
            except UnusableStore:
                raise
            except Exception as error:  # one method must not end hours of the others
                reasons[spec.id] = runner.failure(spec.id, error).reason
            else:
                made += 1
        if number % 25 == 0:
            progress(f"{number} of {len(inputs)} inputs, {time.monotonic() - started:.0f} s")
    return made, reasons


class UnusableStore(ExplanationError):
    """The file of explanations cannot be read or written."""


@dataclass(frozen=True)
class ExplanationStore:
    """The explanations in a folder, which need not exist."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def attribution(self, spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
        """The method's final attribution, stored or computed and then stored; `seconds` and calls are those of the
        computation, and `draws` are not kept. Raises `UnusableStore` where the file cannot be used."""
        key = explanation_key(spec, model, decision)
        with self._connected() as connection:
            found = connection.execute("SELECT attribution FROM explanations WHERE key = ?", (key,)).fetchone()
        if found is not None:
            kept: dict[str, Any] = json.loads(found[0])
            lists = {name: tuple(value) for name, value in kept.items() if isinstance(value, list)}
            return Attribution(encoding=decision.encoding, **{**kept, **lists})
        attribution = replace(final_attribution(spec, model, decision), draws=())
        content = json.dumps({name: getattr(attribution, name) for name in KEPT})
        with self._connected() as connection:
            connection.execute("INSERT OR REPLACE INTO explanations VALUES (?, ?)", (key, content))
        return attribution

    def __len__(self) -> int:
        with self._connected() as connection:
            count: int = connection.execute("SELECT COUNT(*) FROM explanations").fetchone()[0]
        return count

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own, because one must not be taken into a forked process; written at the end."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as connection, connection:
                connection.execute(TABLE)
                yield connection
        except (OSError, sqlite3.Error) as error:
            raise UnusableStore(
                f"The stored explanations in {self.path} cannot be used: {error}. Choose another folder."
            ) from error


def explanation_key(spec: MethodSpec, model: FrozenModel, decision: Decision) -> str:
    """Return a checksum of all that the scores depend on."""
    encoding = decision.encoding
    parts: list[Any] = [
        *(code_checksum(), torch.__version__, model.name, model.version, str(model.device), model.precision),
        *(spec.id, weights_checksum(model, spec.id), decision.settings.as_dict(), decision.label),
        *(repr(decision.target), encoding.shown_texts, repr(encoding.units), encoding.content_key.hex()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def code_checksum() -> str:
    """Return a checksum of the code that explains; a metric or a table that is added later does not change it."""
    digest = hashlib.sha256()
    for package in EXPLAINING:
        for path in sorted((IMPORTED_FROM / "explainers" / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
