"""Many comparisons as one table, for a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explainers.report import wording
from explainers.report.answer import heading
from explainers.report.summary import part_name
from explainers.report.tables import Table, TableColumn

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

Numbered = tuple[int, "Comparison"]
MOST = 50  # rows; the rest is counted


def comparisons_fragment(comparisons: Sequence["Comparison"]) -> str:
    """Return HTML with a row per input: its number from 0, its index in a series, its texts, what is predicted and
    which words carry that."""
    shown = list(enumerate(comparisons))[:MOST]
    left = len(comparisons) - len(shown)
    rest = f"<small>{wording.counted(left, 'more input')}, after the first {MOST}; to_frame() has all of them.</small>"
    return f"{TABLE.html(shown)}{rest if left else ''}"


def _index(row: Numbered) -> str | None:
    return None if row[1].index is None else wording.one_line(str(row[1].index))


def _texts(row: Numbered) -> str:
    encoding = row[1].decision.encoding
    image = ["(image)"] if encoding.image else []
    return " → ".join([*(wording.one_line(text) for text in encoding.texts), *image])


def _predicted(row: Numbered) -> str:
    comparison = row[1]
    return wording.one_line(comparison.decision.card.labels[comparison.predicted])


def _answer(row: Numbered) -> str:
    answer = row[1].answer
    if answer is None:
        return ""
    said = heading(answer, row[1])
    return f"{said}: {answer.refusal}" if answer.refusal else said


def _failures(row: Numbered) -> str | None:
    return " ".join(f"{part_name(failure.method)}: {failure.reason}" for failure in row[1].failures) or None


TABLE: Table[Numbered] = Table(
    (
        TableColumn("input", lambda row: row[0]),
        TableColumn("index", _index, optional=True),
        TableColumn("text", _texts),
        TableColumn("predicted", _predicted),
        TableColumn("p", lambda row: row[1].probabilities[row[1].predicted], wording.decimals),
        TableColumn("answer", _answer),
        TableColumn("failed", _failures, optional=True),
    )
)
