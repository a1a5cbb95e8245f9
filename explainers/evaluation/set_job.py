"""Carries out the evaluation of a set; its result.

The rows of the result in the folder of the set never change: `inputs.parquet` and `methods.parquet` (see `set_frames`);
with sanity checks there is also `sanity.parquet` (see `sanity_summary`). `manifest.json` has the checksums of model,
weights, data and files, versions, settings and the command.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from explainers.datasets.example import UNSEEN
from explainers.datasets.labelled_rows import InputRow, ReadRows, read_file
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation import eraser_rows, measurement, names, record_file, sanity_summary, set_frames, shards
from explainers.evaluation.explain_batch import SetPlan
from explainers.evaluation.own_rows import own_rows
from explainers.evaluation.set_spec import ERASER, OWN, TABLE, WHOLE, SetSpec, offered_methods, parse_shard
from explainers.methods.registry import check_applicable, select
from explainers.models import catalog, worker_processes
from explainers.models.frozen_model import FrozenModel
from explainers.models.ray_cluster import LOCAL
from explainers.results.manifest import strict_json
from explainers.training.artifacts import check_fitted

INPUTS_FILE, METHODS_FILE, MANIFEST_FILE = "inputs.parquet", "methods.parquet", "manifest.json"
SANITY_FILE = "sanity.parquet"
NAMED = 200  # rows that are left out and named in the manifest


def run_set(spec: SetSpec, progress: Callable[[str], None]) -> dict[str, Any]:
    """Explain the rows, or go on where an earlier attempt stopped; return the manifest, of a part what was done.

    On a CPU a process computes with one thread, so that the numbers do not depend on how many processes there are.
    """
    spec.check()
    if spec.format != OWN and not spec.data:
        raise DataUnavailable("Name the file of the rows with --data FILE, or add --format own.")
    shard = parse_shard(spec.shard)
    model = catalog.load(spec.model, device=spec.device, precision=spec.precision)
    if spec.engine == LOCAL:
        worker_processes.check_processes(spec.processes, model.device)
    read = read_data(spec, model)
    rows = read.rows
    if read.split:
        progress(f"Part {read.split} of {spec.title}, inputs: {len(rows):,}")
    plan = plan_of(spec, model, rows)
    out = Path(spec.out)
    if model.device.type == "cpu":
        torch.set_num_threads(1)
    started, first = time.monotonic(), 0
    about, own = _about(spec, read, plan), len(shard.of(rows))
    engine = None if spec.engine == LOCAL else _ray_engine(spec, model, plan)
    for number, done in enumerate(shards.run_shard(model, plan, rows, about, out, shard, spec.processes, engine)):
        first = done if number == 0 else first
        seconds = time.monotonic() - started
        left = seconds / (done - first) * (own - done) if done > first else None
        progress(f"{done} of {own} inputs, {seconds:.0f} s" + (f", about {left:.0f} s left" if left else ""))
    if spec.shard == WHOLE:
        manifest = write_set(shards.merge(out), out)
        return _with_checks(spec, model, rows, about, progress) if spec.checked else manifest
    return {"shard": spec.shard, "inputs": own, "file": shard.file}


def read_data(spec: SetSpec, model: FrozenModel) -> ReadRows:
    """Return the rows to explain. Raises `DataUnavailable` if the data cannot be used."""
    path = Path(spec.data)
    if model.multimodal and spec.format != TABLE:
        raise DataUnavailable(
            f"{model.name} reads images with texts. Give a table with --data and the column of the images with "
            "--image-column."
        )
    if model.multimodal and not spec.columns.image:
        raise DataUnavailable(
            f"{model.name} reads images with texts. Name the column of the images in a table with --image-column."
        )
    if spec.columns.image and not model.multimodal:
        raise DataUnavailable(f"{model.name} reads no images. Omit their column or choose a multimodal model.")
    if spec.format == OWN:
        own = path if spec.data else None
        return own_rows(spec.model, own, spec.split or UNSEEN[0], model.labels, model.input_names, spec.most, spec.seed)
    if spec.format == ERASER:
        part = eraser_rows.eraser_part(path, spec.name or path.name, spec.split)
        return part.rows(model.labels, model.input_names, spec.columns.classes, spec.most, spec.seed)
    if path.is_dir():
        raise DataUnavailable(
            f"{path} is a folder. Give a table, or say with --format what is in it: own, the data of an embedded "
            "model, or eraser, an ERASER data set."
        )
    return read_file(path, spec.columns, model.labels, model.input_names, spec.most, spec.seed)


def _ray_engine(spec: SetSpec, model: FrozenModel, plan: SetPlan) -> shards.Engine:
    from explainers.evaluation.ray_engine import explain_with_ray
    from explainers.models.ray_cluster import check_reachable, name_for_workers

    if not (Path(spec.out) / parse_shard(spec.shard).file).exists():
        check_reachable(spec.address)  # before a file is begun
    name = name_for_workers(spec.model)
    return lambda rows: explain_with_ray(name, model, plan, rows, spec.processes, spec.address)


def _with_checks(
    spec: SetSpec,
    model: FrozenModel,
    rows: Sequence[InputRow],
    about: dict[str, Any],
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Run the sanity checks of a set that is written already, and write it with what they found; return the manifest.

    The command in the manifest is then that with the checks. Whether a method stays with another seed is asked of the
    method, not of what is left of it in a brief evaluation: the explanations are always thorough.
    """
    from explainers.evaluation.sanity import SanityPlan, checked_rows, run_checks, steps_of

    plan = plan_of(replace(spec, thorough=True), model, rows)
    out, chosen = Path(spec.out), checked_rows(model, plan, rows, spec.checked)
    processes = 1 if spec.address else spec.processes  # those of a cluster are not of this machine
    worker_processes.check_processes(processes, model.device)
    for done in run_checks(model, SanityPlan(plan, spec.smooth), chosen, about["data"], out, processes):
        progress(f"sanity checks: {done} of {len(chosen)} inputs")
    ids = {row.id for row in chosen}
    records = [record for record in record_file.read_records(out / names.SANITY_RECORDS) if record["id"] in ids]
    frame, devices = sanity_summary.sanity_frame(records, steps_of(model)), devices_of(records)
    return write_set(shards.merge(out), out, frame, spec.shell_command(), devices)


def plan_of(spec: SetSpec, model: FrozenModel, rows: Sequence[InputRow]) -> SetPlan:
    """Return methods and settings. Raises `ExplanationError` for those that the model or the rows do not suit."""
    spec = replace(spec, erasure=spec.erasure or model.default_erasure)
    if spec.erasure not in model.erasures:
        raise ExplanationError(
            f"Unknown erasure operator {spec.erasure!r}. Choose one of: {', '.join(model.erasures)}."
        )
    images = str(Path(spec.data).resolve().parent) if spec.columns.image else ""
    check_applicable(spec.methods, SetPlan((), images=images).example(rows[0]))
    offered = offered_methods(
        model.name, model.version, pairs=rows[0].pair is not None, multimodal=bool(spec.columns.image)
    )
    specs = select(spec.methods) if spec.methods else offered
    check_fitted(model.name, model.version, specs)
    methods = spec.methods and tuple(spec.id for spec in specs if not spec.is_random)
    return SetPlan(methods or spec.chosen_preset.methods(specs), spec.settings, images, spec.thorough)


def devices_of(records: Iterable[record_file.Record]) -> set[str]:
    """Return the names of the devices on which the rows were explained."""
    return {record["device"] for record in records if "device" in record}


def write_set(
    stored: shards.StoredSet,
    out: Path,
    sanity: pd.DataFrame | None = None,
    command: str = "",
    checked_on: Collection[str] = (),
) -> dict[str, Any]:
    """Write the frames and the manifest; return the manifest. What is there is replaced in one step each. The command
    is the one that is stored, unless another one is given. The `sanity` checks ran on the devices `checked_on`."""
    plan = stored.about["plan"]
    rows, methods = frames_of(stored)
    frames = {INPUTS_FILE: rows, METHODS_FILE: methods} | ({} if sanity is None else {SANITY_FILE: sanity})
    for name, frame in frames.items():
        fresh = out / f"{name}.new"
        frame.to_parquet(fresh, index=False)
        fresh.replace(out / name)
    manifest = {
        **{name: value for name, value in stored.about.items() if name not in ("ids", "plan")},
        **plan,
        **({"command": command} if command else {}),
        "inputs": len(rows),
        "devices": sorted(devices_of(stored.records).union(checked_on)),
        "precisions": measurement.precision_counts(
            (r["id"], r["precision"]) for r in stored.records if "precision" in r
        ),
        "failed": int((rows["status"] == "failed").sum()),
        "files": {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in frames},
    }
    fresh = out / f"{MANIFEST_FILE}.new"
    fresh.write_text(strict_json(manifest) + "\n", encoding="utf-8")
    fresh.replace(out / MANIFEST_FILE)
    return manifest


def frames_of(stored: shards.StoredSet) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows, and the rows by method, of a set or of the part of it that is there."""
    plan = stored.about["plan"]
    return set_frames.row_frame(stored.records, plan["labels"]), set_frames.method_frame(
        stored.records, plan["metrics"], plan["operators"]
    )


def read_set(out: Path) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """Return the manifest and both frames of a finished set. Raises `DataUnavailable` if there is none."""
    try:
        manifest = json.loads((out / MANIFEST_FILE).read_text(encoding="utf-8"))
        return manifest, pd.read_parquet(out / INPUTS_FILE), pd.read_parquet(out / METHODS_FILE)
    except (OSError, ValueError) as error:
        raise DataUnavailable(f"{out} holds no finished evaluation. Run it, or put its parts together.") from error


def read_sanity(out: Path) -> pd.DataFrame:
    """Return what the sanity checks of a finished set found; without rows where its manifest names none."""
    try:
        named = SANITY_FILE in json.loads((out / MANIFEST_FILE).read_text(encoding="utf-8"))["files"]
        return pd.read_parquet(out / SANITY_FILE) if named else sanity_summary.sanity_frame([], [])
    except OSError:
        return sanity_summary.sanity_frame([], [])


def _about(spec: SetSpec, read: ReadRows, plan: SetPlan) -> dict[str, Any]:
    """Return where the rows are from, and the command; without the sanity checks, which change no record."""
    spec = replace(spec, sanity=None, smooth=0)
    data = {
        "name": spec.title,
        "sha256": read.sha256,
        **_form(spec, read),
        "left_out": read.left_out,
        "problems": list(read.problems[:NAMED]),
        **({"images": images_checksum(plan.images, read.rows)} if plan.images else {}),
    }
    return {"command": spec.shell_command(), "data": data}


def _form(spec: SetSpec, read: ReadRows) -> dict[str, Any]:
    """Return which columns of a table were read, or which part of a data set that has parts."""
    columns = {name: column for name, column in asdict(spec.columns).items() if column}
    if spec.format == TABLE:
        return {"columns": columns}
    classes = {"classes": columns["classes"]} if spec.columns.classes else {}
    return {"format": spec.format, "split": read.split, **classes}


def images_checksum(folder: str, rows: Sequence[InputRow]) -> str:
    """Return the SHA-256 of the names and contents of the images that the rows name."""
    digest = hashlib.sha256()
    for name in sorted({row.image for row in rows}):
        with Path(folder, name).open("rb") as file:
            digest.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return digest.hexdigest()
