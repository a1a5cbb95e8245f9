"""What a training has logged so far: losses by step, metrics and warnings by epoch."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

LOG = "log.jsonl"  # as explainers.training.loop names it, which would bring torch with it


@dataclass(frozen=True)
class Epoch:
    """After `number` epochs, or parts of one: the metrics on held-out texts, by id."""

    number: float
    step: int
    seconds: float
    metrics: dict[str, float]
    warnings: tuple[str, ...]


@dataclass
class Log:
    """`terms` are the losses by name and step; `steps` is how many there will be."""

    steps: int = 0
    texts: int = 0
    total_epochs: int = 0
    recipe: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, dict[int, float]] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)
    moment: float = 0.0  # of the last line

    @property
    def step(self) -> int:
        return max((max(values, default=0) for values in self.terms.values()), default=0)

    @property
    def epoch(self) -> int:
        """The one that is running, from 1. Validations may be more frequent than epochs, so steps count."""
        return min(self.step * self.total_epochs // max(self.steps, 1) + 1, self.total_epochs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the last epoch."""
        return self.epochs[-1].warnings if self.epochs else ()

    def add_start(self, line: dict[str, Any]) -> None:
        """The first line; after a resumption a later one, which takes back what came after the last epoch."""
        self.steps, self.texts, self.recipe = int(line["steps"]), int(line["texts"]), dict(line["recipe"])
        self.total_epochs = int(self.recipe.get("epochs", 0))
        last = self.epochs[-1].step if self.epochs else 0
        self.terms = {
            name: {step: value for step, value in values.items() if step <= last} for name, values in self.terms.items()
        }

    def add_step(self, line: dict[str, Any]) -> None:
        for name, value in line["terms"].items():
            self.terms.setdefault(str(name), {})[int(line["step"])] = float(value)

    def add_epoch(self, line: dict[str, Any]) -> None:
        metrics = {str(name): float(value) for name, value in line["validation"].items()}
        warnings = tuple(str(warning) for warning in line.get("warnings", ()))
        self.epochs.append(Epoch(float(line["epoch"]), int(line["step"]), float(line["seconds"]), metrics, warnings))


def read(folder: Path) -> Log | None:
    """The log so far; None as long as there is none."""
    try:
        status = (folder / LOG).stat()
    except OSError:
        return None
    return _read(folder / LOG, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _read(path: Path, _size: int, moment: int) -> Log:
    log = Log(moment=moment / 1e9)
    for line in _lines(path):
        if "steps" in line:
            log.add_start(line)
        elif "terms" in line:
            log.add_step(line)
        elif "validation" in line:
            log.add_epoch(line)
    return log


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Those that are whole: the last one may be on its way."""
    try:
        content = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for text in content.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def pace(log: Log, since: tuple[int, float] | None) -> float | None:
    """Seconds per step: measured since a step and its moment, or over the finished epochs."""
    if since is not None and log.step > since[0] and log.moment > since[1]:
        return (log.moment - since[1]) / (log.step - since[0])
    if log.epochs and log.epochs[-1].step:
        return log.epochs[-1].seconds / log.epochs[-1].step
    return None
