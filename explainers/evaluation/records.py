"""The file texts.jsonl of an evaluation: its signature, then a record for every input and method.

{"text": number, "method": id, "weights": checksum, "figures": {operator: {metric id: value}}, "evidence": {…}, …}
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from explainers.errors import ExplanationError
from explainers.evaluation.names import CONTROLS
from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import METRICS
from explainers.models.frozen_model import FrozenModel
from explainers.training.artifacts import find_artifact

FILE = "texts.jsonl"
Record = dict[str, Any]
RecordKey = tuple[int, str, str]  # number of the input, method id, checksum of the weights


def resume(path: Path, signature: Record) -> set[RecordKey]:
    """Prepares the file for more records; returns the keys of those that need not be computed again.

    Failed records, and records without one of the registered metrics, are dropped. Raises `ExplanationError` if the
    file has another signature.
    """
    lines = list(_complete_lines(path)) if path.is_file() else []
    if lines and lines[0] != signature:
        raise ExplanationError(f"{path} belongs to another evaluation. Choose another folder or delete it.")
    kept = [record for record in lines[1:] if _is_complete(record)]
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(line) + "\n" for line in (signature, *kept)), encoding="utf-8")
    fresh.replace(path)
    return {(record["text"], record["method"], record["weights"]) for record in kept}


def read_records(out: Path, methods: Iterable[str], model: FrozenModel) -> list[Record]:
    """The records of the controls and of these methods with their current weights."""
    current = {(method, weights_checksum(model, method)) for method in (*methods, *CONTROLS)}
    records = list(_complete_lines(out / FILE))[1:]
    return [record for record in records if (record["method"], record["weights"]) in current]


def weights_checksum(model: FrozenModel, method: str) -> str:
    """12 digits that change when the weights of a method are fitted again; empty if it has no weights."""
    if method in CONTROLS:
        return ""
    spec, variant = method_spec(method), method.partition(":")[2]
    if not spec.learns:
        return ""
    try:
        return str(find_artifact(model.name, model.version, spec.weights_of, variant).card["sha256"])[:12]
    except ExplanationError:
        return ""


def _is_complete(record: Record) -> bool:
    ids = set(METRICS.ids)
    return "failed" not in record and all(ids <= set(values) for values in record["figures"].values())


def _complete_lines(path: Path) -> Iterator[Record]:
    """Up to the first line that is not whole, because the evaluation was interrupted there."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
