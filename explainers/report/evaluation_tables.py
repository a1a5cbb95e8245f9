"""An evaluation as files and as text: JSON, CSV, Parquet, and tables in Markdown for README and terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.evaluation.names import AVGSEN, CONTROLS, RANDOM
from explainers.evaluation.table import summary_frame
from explainers.methods.registry import METHODS, base_id, method_spec
from explainers.metrics.faithfulness import METRICS
from explainers.report.tables import Table, TableColumn, csv_text, key_column, plus_minus
from explainers.results.manifest import strict_json

Row = Mapping[str, Any]
EVIDENCE = {
    "patch_auc": "patches: AUC ↑",
    "patch_pointing": "pointing ↑",
    "patch_iou": "IOU ↑",
    "word_auc": "words: AUC ↑",
    "word_pointing": "pointing (words) ↑",
    "word_iou": "IOU (words) ↑",
}
PLACES = 3  # decimals of AUC, pointing and IOU
EVALUATION = "evaluation.json"  # in a bundle's folder: the evaluation of the shipped weights
NOTE = (
    "Means with half of the 95 % bootstrap interval over texts. ° not clearly better than random orders, by the paired "
    "interval of the difference. † was fitted on each text and selected by AOPC-C and AOPC-S under mask, to which "
    "log-odds and DFFOT are closely related, so only the other operators compare it. All explanations were computed "
    "with the mask operator, whichever operator scores them. AvgSen is measured on fewer texts, and not for methods "
    "that need hundreds of passes per text."
)


def write_tables(rows: Sequence[Row], about: dict[str, Any], out: Path) -> None:
    """`table.json` with everything; `table.csv` and `table.parquet` with a line per method and operator."""
    (out / "table.json").write_text(strict_json({**about, "rows": rows}) + "\n", encoding="utf-8")
    table = summary_frame([dict(row) for row in rows])
    (out / "table.csv").write_text(csv_text(table), encoding="utf-8", newline="\r\n")
    table.to_parquet(out / "table.parquet", index=False)


def row_name(method: str) -> str:
    return CONTROLS[method] if method in CONTROLS else method_spec(method).display_name


def rows_of_operator(rows: Sequence[Row], erasure: str) -> list[Row]:
    """The rows of one operator in the order of display; controls last."""
    order = METHODS.ids

    def position(row: Row) -> tuple[bool, int, str]:
        base = base_id(row["method"])
        return row["method"] in CONTROLS, order.index(base) if base in order else len(order), row["method"]

    return sorted((row for row in rows if row["erasure"] == erasure), key=position)


def evaluation_table() -> Table[Row]:
    """A row per method. ° marks metrics in which it may be no better than random."""
    return Table(
        (
            METHOD,
            *(_judged(metric.id, f"{metric.name} {metric.arrow}", metric.places) for metric in METRICS),
            key_column(AVGSEN, "AvgSen ↓", lambda interval: f"{interval['mean']:.2f}"),
            key_column("calls", written=".0f"),
        )
    )


def evaluation_cells(rows: Sequence[Row], erasure: str) -> list[dict[str, str]]:
    """One operator's table, a dictionary per method."""
    return evaluation_table().cells(rows_of_operator(rows, erasure))


def evaluation_markdown(rows: Sequence[Row], erasure: str) -> str:
    """The same for README and terminal."""
    return evaluation_table().markdown(rows_of_operator(rows, erasure))


def evidence_cells(rows: Sequence[Row], erasure: str) -> list[dict[str, str]]:
    """How well each method finds the evidence, a dictionary per method; empty where no evidence is annotated."""
    return EVIDENCE_TABLE.cells(_with_evidence(rows, erasure))


def evidence_markdown(rows: Sequence[Row], erasure: str) -> str:
    return EVIDENCE_TABLE.markdown(_with_evidence(rows, erasure))


def _with_evidence(rows: Sequence[Row], erasure: str) -> list[Row]:
    return [row for row in rows_of_operator(rows, erasure) if any(name in row for name in EVIDENCE)]


def _judged(metric: str, header: str, places: int) -> TableColumn[Row]:
    """The mean and half its interval; ° where the gain over random may be zero."""

    def doubt(row: Row) -> str:
        gain = row.get(f"{metric}_gain")
        return "°" if row["method"] != RANDOM and gain and not gain["low"] > 0 else ""

    return TableColumn(header, lambda row: row.get(metric), plus_minus(places), note=doubt)


METHOD: TableColumn[Row] = TableColumn("method", lambda row: row_name(row["method"]))
EVIDENCE_TABLE = Table((METHOD, *(_judged(name, title, PLACES) for name, title in EVIDENCE.items())))
