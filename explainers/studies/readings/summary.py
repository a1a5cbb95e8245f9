"""What the readings say of each narrator's weights, for the app: `assets/readings/summary.json`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from explainers.metrics.bootstrap import wilson
from explainers.studies.readings import measure


def summary(folder: Path = measure.FOLDER) -> str:
    """A JSON list with an entry for each narrator of each reading whose card names the weights that wrote."""
    entries: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.card.json")):
        name, about = path.name.partition(".")[0], json.loads(path.read_text(encoding="utf-8"))
        key = measure.read_key(folder / f"{name}.key.jsonl")
        marks = {
            file.name.split(".")[2]: measure.read_marks(file, key)
            for file in sorted(folder.glob(f"{name}.marks.*.csv"))
        }
        for writer in measure.writers(key) if marks else ():
            own = [id for id, entry in key.items() if entry.writer == writer]
            right = [id for id in own if key[id].right]
            entries.append(
                {
                    "reading": name,
                    "model": about["model"],
                    "writer": writer,
                    "sha256": "" if writer == measure.PEOPLE else about["weights"][writer],
                    "readers": sorted(marks),
                    "inputs": len(own),
                    "grammatical": share(own, marks, lambda mark: bool(mark["grammatical"])),
                    "holds": share(own, marks, measure.holds),
                    "holds_where_right": share(right, marks, measure.holds),
                }
            )
    return json.dumps(entries, indent=2) + "\n"


def share(ids: Sequence[str], marks: measure.Marks, judge: Callable[[measure.Mark], bool]) -> dict[str, float]:
    """The mean share of the readers, its 95 % interval over sentences (Wilson), and their number."""
    yes = float(np.mean([sum(judge(own[id]) for id in ids) for own in marks.values()]))
    low, high = wilson(yes, len(ids))
    return {"mean": yes / max(len(ids), 1), "low": low, "high": high, "n": len(ids)}
