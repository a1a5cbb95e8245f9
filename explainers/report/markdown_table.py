"""Small pieces of Markdown: a table, a command, a percentage, an interval."""

from collections.abc import Mapping, Sequence

from explainers.metrics.intervals import Interval


def markdown_table(rows: Sequence[Mapping[str, str]]) -> str:
    """A table with every key of the rows as a column; "–" where a row lacks it. A pipe in a cell is escaped."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[row.get(name, "–").replace("|", "\\|") for name in head] for row in rows]
    return "\n".join([_line(head), "|" + "---|" * len(head), *map(_line, lines)])


def command_block(command: str) -> str:
    return f"```sh\n{command}\n```"


def as_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def interval_cell(value: Interval, sign: str = "") -> str:
    """The mean and its interval; with the sign "+" as a difference."""
    return f"{value.mean:{sign}.3f} [{value.low:{sign}.3f}, {value.high:{sign}.3f}]"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
