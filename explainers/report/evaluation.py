"""An evaluation as files and as text: JSON, CSV, and tables in Markdown for README and terminal."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from explainers.evaluation_names import AVGSEN, CONTROLS, RANDOM
from explainers.methods import METHODS, chosen
from explainers.metrics.faithfulness import METRICS

Row = dict[str, Any]
EVIDENCE = {
    "patch_auc": "patches: AUC ↑",
    "patch_pointing": "pointing ↑",
    "patch_iou": "IOU ↑",
    "word_auc": "words: AUC ↑",
    "word_pointing": "pointing (words) ↑",
    "word_iou": "IOU (words) ↑",
}
EVALUATION = "evaluation.json"  # in a bundle's folder: the table that is shown
NOTE = (
    "Means with half of the 95 % bootstrap interval over texts. ° not clearly better than random orders, by the paired "
    "interval of the difference. † was fitted on each text and kept by AOPC-C and AOPC-S under mask, of which log-odds "
    "and DFFOT are near kin, so only the other operators compare it. Explanations were made with the mask "
    "operator, whatever they are scored by. AvgSen on fewer "
    "texts, and not for methods that need hundreds of passes for one text."
)


def write(rows: Sequence[Row], about: dict[str, Any], out: Path) -> None:
    """`table.json` with everything, `table.csv` with a line per method and operator."""
    (out / "table.json").write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    with (out / "table.csv").open("w", encoding="utf-8", newline="") as file:
        lines = [flat(row) for row in rows]
        table = csv.DictWriter(file, list(dict.fromkeys(name for line in lines for name in line)), restval="")
        table.writeheader()
        table.writerows(lines)


def flat(row: Row) -> Row:
    """Intervals as three columns."""
    found: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found |= {name: value["mean"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
        else:
            found[name] = value
    return found


def name_of(method: str) -> str:
    if method in CONTROLS:
        return CONTROLS[method]
    (entry,) = chosen([method])
    return f"{entry.name} †" if entry.optimised else entry.name


def ordered(rows: Sequence[Row], erasure: str) -> list[Row]:
    """The rows of one operator in the order of display; controls last."""
    order = [entry.id for entry in METHODS]

    def place(row: Row) -> tuple[bool, int, str]:
        base = row["method"].partition(":")[0]
        return row["method"] in CONTROLS, order.index(base) if base in order else len(order), row["method"]

    return sorted((row for row in rows if row["erasure"] == erasure), key=place)


def cells(rows: Sequence[Row], erasure: str) -> list[dict[str, str]]:
    """One operator's table, a dictionary per method. Figures that may be no better than random carry a °."""
    found = []
    for row in ordered(rows, erasure):
        line = {"method": name_of(row["method"])}
        for metric in METRICS:
            line[f"{metric.name} {'↑' if metric.higher_is_better else '↓'}"] = _cell(row, metric.id)
        line["AvgSen ↓"] = f"{row[AVGSEN]['mean']:.2f}" if AVGSEN in row else "–"
        line["calls"] = f"{row['calls']:.0f}" if "calls" in row else "–"
        found.append(line)
    return found


def markdown(rows: Sequence[Row], erasure: str) -> str:
    """The same for README and terminal."""
    return _table(cells(rows, erasure))


def evidence_markdown(rows: Sequence[Row], erasure: str) -> str:
    return _table(evidence_cells(rows, erasure))


def _table(lines: Sequence[dict[str, str]]) -> str:
    head = list(lines[0]) if lines else ["method"]
    ready = [f"| {' | '.join(line.values())} |" for line in lines]
    return "\n".join([f"| {' | '.join(head)} |", "|---|" + "---|" * (len(head) - 1), *ready])


def evidence_cells(rows: Sequence[Row], erasure: str) -> list[dict[str, str]]:
    """How well each method found the known evidence, a dictionary per method; empty where none is known."""
    return [
        {
            "method": name_of(row["method"]),
            **{title: _cell(row, name) if name in row else "–" for name, title in EVIDENCE.items()},
        }
        for row in ordered(rows, erasure)
        if any(name in row for name in EVIDENCE)
    ]


def _cell(row: Row, metric: str) -> str:
    """The mean and half its interval; ° where the gain over random may be nothing."""
    found = row[metric]
    half = (found["high"] - found["low"]) / 2
    gained = row.get(f"{metric}_gain")
    weak = "°" if row["method"] != RANDOM and gained and gained["low"] <= 0 else ""
    return f"{found['mean']:.3f} ± {half:.3f}{weak}"
