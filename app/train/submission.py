"""A training from the Train page: its spec is checked and its texts are written for a process of its own."""

import csv
import json
import logging
import shutil
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.model_pool import own_device, roots
from app.store import Job
from app.train.processes import OUTPUT
from explainers.datasets.example import Example
from explainers.datasets.images.sets import OWN
from explainers.errors import ExplanationError
from explainers.installation import store
from explainers.models.model_names import resolve_model_name
from explainers.training.artifacts import own_folder
from explainers.training.spec import VARIANT, FitSpec

log = logging.getLogger(__name__)

ABANDONED_AFTER = 600.0  # seconds; by then a folder's job is in the store


def device() -> str:
    """The device on which the app computes."""
    return own_device()


def runs() -> Path:
    """Where the folders of all trainings lie."""
    return store().resolve() / "runs"


def checked(spec: FitSpec) -> FitSpec:
    """The spec with the real path of its model, and the app's device. Raises `ExplanationError` if it cannot be carried
    out."""
    if not VARIANT.fullmatch(spec.variant):
        raise ExplanationError(
            "The name of the result needs a small letter or a digit first; then small letters, digits, points, dashes "
            "and underscores may follow, 40 in all."
        )
    return replace(spec, model=resolve_model_name(spec.model, roots()), device=device())


def written(spec: FitSpec, texts: Sequence[Example]) -> tuple[Path, FitSpec]:
    """A new folder that no other user of the machine may read, and the spec with it and the file of its texts, if any.
    Where that fails, nothing of them stays."""
    folder = None
    try:
        runs().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{spec.method}-{spec.variant}-", dir=runs()))
        if texts and texts[0].image is not None:
            table, images = _images(folder, texts)
            return folder, replace(spec, folder=str(folder), data=str(table), format=OWN, images=str(images))
        return folder, replace(spec, folder=str(folder), data=str(_texts(folder, texts)) if texts else "")
    except OSError as error:
        if folder is not None:
            discard(folder)
        reason = f"The texts cannot be written to the disk of the server: {error.strerror}. Contact the administrator."
        raise ExplanationError(reason) from error


def discard(folder: Path) -> None:
    """Removes the folder of a training. Raises `ExplanationError` if it stays. Any other folder is left alone."""
    if folder.resolve().parent != runs():
        return
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ExplanationError(f"The files of the training cannot be deleted: {error.strerror}. Try again.") from error


def own_weights(job: Job, details: dict[str, Any] | None) -> Path | None:
    """The file of the weights that this training made, `details` being the card that it printed; None where they were
    deleted, or replaced by another training or command."""
    version, checksum = (details or {}).get("model", {}).get("version", ""), (details or {}).get("sha256")
    path = own_folder(job.model, version) / f"{job.method}-{job.variant}.safetensors"
    try:
        present = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")).get("sha256")
    except (OSError, ValueError):
        return None
    return path if version and checksum and present == checksum else None


def discard_weights(path: Path) -> None:
    """Removes weights and their card. Raises `ExplanationError` if they stay."""
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
    except OSError as error:
        raise ExplanationError(f"The weights cannot be deleted: {error.strerror}. Try again.") from error


def remove_leftovers(named: Collection[str]) -> int:
    """Removes the texts that an app wrote just before it crashed: folders older than some minutes whose training never
    began and which no job has, by their names. Returns how many other folders there are that no job has."""
    unknown = 0
    for folder in sorted(runs().iterdir()) if runs().is_dir() else ():
        if folder.name in named or folder.is_symlink() or not folder.is_dir():
            continue
        try:
            if (folder / OUTPUT).exists():  # perhaps the job of another database
                unknown += 1
            elif time.time() - folder.stat().st_mtime > ABANDONED_AFTER:
                discard(folder)
                log.warning("removed %s: its training was never queued", folder.name)
        except (OSError, ExplanationError) as error:  # the trainings go on all the same
            log.warning("%s cannot be removed: %s", folder.name, error)
    return unknown


def _images(folder: Path, texts: Sequence[Example]) -> tuple[Path, Path]:
    """A table, and the folder of the images that it names."""
    path, images = folder / "texts.csv", folder / "images"
    images.mkdir()
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("text", "image"))
        for number, text in enumerate(texts):
            if text.image is not None:
                (images / str(number)).write_bytes(text.image.content)
                table.writerow((text.text, str(number)))
    return path, images


def _texts(folder: Path, texts: Sequence[Example]) -> Path:
    """A line for each or, where some are pairs or have lines of their own, a table."""
    if not any(text.pair or len(text.text.splitlines()) > 1 for text in texts):
        path = folder / "texts.txt"
        path.write_text("".join(f"{text.text}\n" for text in texts), encoding="utf-8")
        return path
    path = folder / "texts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("text", "pair"))
        table.writerows((text.text, text.pair or "") for text in texts)
    return path
