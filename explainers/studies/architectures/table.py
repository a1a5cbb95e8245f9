"""The families in two tables: the rank of the planted word by method, and why something does not work."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from explainers.evaluation.record_file import Record
from explainers.methods.registry import method_spec
from explainers.report.tables import Table, TableColumn, command_block
from explainers.studies.architectures.measure import FEWEST, LEARNED, METHODS, MOST

METHODS_AND_LEARNED = (*METHODS, *LEARNED)
HEAD = (
    "# Which architectures can be explained\n\n"
    "Small models of two layers, one per family of `transformers`, each trained until one planted word decides its "
    "class, saved to a folder and opened like any other model. A cell is the mean rank of that word among the "
    f"{FEWEST} to {MOST} words of a text, 1 being the highest score; by chance it is about 5. The learned methods were "
    "fitted for a few epochs on few texts, so their ranks say that they work and not how good they can be. The "
    "operator is that which the command line takes by default. A dash stands for a reason below. Gradient × input is "
    "the slope at the text, which is nearly flat where a model is as sure as these are: the sign of next to nothing "
    "may put the word last."
)


def documented(stored: Record) -> str:
    """Return the document of the stored rows."""
    rows: Sequence[Record] = stored["rows"]
    opened = [row for row in rows if "refused" not in row]
    parts = [HEAD, command_block(stored["command"])]
    for title in ("Encoders", "Decoders", "Encoder-decoders"):
        parts += [f"## {title}", RANKS.markdown([row for row in opened if _title(row) == title])]
    reasons = [(row["family"], ", ".join(names), reason) for row in opened for reason, names in reasons_of(row).items()]
    refused = [(row["family"], "all", row["refused"]) for row in rows if "refused" in row]
    parts += ["## What does not work, and why", REASONS.markdown([*reasons, *refused])]
    return "\n\n".join(parts) + "\n"


def reasons_of(row: Record) -> dict[str, list[str]]:
    """Return the names of the methods without ranks by reason."""
    names: dict[str, list[str]] = {}
    for method in sorted(row["reasons"].keys() - row["ranks"].keys(), key=METHODS_AND_LEARNED.index):
        names.setdefault(row["reasons"][method], []).append(method_spec(method).name)
    return names


def _title(row: Record) -> str:
    if row.get("encoder_decoder"):
        return "Encoder-decoders"
    return "Decoders" if row["decoder"] else "Encoders"


def _rank(method: str) -> Callable[[Record], Any]:
    return lambda row: float(np.mean(row["ranks"][method])) if row["ranks"].get(method) else None


RANKS: Table[Record] = Table(
    (
        TableColumn("family", lambda row: f"`{row['family']}`"),
        TableColumn("accuracy", lambda row: row["accuracy"], ".2f"),
        TableColumn("operator", lambda row: row["erasure"]),
        *(TableColumn(method_spec(method).name, _rank(method), ".1f") for method in METHODS_AND_LEARNED),
    )
)
REASONS: Table[tuple[str, str, str]] = Table(
    (
        TableColumn("family", lambda row: f"`{row[0]}`"),
        TableColumn("method", lambda row: row[1]),
        TableColumn("reason", lambda row: row[2]),
    )
)
