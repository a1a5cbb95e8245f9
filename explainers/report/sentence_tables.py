"""Tables of what narrators say: right reasons, words of their own input, and words that the model uses.

Below the narrators stand what they are compared with: random training sentences and the given reasons.
"""

from collections.abc import Sequence
from typing import Any

from explainers.methods.narrator_specs import narrator_spec
from explainers.report.markdown_table import markdown_table
from explainers.report.text import UNDEFINED

Row = dict[str, Any]
RIGHT = "reason_right"
TRUTH = (
    ("reason_true", "reason true of the input ↑"),
    ("reason_on_topic", "on topic ↑"),
    (RIGHT, "right: true and on topic ↑"),
    ("reason_undecided", "cannot be told"),
    ("reason_true_elsewhere", "control: true of another input"),
)
MEANING = (
    ("own_words", "content words in its own input"),
    ("other_words", "in another input of its class"),
    ("own_minus_other", "difference ↑"),
    ("picked_of_ten", "picks its input of ten ↑"),
    ("copies_input", "longest run of words from its input ↓"),
    ("distinct_per_100", "different sentences per 100 ↑"),
)
SCORES = (
    ("bertscore_precision", "BERTScore with MiniLM: precision ↑"),
    ("bertscore_recall", "recall ↑"),
    ("bertscore_f1", "F1 ↑"),
)
USE = (
    ("names_words", "names words of the input"),
    ("word_effect", "p falls further without these than without random words ↑"),
    ("content_word_effect", "than without random content words ↑"),
)
READER = (
    ("c2_agreement", "agreement F1 of C2 ↑"),
    ("ccmr_c2", "CCMR read by C2 ↑"),
    ("reader_directions", "directions of F(c)"),
    ("reader_followed", "hidden exchanges that C2 follows ↑"),
)
EFFECTS = ("word_effect", "content_word_effect")


def row_name(row: Row) -> str:
    """Of a narrator, or of what narrators are compared with."""
    return str(row["name"]) if "name" in row else narrator_spec(row["method"]).name


def sentence_markdown(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> list[str]:
    """The tables of which there are metrics; earlier evaluations lack some."""
    return [markdown_table(cells) for cells in sentence_cells(rows, baselines)]


def sentence_cells(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> list[list[dict[str, str]]]:
    """The same tables, each as a dictionary per row."""
    every = [*rows, *baselines]
    tables = [_cells(every, truth_columns(rows)), *(_cells(every, columns) for columns in (MEANING, SCORES, USE))]
    tables.append(_cells([row for row in rows if "reader_directions" in row], READER))
    return [cells for cells in tables if cells]


def truth_markdown(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> str:
    """How often the reasons are true, on topic and right, also by class; empty where that was not checked."""
    cells = _cells([*rows, *baselines], truth_columns(rows))
    return markdown_table(cells) if cells else ""


def truth_columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    classes = dict.fromkeys(name for row in rows for name in row if _of_class(name))
    return [*TRUTH[:3], *((name, f"right: {name.removeprefix(f'{RIGHT}_')}") for name in classes), *TRUTH[3:]]


def _of_class(name: str) -> bool:
    return name.startswith(f"{RIGHT}_") and not name.endswith("_gain")


def _cells(rows: Sequence[Row], columns: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """A line per row; empty if no row has a value. Columns that no row has are left out."""
    shown = [(name, title) for name, title in columns if any(row.get(name) is not None for row in rows)]
    if not shown:
        return []
    return [{"method": row_name(row)} | {title: _cell(name, row.get(name)) for name, title in shown} for row in rows]


def _cell(name: str, value: dict[str, float] | float | None) -> str:
    if value is None:
        return UNDEFINED
    if not isinstance(value, dict):
        return f"{value:.3f}" if name == "reader_followed" else f"{value:.1f}"
    return with_bounds(value) if name in EFFECTS else with_interval(value)


def with_interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} ± {(value['high'] - value['low']) / 2:.3f}"


def with_bounds(value: dict[str, float]) -> str:
    return f"{value['mean']:+.3f} [{value['low']:+.3f}, {value['high']:+.3f}]"
