"""The test or validation part of an embedded model's data, as rows."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from explainers.datasets import labelled_rows
from explainers.datasets.example import Example
from explainers.models import tasks

PAIR, LABEL = "text_pair", "label"


def own_rows(
    model: str, data: Path | None, split: str, labels: Sequence[str], input_names: Sequence[str], most: int, seed: int
) -> labelled_rows.ReadRows:
    """Return the inputs of the part, or `most` of them, as `labelled_rows.read_rows` those of a table.

    Raises `DataUnavailable` for a model that is not embedded, an unknown part, and data that cannot be read.
    """
    records = [
        (number, _cells(example, labels)) for number, example in enumerate(tasks.split_of(model, data, split), 1)
    ]
    columns = labelled_rows.Columns("text", PAIR if len(input_names) == 2 else "", LABEL)
    digest = hashlib.sha256(json.dumps([cells for _, cells in records], sort_keys=True).encode()).hexdigest()
    name = f"the {split} part of {model}"
    read = labelled_rows.rows_of(lambda: records, name, digest, columns, labels, input_names, most, seed)
    return replace(read, split=split)


def _cells(example: Example, labels: Sequence[str]) -> dict[str, str]:
    return {
        "text": example.text,
        PAIR: example.pair or "",
        LABEL: "" if example.label is None else labels[example.label],
    }
