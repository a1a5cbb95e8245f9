"""The prediction and the explanations of an item, computed ahead and kept with it, as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from explainers.models.inputs.encoding import Encoding, Unit

CHANGED_MODEL = "The model has changed since the other methods explained this item."


@dataclass(frozen=True)
class PreparedMap:
    """One method's scores of the units, and by metric id how faithful they are."""

    scores: tuple[float, ...]
    signed: bool
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """`label` is the number of the model's class, `names` are those of the texts, `version` is the model's. A
    method that failed is missing in `maps` or `sentences`, and has its reason in `failures`; `attempts` were made."""

    texts: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    label: int = 0
    probabilities: tuple[float, ...] = ()
    version: str = ""
    maps: dict[str, PreparedMap] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    attempts: int = 1

    def missing(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Those of these methods and narrators that have no explanation."""
        return tuple(id for id in methods if id not in self.maps and id not in self.sentences)

    def joined(self, later: "Prepared") -> "Prepared":
        """With the explanations of a later attempt; those that are there stay. An attempt with another version of the
        model counts, and adds nothing: its maps may be of other units."""
        if (later.version, later.units) != (self.version, self.units) and (later.maps or later.sentences):
            reasons = {id: CHANGED_MODEL for id in (*later.maps, *later.sentences)}
            return self.joined(replace(self, maps={}, sentences={}, failures=reasons))
        failures = {**self.failures, **later.failures}
        maps, sentences = {**later.maps, **self.maps}, {**later.sentences, **self.sentences}
        return replace(
            self,
            maps=maps,
            sentences=sentences,
            failures={id: reason for id, reason in failures.items() if id not in maps and id not in sentences},
            attempts=self.attempts + 1,
        )

    @property
    def encoding(self) -> Encoding:
        """The texts and units, without what the model reads."""
        return Encoding(self.texts, self.units, (), (), ())

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)


def read_prepared(content: str) -> Prepared:
    """From `as_json`."""
    row: dict[str, Any] = json.loads(content)
    return Prepared(
        texts=tuple(row["texts"]),
        units=tuple(_unit(each) for each in row["units"]),
        names=tuple(row["names"]),
        labels=tuple(row["labels"]),
        label=row["label"],
        probabilities=tuple(row["probabilities"]),
        version=row["version"],
        maps={
            id: PreparedMap(tuple(each["scores"]), each["signed"], each["metrics"]) for id, each in row["maps"].items()
        },
        sentences=row["sentences"],
        failures=row.get("failures", {}),  # items that were prepared by an earlier version have neither
        attempts=row.get("attempts", 1),
    )


def _unit(row: dict[str, Any]) -> Unit:
    box = None if row["box"] is None else tuple(row["box"])
    return Unit(row["text"], row["start"], row["end"], row["segment"], box)
