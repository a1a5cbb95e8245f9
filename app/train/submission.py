"""A training from the Train page: its spec is checked and its texts are written for a process of its own."""

import csv
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.model_pool import DEVICE_VARIABLE, roots
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.model_names import resolve_model_name
from explainers.training.artifacts import store
from explainers.training.fit_spec import VARIANT, FitSpec


def device_arguments() -> list[str]:
    """The command line's flag for the device on which the app computes, if one was chosen."""
    device = os.environ.get(DEVICE_VARIABLE, "")
    return ["--device", device] if device else []


def runs() -> Path:
    """Where the folders of all trainings lie."""
    return store().resolve() / "runs"


def checked(spec: FitSpec) -> FitSpec:
    """The spec with the real path of its model. Raises `ExplanationError` if it cannot be carried out."""
    if not VARIANT.fullmatch(spec.variant):
        raise ExplanationError(
            "The name of the result needs a small letter or a digit first; then small letters, digits, points, dashes "
            "and underscores may follow, 40 in all."
        )
    return replace(spec, model=resolve_model_name(spec.model, roots()))


def written(spec: FitSpec, texts: Sequence[Example]) -> tuple[Path, FitSpec]:
    """A new folder that no other user of the machine may read, and the spec with the file of its texts, if any."""
    try:
        runs().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{spec.method}-{spec.variant}-", dir=runs()))
        return folder, replace(spec, data=str(_texts(folder, texts)) if texts else "")
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
