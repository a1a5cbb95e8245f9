"""An evaluation from the Evaluate page: its data are written for a process of its own, and it is queued."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from app.evaluate.data_form import NO_DATA, SubmittedData
from app.login.gate import Account
from app.model_pool import roots
from app.store import Job
from app.train.jobs import Jobs
from app.train.submission import device, discard, runs
from explainers.annotations.formats import archives
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation.set_spec import SetSpec
from explainers.models.model_names import resolve_model_name

MOST_PROCESSES = 8
UNWRITTEN = "The data cannot be written to the disk of the server: {}. Contact the administrator."


def submit(jobs: Jobs, spec: SetSpec, data: SubmittedData, account: Account) -> Job:
    """Queue an evaluation. Raises `ExplanationError` if it cannot be carried out; then nothing stays on the disk."""
    if not data.rows:
        raise ExplanationError(data.problem or NO_DATA)
    spec = replace(
        spec, model=resolve_model_name(spec.model, roots()), device=device(), processes=processes(), out="DIR"
    )
    folder, spec = _written(spec.check(), data)
    return jobs.enqueue(
        Job(
            kind="evaluate",
            method=spec.preset,
            model=spec.model,
            variant=data.name,
            texts=min(spec.most or len(data.rows), len(data.rows)),
            spec_json=spec.as_json(),
            folder=str(folder),
            owner=account.id,
            owner_name=account.name,
        )
    )


def processes() -> int:
    """Return how many processes explain a set: one per core; one alone on a GPU, and where processes cannot fork."""
    import torch

    from explainers.models.foreign.process_limits import can_fork

    accelerated = device() != "cpu" and (torch.cuda.is_available() or torch.backends.mps.is_available())
    return 1 if accelerated or not can_fork() else min(os.cpu_count() or 1, MOST_PROCESSES)


def _written(spec: SetSpec, data: SubmittedData) -> tuple[Path, SetSpec]:
    """Return a new folder with the file as it was given, that no other user may read, and the spec with it."""
    folder = None
    try:
        runs().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="evaluate-", dir=runs()))
        if data.zipped is not None:
            table = data.zipped.unpack(folder / "data", (row.image for row in data.rows))
            return folder, replace(spec, data=str(table), name=data.table, out=str(folder))
        ending = next((suffix for suffix in archives.SUFFIXES if data.name.lower().endswith(suffix)), "")
        file = folder / f"data{ending or Path(data.name).suffix.lower()}"
        file.write_bytes(data.content)
        return folder, replace(spec, data=str(file), name=data.name, out=str(folder))
    except (OSError, DataUnavailable) as error:
        if folder is not None:
            discard(folder)
        if isinstance(error, DataUnavailable):
            raise
        raise ExplanationError(UNWRITTEN.format(error.strerror)) from error
