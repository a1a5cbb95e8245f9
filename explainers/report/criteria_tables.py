"""IvRA's criteria against each other: what weights trained for one or several reach in each (Xie et al., Fig. 5)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from explainers.methods.registry import METHODS
from explainers.report.consistency_tables import CONSISTENCY
from explainers.report.evaluation_tables import EVALUATION
from explainers.report.markdown_table import markdown_table
from explainers.report.simulatability_tables import SIMULATABILITY

METHOD, ERASURE = "ivra", "mask"
COLUMNS = {"sim": "SIM, accuracy ↑", "comp": "AOPC-C ↑", "suff": "AOPC-S ↓", "cons": "CONS ↑"}
LOWER_IS_BETTER = ("suff",)
NOTE = (
    "In brackets the relative gain over weights of the same norm that were trained for the column's criterion alone "
    f"(cf. Xie et al., 2024, Fig. 5). AOPC-C and AOPC-S are those of the operator `{ERASURE}`. "
    "The columns were measured on different numbers of inputs, as the sections above say."
)


def criteria_section(folder: Path) -> Iterator[str]:
    """From the files of a bundle's folder; nothing where weights or measurements for several criteria are missing."""
    recipes = _recipes(folder / "learned")
    measured = _measured(folder)
    rows = {
        (recipe["criterion"], recipe["norm"]): measured[id]
        for id, recipe in recipes.items()
        if set(measured.get(id, ())) == set(COLUMNS)
    }
    if len({criterion for criterion, _ in rows}) < 2:
        return
    yield "## Criteria against each other"
    yield markdown_table(
        [
            {
                "trained for": ", ".join((*criterion.split("+"), norm)),
                **{
                    name: _cell(values[each], each, rows.get((each, norm)) if each != criterion else None)
                    for each, name in COLUMNS.items()
                },
            }
            for (criterion, norm), values in rows.items()
        ]
    )
    yield NOTE


def _cell(value: float, criterion: str, alone: Mapping[str, float] | None) -> str:
    if alone is None or alone[criterion] <= 0:
        return f"{value:.3f}"
    gain = value / alone[criterion] - 1
    percent = f"{100 * (-gain if criterion in LOWER_IS_BETTER else gain):+.0f}"
    return f"{value:.3f} ({'0' if percent in ('+0', '-0') else percent} %)"


def _recipes(folder: Path) -> dict[str, Mapping[str, Any]]:
    """By method id, without the baseline that weighs heads only."""
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"{METHOD}-*.json"))]
    default = METHODS.get(METHOD).default_variant
    ids = [METHOD if card["variant"] == default else f"{METHOD}:{card['variant']}" for card in cards]
    return {id: card["recipe"] for id, card in zip(ids, cards, strict=True) if not card["recipe"]["smat"]}


def _measured(folder: Path) -> dict[str, dict[str, float]]:
    """By method id the criteria that were measured."""
    values: dict[str, dict[str, float]] = {}
    for row in _rows(folder / EVALUATION):
        if row["erasure"] == ERASURE:
            values.setdefault(row["method"], {}).update(comp=row["aopc_c"]["mean"], suff=row["aopc_s"]["mean"])
    for row in _rows(folder / CONSISTENCY):
        if "cons" in row:
            values.setdefault(row["method"], {})["cons"] = row["cons"]["mean"]
    for row in _rows(folder / SIMULATABILITY):
        if "accuracy" in row:
            values.setdefault(row["method"], {})["sim"] = row["accuracy"]
    return values


def _rows(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.is_file() else []
