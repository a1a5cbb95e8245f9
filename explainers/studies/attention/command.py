"""`study attention`: what fused attention saves, as assets/docs/attention.md."""

import json
from collections.abc import Mapping
from typing import Any

from explainers.commands.options import show_progress, user_errors
from explainers.installation import ASSETS
from explainers.report.tables import Table, TableColumn, command_block

DOCUMENT, STORED = ASSETS / "docs" / "attention.md", ASSETS / "studies" / "attention.json"
COMMAND = ".venv/bin/python -m explainers study attention"
HEAD = (
    "# Fused attention for masks\n\nMasks of inputs from {long} tokens go through torch's fused attention where the "
    "architecture has it; attention weights and second derivatives come from the library's plain one. Seconds of the "
    "same masks with either, in one thread, the median of pairs one after the other; half of the units are kept. The "
    "weights are random, which take as long as trained ones. The answers are equal to 0.00001."
)
TABLE: Table[Mapping[str, Any]] = Table(
    (
        TableColumn("encoder", lambda row: row["size"]),
        TableColumn("tokens", lambda row: row["tokens"], align="right"),
        TableColumn("operator", lambda row: f"`{row['erasure']}`"),
        TableColumn("masks", lambda row: row["masks"], align="right"),
        TableColumn("plain, s", lambda row: row["plain"], ".3f", align="right"),
        TableColumn("fused, s", lambda row: row["fused"], ".3f", align="right"),
        TableColumn("ratio", lambda row: row["ratio"], ".2f", align="right"),
    )
)


def attention_command() -> None:
    """Measure masks with plain and with fused attention at several lengths, and write the document."""
    with user_errors():
        from explainers.models.states import LONG
        from explainers.studies.attention.measure import rows

        measured = []
        for row in rows():
            measured.append(row)
            show_progress(f"{row['size']}, {row['tokens']} tokens, {row['erasure']}: {row['ratio']:.2f} times as quick")
        STORED.write_text(json.dumps({"command": COMMAND, "rows": measured}) + "\n", encoding="utf-8")
        DOCUMENT.write_text(attention_document(measured, LONG), encoding="utf-8")


def attention_document(measured: list[dict[str, Any]], long: int) -> str:
    """Return the Markdown document."""
    return "\n\n".join([HEAD.format(long=long), TABLE.markdown(measured), command_block(COMMAND)]) + "\n"
