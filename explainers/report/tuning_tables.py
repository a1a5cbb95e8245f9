"""The search for AML's λ as a table in Markdown."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.report.markdown_table import command_block, markdown_table

TUNING = "tuning.json"  # in a bundle's folder and in that of a run
SELECTIONS = {"difference": "AOPC-C minus AOPC-S", "comp": "AOPC-C", "suff": "AOPC-S"}
NOTE = (
    "Every trial is a training of {epochs} epochs on {texts} texts, scored on {validation} validation texts under the "
    "operator `mask`, after its better epoch by AOPC-C minus AOPC-S (cf. Barkan et al., 2024, section 3.1: Optuna, 30 "
    "trials of 2 epochs). First come the λ of the shipped weights, which are trained for longer."
)


def tuning_section(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    table = json.loads(path.read_text(encoding="utf-8"))
    yield "## AML's λ"
    yield command_block(table["command"])
    yield tuning_markdown(table)


def tuning_markdown(table: Mapping[str, Any]) -> str:
    """All trials in their order, with what each is best at, and how they were made."""
    best = {select: table["trials"].index(trial) for select, trial in table["best"].items()}
    rows = [_cells(number, trial, best) for number, trial in enumerate(table["trials"])]
    return "\n\n".join([NOTE.format_map(table), markdown_table(rows), *_sentences(table["trials"], best)])


def _cells(number: int, trial: Mapping[str, Any], best: Mapping[str, int]) -> dict[str, str]:
    comp, suff = trial["aopc_c"], trial["aopc_s"]
    return {
        "trial": f"{number}" + (f": λ of `{trial['variant']}`" if "variant" in trial else ""),
        "λ_p": f"{trial['lambda_p']:.2f}",
        "λ_inv": f"{trial['lambda_inv']:.2f}",
        "λ_a": f"{trial['lambda_a']:.2f}",
        "AOPC-C ↑": f"{comp:.3f}",
        "AOPC-S ↓": f"{suff:.3f}",
        "difference ↑": f"{comp - suff:.3f}",
        "best by": ", ".join(SELECTIONS[select] for select, at in best.items() if at == number),
    }


def _sentences(trials: Sequence[Mapping[str, Any]], best: Mapping[str, int]) -> Iterator[str]:
    """By how much the best trial of each criterion is better than the λ that are shipped for it."""
    shipped = {trial["variant"]: trial for trial in trials if "variant" in trial}
    gains = {select: _value(trials[at], select) - _value(shipped[select], select) for select, at in best.items()}
    figures = ", ".join(f"{gain:.3f} in {SELECTIONS[select]}" for select, gain in gains.items())
    yield f"The best trial is better than the λ that are shipped for the criterion by {figures}."


def _value(trial: Mapping[str, Any], select: str) -> float:
    comp, suff = trial["aopc_c"], trial["aopc_s"]
    return float({"difference": comp - suff, "comp": comp, "suff": -suff}[select])
