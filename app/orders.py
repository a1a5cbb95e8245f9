"""What a person asks to be trained, checked and written down so that a process of its own can do it."""

import csv
import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.engine import DEVICE_VARIABLE, roots
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.weights import VARIANT, store
from explainers.models.names import permitted


@dataclass(frozen=True)
class Order:
    """`settings` are hyperparameters, name to value, as they would be typed."""

    method: str
    model: str
    variant: str
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()

    def arguments(self, data: str) -> list[str]:
        """Of the command line, for the texts in the file `data`; without one for those of the model's generator."""
        settings = [part for name, value in self.settings for part in ("--set", f"{name}={value}")]
        device = os.environ.get(DEVICE_VARIABLE, "")
        return [
            *("fit", self.method, "--model", self.model, *(("--data", data) if data else ())),
            *("--variant", self.variant, "--seed", str(self.seed), *settings),
            *(("--device", device) if device else ()),
        ]

    def typed(self, data: str) -> str:
        """The command as a person would type it."""
        return shlex.join(["python", "-m", "explainers", *self.arguments(data)])


def runs() -> Path:
    """Where the folders of all trainings lie."""
    return store().resolve() / "runs"


def checked(order: Order) -> Order:
    """The order with the real path of its model. Raises `ExplanationError` if it cannot be carried out."""
    if not VARIANT.fullmatch(order.variant):
        raise ExplanationError(
            "The name of the result needs a small letter or a digit first; then small letters, digits, points, dashes "
            "and underscores may follow, 40 in all."
        )
    return replace(order, model=permitted(order.model, roots()))


def written(order: Order, texts: Sequence[Example]) -> tuple[Path, str]:
    """A new folder of its own that nobody else on the machine may read, and in it the file with the texts, if any."""
    try:
        runs().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{order.method}-{order.variant}-", dir=runs()))
        return folder, str(_texts(folder, texts)) if texts else ""
    except OSError as error:
        raise ExplanationError(f"The texts cannot be written to {runs()}: {error.strerror}.") from error


def _texts(folder: Path, texts: Sequence[Example]) -> Path:
    """A line for each or, where some are pairs or have lines of their own, a table."""
    if not any(each.pair or len(each.text.splitlines()) > 1 for each in texts):
        path = folder / "texts.txt"
        path.write_text("".join(f"{each.text}\n" for each in texts), encoding="utf-8")
        return path
    path = folder / "texts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("text", "pair"))
        table.writerows((each.text, each.pair or "") for each in texts)
    return path
