"""CONS as a table in Markdown."""

from collections.abc import Mapping
from typing import Any

from explainers.evaluation.names import CONTROLS, RANDOM
from explainers.report.evaluation_tables import row_name
from explainers.report.markdown_table import markdown_table

CONSISTENCY = "consistency.json"  # in a bundle's folder and in that of a run
NAMES = {RANDOM: "Random, one order per input"}
NOTE = (
    "CONS (Xie et al., 2024, Eq. 12): Spearman's ρ over all pairs of inputs between the distance of the model's mean "
    "hidden states and the distance of the explanations (ranks at the same relative positions, of mean 0 and length "
    "1). Higher: what the model represents alike is explained alike. Within a class: over pairs of the same predicted "
    "class, ranked within it, as states differ most between classes. Brackets hold the 95 % bootstrap interval over "
    "inputs. ° not clearly above 0."
)


def consistency_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest value first, and how to read it."""
    rows = sorted(table["rows"], key=lambda row: -row.get("cons", {"mean": -2.0})["mean"])
    return "\n\n".join([markdown_table([_cells(row) for row in rows]), NOTE])


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    method = row["method"]
    name = NAMES.get(method) or (CONTROLS[method] if method in CONTROLS else row_name(method))
    if "cons" not in row:
        return {"method": name, "CONS ↑": f"undefined: {row['reason']}", "inputs": f"{row['inputs']:,}"}
    return {
        "method": name,
        "CONS ↑": _interval(row["cons"]),
        **({"within a class ↑": _interval(row["within"])} if "within" in row else {}),
        "inputs": f"{row['inputs']:,}",
    }


def _interval(value: Mapping[str, float]) -> str:
    clear = "" if value["low"] > 0 else "°"
    return f"{value['mean']:.3f}{clear} [{value['low']:.3f}, {value['high']:.3f}]"
