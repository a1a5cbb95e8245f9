"""How often a narrator's sentences were right on unseen inputs, from the stored evaluation of the shipped weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.report.evaluation_tables import EVALUATION
from explainers.report.sentence_tables import RIGHT
from explainers.training.artifacts import available_artifacts

Row = dict[str, Any]
QUESTION = "right on unseen inputs"


@dataclass(frozen=True)
class TrackRecord:
    """In a word or two, and in sentences for a tooltip; `right` is the share of right reasons, None where not known."""

    answer: str
    detail: str
    right: float | None = None


def track_record(model: str, narrator: str) -> TrackRecord | None:
    """None for weights that are not the shipped ones, and for narrators that the stored evaluation lacks."""
    folder = BUNDLES / model / "narrative"
    if model not in bundle_names() or not (folder / EVALUATION).is_file():
        return None
    used = next((each for each in available_artifacts(model, "", "narrative") if each.method == narrator), None)
    if used is None or used.path.parent != folder:
        return None
    table = _table(folder / EVALUATION, (folder / EVALUATION).stat().st_mtime_ns)
    if table["model"]["version"] != used.card["model"]["version"]:
        return None
    row = next((each for each in table["rows"] if each["method"] == narrator), None)
    return None if row is None else _record(row, judged_reasons(table["data"]))


def judged_reasons(data: Mapping[str, Any]) -> int:
    """On how many inputs an evaluation has judged the reasons."""
    return int(data.get("reasons", data["pairs"]))


@lru_cache(maxsize=16)
def _table(path: Path, _changed: int) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


def _record(row: Row, inputs: int) -> TrackRecord | None:
    if RIGHT in row:
        return TrackRecord(
            percent(row[RIGHT]["mean"]),
            f"Of the unseen inputs that the model classified correctly, {_share(row[RIGHT])} got a reason "
            "that was right: true, and about what the known reason is about. Of all "
            f"{inputs:,}, {_share(row['reason_true'])} got one that was true.",
            row[RIGHT]["mean"],
        )
    if "own_words" in row:
        return TrackRecord(
            "not known",
            f"Nothing checks whether its reasons are right. On {inputs:,} unseen inputs {_share(row['own_words'])} of "
            f"their content words stood in the input itself, and {percent(row['other_words']['mean'])} in another one "
            f"of the same class; {_share(row['picked_of_ten'])} of the reasons share more of them with their own input "
            "than with nine others.",
        )
    return None


def _share(value: dict[str, float]) -> str:
    return f"{percent(value['mean'])} [{value['low'] * 100:.0f}, {value['high'] * 100:.0f}]"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"
