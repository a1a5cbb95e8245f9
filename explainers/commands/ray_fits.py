"""Trainings by the workers of a Ray cluster (extra `ray`): each is one task, with one core or one GPU.

A task gets the training as JSON and the file of the texts, and sends back weights and card, which this process puts
where a training here would have written them. Folders, of a model, of its data or of images, are the same on every
machine. A task whose worker dies begins again on another one; one that fails does not end the others.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from explainers.errors import DataUnavailable, ExplanationError
from explainers.installation import VERSION
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.catalog import load
from explainers.models.ray_cluster import connected
from explainers.training.artifacts import replacement_note, weights_file, write_files
from explainers.training.spec import AUTO, FitSpec, read_spec

OTHER_VERSION = "a worker of the cluster has Crosslight {} instead of {}. All need the same version."
OTHER_MODEL = "a worker of the cluster has another {}. All need the same model."
Fit = Callable[[FitSpec], dict[str, Any]]


class Sent(TypedDict):
    """What a task sends back: the card and the files by name, or the sentence that says why there are none."""

    card: dict[str, Any]
    files: dict[str, bytes]
    problem: str


def fits_with_ray(
    specs: Sequence[FitSpec], workers: int, address: str, fit: Fit, progress: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Yield the cards as the trainings of one model end, in any order, at most so many `workers` at once. `fit` is what
    a worker calls; `address` is that of a cluster, or empty for one on this machine.

    Raises `ExplanationError` for what a task cannot do, where Ray or the cluster is not there, and at the end for the
    trainings that failed.
    """
    for spec in specs:
        _check(spec)
    model = load(specs[0].model, device="cpu")  # what has to be fetched is asked for here
    for note in filter(None, (replacement_note(spec, model.name, model.version) for spec in specs)):
        progress(note)
    sent_specs = [_sendable(replace(spec, model=model.name)) for spec in specs]
    problems: list[str] = []
    with connected(workers, address) as ray:
        gpus = ray.cluster_resources().get("GPU", 0) and any(spec.device.startswith((AUTO, "cuda")) for spec in specs)
        task = ray.remote(num_cpus=1, num_gpus=1 if gpus else None, max_retries=3)(fitted)
        to_come, running, done = list(zip(specs, sent_specs, strict=True)), dict[Any, FitSpec](), 0
        while to_come or running:
            while to_come and len(running) < workers:
                spec, sendable = to_come.pop(0)
                running[task.remote(*sendable, model.version, VERSION, fit)] = spec
            (ready, *_), _ = ray.wait(list(running), num_returns=1)
            spec, sent = running.pop(ready), ray.get(ready)
            done += 1
            if sent["problem"]:
                problems.append(f"{spec.title}: {sent['problem']}")
                continue
            _store(spec, sent)
            progress(f"{spec.title} is fitted, {done} of {len(specs)}.")
            say_warnings(sent["card"], progress)
            yield sent["card"]
    if problems:
        raise ExplanationError("\n".join(problems))


def say_warnings(card: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Say what the card of a training warns of."""
    for warning in card.get("warnings", ()):
        say(f"{card['method']}: {warning}")


def fitted(content: str, data: bytes | None, model: str, version: str, fit: Fit) -> Sent:
    """On a worker: the training in `content`, on the file of texts in `data` if there is one. `model` and `version`
    are those of the model and of Crosslight where it was asked for."""
    import torch

    torch.set_num_threads(1)
    if version != VERSION:
        return _failed(OTHER_VERSION.format(VERSION, version))
    spec = read_spec(content)
    with tempfile.TemporaryDirectory() as folder:
        out, texts = Path(folder) / "out", Path(folder) / "texts" / Path(spec.data).name
        if data is not None:
            texts.parent.mkdir()
            texts.write_bytes(data)
            spec = replace(spec, data=str(texts))
        try:
            if load(spec.model, device="cpu").version != model:
                return _failed(OTHER_MODEL.format(spec.model))
            card = fit(replace(spec, out=str(out), folder=str(Path(folder) / "run")))
        except ExplanationError as error:
            return _failed(str(error))
        return Sent(card=card, files={path.name: path.read_bytes() for path in out.iterdir()}, problem="")


def _failed(problem: str) -> Sent:
    return Sent(card={}, files={}, problem=problem)


def _check(spec: FitSpec) -> None:
    for name, given in (("--full", spec.full), ("--resume", spec.resume), ("--folder", bool(spec.folder))):
        if given:
            raise ExplanationError(f"{name} does not go with --engine ray. Omit one of them.")
    spec.check()
    if spec.method in NARRATORS.ids:
        from explainers.narrative import fit as narrator_fit

        narrator_fit.recipe_for(spec)
    else:
        from explainers.learned import fit as learned_fit

        learned_fit.recipe_for(spec)
    if spec.data_path is not None and not spec.data_path.exists():
        raise DataUnavailable(f"The file or folder {spec.data_path} does not exist.")


def _sendable(spec: FitSpec) -> tuple[str, bytes | None]:
    """The training as JSON, and the file of its texts; a folder is read where the task runs, on the GPU that it has."""
    path = spec.data_path
    data = path.read_bytes() if path is not None and path.is_file() and not spec.format else None
    absolute = str(path.resolve()) if path is not None else ""
    images = str(Path(spec.images).resolve()) if spec.images else ""
    device = "cuda" if spec.device.startswith("cuda") else spec.device
    return replace(spec, data=absolute, images=images, device=device, out="").as_json(), data


def _store(spec: FitSpec, sent: Sent) -> None:
    """Put weights and card into the training's folder, or into that of the model in the store."""
    model = sent["card"]["model"]
    write_files(weights_file(spec, model["name"], model["version"]).parent, sent["files"])
