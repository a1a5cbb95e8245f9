"""`python -m explainers study architectures`: which families can be explained, as assets/docs/architectures.md."""

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import Seed, show_progress, split_ids, user_errors
from explainers.installation import ASSETS

DOCUMENT, STORED = ASSETS / "docs" / "architectures.md", ASSETS / "studies" / "architectures.json"


def architectures_command(
    families: Annotated[str, typer.Option(help="Families, separated by commas; by default all of them.")] = "",
    inputs: Annotated[int, typer.Option(min=1, help="Texts per family.")] = 20,
    seed: Seed = 0,
) -> None:
    """Train a small model of every family in which a planted word decides, and rank that word by every method."""
    with user_errors(), tempfile.TemporaryDirectory() as folder:
        from explainers.errors import ExplanationError
        from explainers.installation import STORE_VARIABLE
        from explainers.studies.architectures.measure import FAMILIES, measured
        from explainers.studies.architectures.table import documented

        known = {family.kind: family for family in FAMILIES}
        chosen = split_ids(families) if families else tuple(known)
        if unknown := sorted(set(chosen) - set(known)):
            raise ExplanationError(f"Unknown family {unknown[0]!r}. Choose from: {', '.join(known)}.")
        os.environ[STORE_VARIABLE] = str(Path(folder) / "store")
        old = json.loads(STORED.read_text(encoding="utf-8"))["rows"] if families else []
        rows = {row["family"]: row for row in old}
        command = f".venv/bin/python -m explainers study architectures --inputs {inputs} --seed {seed}"
        STORED.parent.mkdir(parents=True, exist_ok=True)
        for kind in chosen:
            show_progress(kind)
            rows[kind] = measured(known[kind], Path(folder), inputs, seed)
            stored = {"command": command, "rows": [rows[name] for name in known if name in rows]}
            STORED.write_text(json.dumps(stored) + "\n", encoding="utf-8")
        DOCUMENT.write_text(documented(stored), encoding="utf-8")
