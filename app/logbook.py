"""What a training has written about itself, read while it goes on: losses by step, figures and alarms by epoch."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

LOG = "log.jsonl"  # as explainers.learned.fitting names it, which would bring torch with it


@dataclass(frozen=True)
class Epoch:
    """After epoch `number`: the figures on held-out texts, by metric id."""

    number: int
    step: int
    seconds: float
    figures: dict[str, float]
    alarms: tuple[str, ...]


@dataclass
class Log:
    """`terms` are the losses by name and step; `steps` is how many there will be."""

    steps: int = 0
    texts: int = 0
    epochs_wanted: int = 0
    recipe: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, dict[int, float]] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)
    moment: float = 0.0  # of the last line

    @property
    def step(self) -> int:
        return max((max(values, default=0) for values in self.terms.values()), default=0)

    @property
    def alarms(self) -> tuple[str, ...]:
        """Those of the last epoch."""
        return self.epochs[-1].alarms if self.epochs else ()

    def begun(self, line: dict[str, Any]) -> None:
        """The first line; after a resumption a later one, which takes back what came after the last epoch."""
        self.steps, self.texts, self.recipe = int(line["steps"]), int(line["texts"]), dict(line["recipe"])
        self.epochs_wanted = int(self.recipe.get("epochs", 0))
        last = self.epochs[-1].step if self.epochs else 0
        self.terms = {
            name: {step: value for step, value in values.items() if step <= last} for name, values in self.terms.items()
        }

    def stepped(self, line: dict[str, Any]) -> None:
        for name, value in line["terms"].items():
            self.terms.setdefault(str(name), {})[int(line["step"])] = float(value)

    def validated(self, line: dict[str, Any]) -> None:
        figures = {str(name): float(value) for name, value in line["validation"].items()}
        said = tuple(str(each) for each in line.get("alarms", ()))
        self.epochs.append(Epoch(int(line["epoch"]), int(line["step"]), float(line["seconds"]), figures, said))


def read(folder: Path) -> Log | None:
    """The log so far; None as long as there is none."""
    try:
        found = (folder / LOG).stat()
    except OSError:
        return None
    return _read(folder / LOG, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=16)
def _read(path: Path, _size: int, moment: int) -> Log:
    log = Log(moment=moment / 1e9)
    for line in _lines(path):
        if "steps" in line:
            log.begun(line)
        elif "terms" in line:
            log.stepped(line)
        elif "validation" in line:
            log.validated(line)
    return log


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Those that are whole: the last one may be on its way."""
    try:
        content = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in content.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def pace(log: Log, since: tuple[int, float] | None) -> float | None:
    """Seconds per step: measured since a step and moment at which someone looked, or over the finished epochs."""
    if since is not None and log.step > since[0] and log.moment > since[1]:
        return (log.moment - since[1]) / (log.step - since[0])
    if log.epochs and log.epochs[-1].step:
        return log.epochs[-1].seconds / log.epochs[-1].step
    return None


def duration(seconds: float) -> str:
    """In the words of a person who waits."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
