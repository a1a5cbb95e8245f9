"""What the model and the methods said about an item, computed ahead and kept with it, as JSON."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from explainers.models.inputs.encoding import Encoding, Unit


@dataclass(frozen=True)
class PreparedMap:
    """One method's scores of the units, and by metric id how faithful they are."""

    scores: tuple[float, ...]
    signed: bool
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """`label` is the number of the model's class, `names` are those of the texts, `version` is the model's. What fails
    is missing in `maps` or `sentences`."""

    texts: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    label: int = 0
    probabilities: tuple[float, ...] = ()
    version: str = ""
    maps: dict[str, PreparedMap] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)

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
    )


def _unit(row: dict[str, Any]) -> Unit:
    box = None if row["box"] is None else tuple(row["box"])
    return Unit(row["text"], row["start"], row["end"], row["segment"], box)
