"""Which narrator to use: what each reads, what ties its sentence to the model, and how its reasons did on unseen
inputs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from explainers.methods.narrator_specs import NARRATORS, NarratorSpec, narrator_spec
from explainers.report.sentence_tables import RIGHT
from explainers.report.text import join_names
from explainers.report.track_record import percent

Rows = Sequence[Mapping[str, Any]]
PICKED = "picked_of_ten"
TIES = {
    "phi": "nothing",
    "phi_ts": "its class: a second classifier recovers the model's probabilities",
    "cause": "its class: that classifier also follows exchanges of neurons",
}
COLUMNS = {RIGHT: "right", PICKED: "picks its input of ten"}


def overview_cells(tables: Mapping[str, Rows]) -> list[dict[str, str]]:
    """A row per narrator; `tables` are the evaluations' rows by model."""
    judged = {model: column for model, rows in tables.items() if (column := _judged(rows))}
    return [
        {
            "narrator": spec.name,
            "reads": _reads(spec),
            "ties its sentence to the model": TIES[spec.losses],
            **{
                f"{COLUMNS[column]}, {model}": _share(tables[model], spec.id, column)
                for model, column in judged.items()
            },
        }
        for spec in NARRATORS
    ]


def advice(tables: Mapping[str, Rows]) -> list[str]:
    """A sentence per model with such metrics: whose reasons did best."""
    return [_advice(model, column, rows) for model, rows in tables.items() if (column := _judged(rows))]


def _judged(rows: Rows) -> str:
    """By what reasons are judged: by rules where there are any; empty where neither was measured."""
    return next((column for column in COLUMNS if any(column in row for row in rows)), "")


def _share(rows: Rows, method: str, column: str) -> str:
    row = next((each for each in rows if each["method"] == method and column in each), None)
    return "" if row is None else percent(row[column]["mean"])


def _advice(model: str, column: str, rows: Rows) -> str:
    measured = sorted((row for row in rows if column in row), key=lambda row: -row[column]["mean"])
    level = [row for row in measured if row[column]["high"] >= measured[0][column]["mean"]]
    shares = [f"{narrator_spec(row['method']).name} ({percent(row[column]['mean'])})" for row in level]
    if column == RIGHT:
        return (
            f"On {model} reasons are right most often from {join_names(shares)}, of the unseen inputs that the model "
            "classified correctly."
        )
    return (
        f"On {model} nothing tells whether reasons are right. Those that share more words with their own input than "
        f"with nine others of its class come most often from {join_names(shares)}."
    )


def _reads(spec: NarratorSpec) -> str:
    if not spec.reads_tokens:
        return "the state from which the model predicts"
    return "the words" if spec.reads == "words" else "the states of all tokens too"
