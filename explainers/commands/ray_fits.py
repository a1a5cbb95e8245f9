"""Trainings by the workers of a Ray cluster (extra `ray`): each is one task, with one core or one GPU.

A task gets the training as JSON and the file of the texts, and sends back weights and card, which this process puts
where a training here would have written them. Folders, of a model, of its data or of images, are the same on every
machine. A task whose worker dies begins again on another one.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from explainers.errors import ExplanationError
from explainers.installation import VERSION, make_store, store
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.ray_cluster import connected
from explainers.training.artifacts import Family, own_folder
from explainers.training.spec import AUTO, FitSpec, read_spec

OTHER_VERSION = "A worker of the cluster has Crosslight {} instead of {}. All need the same version."
Fit = Callable[[FitSpec], dict[str, Any]]


class Sent(TypedDict):
    """What a task sends back: the card and the files by name, or the sentence that says why there are none."""

    card: dict[str, Any]
    files: dict[str, bytes]
    problem: str


def fits_with_ray(
    specs: Sequence[FitSpec], workers: int, address: str, fit: Fit, progress: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Yield the cards as the trainings end, in any order. `fit` is what a worker calls; `address` is that of a cluster,
    or empty for one of so many workers on this machine.

    Raises `ExplanationError` for the first training that fails, for what a task cannot do, and where Ray or the cluster
    is not there.
    """
    for spec in specs:
        _check(spec)
    with connected(workers, address) as ray:
        gpus = ray.cluster_resources().get("GPU", 0) and any(spec.device.startswith((AUTO, "cuda")) for spec in specs)
        task = ray.remote(num_cpus=1, num_gpus=1 if gpus else None, max_retries=3)(fitted)
        waiting = {task.remote(*_sendable(spec), VERSION, fit): spec for spec in specs}
        done = 0
        while waiting:
            (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
            spec, sent = waiting.pop(ready), ray.get(ready)
            if sent["problem"]:
                raise ExplanationError(sent["problem"])
            _store(spec, sent)
            done += 1
            progress(f"{spec.method}{f' ({spec.name})' if spec.name else ''} is fitted, {done} of {len(specs)}.")
            yield sent["card"]


def fitted(content: str, data: bytes | None, version: str, fit: Fit) -> Sent:
    """On a worker: the training in `content`, on the file of texts in `data` if there is one."""
    import torch

    torch.set_num_threads(1)
    if version != VERSION:
        return Sent(card={}, files={}, problem=OTHER_VERSION.format(VERSION, version))
    spec = read_spec(content)
    with tempfile.TemporaryDirectory() as folder:
        out, texts = Path(folder) / "out", Path(folder) / Path(spec.data).name
        if data is not None:
            texts.write_bytes(data)
            spec = replace(spec, data=str(texts))
        try:
            card = fit(replace(spec, out=str(out), folder=str(Path(folder) / "run")))
        except ExplanationError as error:
            return Sent(card={}, files={}, problem=f"{spec.method}: {error}")
        return Sent(card=card, files={path.name: path.read_bytes() for path in out.iterdir()}, problem="")


def _check(spec: FitSpec) -> None:
    for name, given in (("--full", spec.full), ("--resume", spec.resume), ("--folder", bool(spec.folder))):
        if given:
            raise ExplanationError(f"{name} does not go with --engine ray. Omit one of them.")
    spec.check()


def _sendable(spec: FitSpec) -> tuple[str, bytes | None]:
    """The training as JSON, and the file of its texts; a folder is read where the task runs."""
    path = spec.data_path
    try:
        data = path.read_bytes() if path is not None and path.is_file() and not spec.format else None
    except OSError as error:
        raise ExplanationError(f"The file {path} cannot be read: {error.strerror}.") from error
    absolute = str(path.resolve()) if path is not None else ""
    images = str(Path(spec.images).resolve()) if spec.images else ""
    return replace(spec, data=absolute, images=images).as_json(), data


def _store(spec: FitSpec, sent: Sent) -> None:
    """Put weights and card into the training's folder, or into that of the model in the store; the card last."""
    model = sent["card"]["model"]
    family: Family = "narrative" if spec.method in NARRATORS.ids else "learned"
    target = Path(spec.out) if spec.out else own_folder(model["name"], model["version"], family)
    if target.resolve().is_relative_to(store().resolve()):
        make_store()
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(sent["files"], key=lambda name: name.endswith(".json")):
        fresh = target / f"{name}.new"
        fresh.write_bytes(sent["files"][name])
        fresh.replace(target / name)
