"""Explanations kept in a folder, so that every measurement of a set reads them and none explains an input again.

An explanation is looked up by everything that it depends on: the code of the methods and models and the versions of the
libraries, the model with its device and precision, the method with its weights, the settings, the input with its units,
and the class. The file holds a checksum of these and the scores, but no text. Several processes may read and write it.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from explainers.comparison.decision import card_of, encode_units
from explainers.datasets.example import Example
from explainers.evaluation.measurement import (
    Explain,
    UnusableStore,
    explained_by,
    final_attribution,
    predicted_class,
    weights_checksum,
)
from explainers.installation import IMPORTED_FROM
from explainers.methods.registry import METHODS, MethodSpec, applicable, base_id
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.results.events import Failure

FILE = "explanations.sqlite"
EXPLAINING = ("attribution", "comparison", "learned", "methods", "metrics", "models", "results")  # decide the scores
WAIT = 60.0  # seconds for another process that is writing
TABLE = "CREATE TABLE IF NOT EXISTS explanations (key TEXT PRIMARY KEY, attribution TEXT NOT NULL) WITHOUT ROWID"
KEPT = tuple(field.name for field in fields(Attribution) if field.name not in ("encoding", "draws"))


def explaining(folder: Path | None) -> Explain:
    """Return how a set is explained: with what the folder holds, or without one always anew."""
    return final_attribution if folder is None else ExplanationStore(folder).attribution


@contextmanager
def saying_how_many_are_new(folder: Path | None, progress: Callable[[str], None]) -> Iterator[None]:
    """Say at the end how many explanations were added to the folder, if there is one."""
    before = 0 if folder is None else len(ExplanationStore(folder))
    yield
    if folder is not None:
        after = len(ExplanationStore(folder))
        progress(f"{after:,} explanations in {folder}, of which {after - before:,} are new.")


def explain_set(
    model: FrozenModel,
    inputs: Sequence[Example],
    specs: Sequence[MethodSpec],
    settings: Settings,
    explain: Explain,
    progress: Callable[[str], None],
) -> dict[str, str]:
    """Explain the predicted class of every input that has units, by every method that applies.

    Returns by method why one failed, which ends neither the others nor the set. Raises `UnusableStore`.
    """
    started, reasons = time.monotonic(), dict[str, str]()
    for number, example in enumerate(inputs, 1):
        pooled = model.pooled(PredictionCache())
        decision = _decision(pooled, example, settings)
        if decision is not None:
            for spec, result in explained_by(specs, pooled, decision, explain):
                if isinstance(result, Failure):
                    reasons[spec.id] = result.reason
        if number % 25 == 0:
            progress(f"{number} of {len(inputs)} inputs, {time.monotonic() - started:.0f} s")
    return reasons


def _decision(model: FrozenModel, example: Example, settings: Settings) -> Decision | None:
    """What is explained of the input; None where it has no units."""
    encoding = encode_units(model, example, settings)
    return Decision(card_of(model), encoding, predicted_class(model, encoding), settings) if encoding.units else None


def missing_explanations(
    store: "ExplanationStore",
    model: FrozenModel,
    example: Example,
    specs: Sequence[MethodSpec],
    settings: Settings,
) -> dict[str, str]:
    """Return by key the methods that apply to the input, and whose explanation is not in the store."""
    decision = _decision(model, example, settings)
    if decision is None:
        return {}
    kept = filter(is_declared, applicable(specs, example))
    keys = {explanation_key(spec, model, decision): spec.id for spec in kept}
    known = store.contents(keys)
    return {key: method for key, method in keys.items() if key not in known}


@dataclass(frozen=True)
class ExplanationStore:
    """The explanations in a folder, which need not exist."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def attribution(self, spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
        """The method's final attribution, stored or computed and then stored; `seconds` and calls are those of the
        computation, and `draws` are not kept. That of another package's method is always computed, because its code is
        not known here. Raises `UnusableStore`.
        """
        if not is_declared(spec):
            return final_attribution(spec, model, decision)
        key = explanation_key(spec, model, decision)
        with self._connected() as connection:
            row = connection.execute("SELECT attribution FROM explanations WHERE key = ?", (key,)).fetchone()
        if row is not None:
            stored: dict[str, Any] = json.loads(row[0])
            lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
            return Attribution(encoding=decision.encoding, **{**stored, **lists})
        attribution = replace(final_attribution(spec, model, decision), draws=())
        self.add({key: explanation_content(attribution)})
        return attribution

    def contents(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the stored explanations of these keys, by key."""
        with self._connected() as connection:
            rows = (
                connection.execute("SELECT key, attribution FROM explanations WHERE key = ?", (key,)) for key in keys
            )
            return dict(row for found in rows for row in found)

    def add(self, contents: Mapping[str, str]) -> None:
        """Store explanations, as `explanation_content` gives them, by their keys."""
        with self._connected() as connection:
            connection.executemany("INSERT OR REPLACE INTO explanations VALUES (?, ?)", contents.items())

    def __len__(self) -> int:
        with self._connected() as connection:
            count: int = connection.execute("SELECT COUNT(*) FROM explanations").fetchone()[0]
        return count

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own, because one must not be taken into a forked process; written at the end."""
        if self.folder.is_file():
            raise UnusableStore(f"{self.folder} is a file. Name a folder for the explanations.")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as connection, connection:
                connection.execute(TABLE)
                yield connection
        except (OSError, sqlite3.Error) as error:
            raise UnusableStore(
                f"The stored explanations in {self.path} cannot be used: {error}. Choose another folder."
            ) from error


def explanation_content(attribution: Attribution) -> str:
    """Return what is stored of an explanation."""
    return json.dumps({name: getattr(attribution, name) for name in KEPT})


def is_declared(spec: MethodSpec) -> bool:
    """Return whether the method is one of this package, whose code is in the checksum."""
    return base_id(spec.id) in {declared.id for declared in METHODS.declared}


def explanation_key(spec: MethodSpec, model: FrozenModel, decision: Decision) -> str:
    """Return a checksum of all that the scores depend on."""
    encoding = decision.encoding
    parts: list[Any] = [
        *(code_checksum(), asdict(card_of(model)), model.precision, decision.settings.as_dict()),
        *(spec.id, repr(spec.made_with(decision.settings)), weights_checksum(model, spec.id)),
        *(decision.label, decision.versus, encoding.shown_texts, repr(encoding.units), encoding.content_key.hex()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def code_checksum() -> str:
    """Return a checksum of the code that explains; a table or a paper's metric that is added does not change it."""
    digest = hashlib.sha256()
    for package in EXPLAINING:
        for path in sorted((IMPORTED_FROM / "explainers" / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
