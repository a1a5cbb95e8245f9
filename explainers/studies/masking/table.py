"""The two models side by side, as a document."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from explainers.evaluation.record_file import Record
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.results.answer import CONSENSUS
from explainers.studies.masking.measure import RATES

EMBEDDED, UNIFORM = "embedded", "uniform"
HEAD = (
    "# Trained for erasure\n\nErasure metrics ask a model about texts of which nearly everything is masked, and the "
    "embedded models have seen 15 % of the tokens masked in training. Here each stands beside the same model, trained "
    "by the same recipe and seed with a share of its own in every other text, uniform in 0 to 100 %. The methods that "
    "need no fit are compared. Brackets hold 95 % intervals over inputs, of the difference over the same inputs; each "
    "model was trained once. Of twenty such intervals about one excludes 0 by chance."
)
MEASURES: Mapping[str, Callable[[Record], float | None]] = {
    "the consensus is better than chance": lambda row: _answer(row, lambda a: a["status"] == "supported"),
    "holds under all other operators": lambda row: _answer(
        row, lambda a: all(a["operators"].values()) if a["status"] == "supported" else None
    ),
    "luck: any of ten random orders is named": lambda row: (
        float(np.mean([count > 0 for count in row["luck"]])) if row["luck"] else None
    ),
    "AOPC-C − AOPC-S of the consensus": lambda row: _answer(row, lambda a: a["evidence"].get(CONSENSUS)),
    "mean of all methods under delete": lambda row: _answer(row, lambda a: _under(a, "delete")),
    "mean of all methods under zero": lambda row: _answer(row, lambda a: _under(a, "zero")),
}


def _answer(row: Record, value: Callable[[Record], Any]) -> float | None:
    answers = row["seeds"]
    found = value(answers[0]) if answers and not answers[0].get("refused") else None
    return None if found is None else float(found)


def _under(answer: Record, erasure: str) -> Any:
    values = answer["operators_evidence"].get(erasure, {})
    return float(np.mean(list(values.values()))) if values else None


Lines = Mapping[str, Callable[[Record], float | None]]


def lines() -> Lines:
    """Return every measure of a row by name: accuracy and largest probability at each rate, and the answer's."""

    def right(place: int) -> Callable[[Record], float]:
        return lambda row: float(row["right"][place])

    def largest(place: int) -> Callable[[Record], float]:
        return lambda row: float(row["largest"][place])

    accuracy = {f"accuracy, {100 * rate:.0f} % masked": right(place) for place, rate in enumerate(RATES)}
    mean = {
        f"largest probability, {100 * rate:.0f} % masked": largest(place)
        for place, rate in enumerate(RATES)
        if rate in (0.0, 0.9, 1.0)
    }
    return {**accuracy, **mean, **MEASURES}


def compared(one: Sequence[Record], other: Sequence[Record], measure: Callable[[Record], float | None]) -> Any:
    """Return the intervals of both models and of the second minus the first on the inputs that both have."""
    pairs = [(measure(first), measure(second)) for first, second in zip(one, other, strict=True)]
    both = [(first, second) for first, second in pairs if first is not None and second is not None]
    if not both:
        return None, None, None
    first, second = np.array(both, dtype=float).T
    return mean_interval(first), mean_interval(second), difference_interval(second, first)


def masking_document(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the Markdown document; `results` has by model its command and the rows of both trainings."""
    parts = [HEAD]
    for model, result in results.items():
        embedded, uniform = result["rows"][EMBEDDED], result["rows"][UNIFORM]
        values = {name: compared(embedded, uniform, measure) for name, measure in lines().items()}
        parts += [f"## `{model}`", f"Trained by `{result['training']}`.", _table(values).markdown(values)]
        parts.append(conclusion(values))
        parts.append(command_block(result["command"]))
    return "\n\n".join(parts) + "\n"


def conclusion(values: Mapping[str, Sequence[Interval | None]]) -> str:
    """Return which differences have an interval without 0."""
    differences = {name: difference for name, (_, _, difference) in values.items() if difference is not None}
    apart = [
        f"{name} ({difference.mean:+.3f})"
        for name, difference in differences.items()
        if difference.low > 0 or difference.high < 0
    ]
    return f"Differences whose interval excludes 0: {', '.join(apart) or 'none'}."


def _table(values: Mapping[str, Sequence[Interval | None]]) -> Table[str]:
    def column(header: str, place: int, sign: str = "") -> TableColumn[str]:
        return TableColumn(header, lambda name: values[name][place], bounds(sign=sign))

    def count(name: str) -> int:
        interval = values[name][0]
        return 0 if interval is None else interval.texts

    return Table(
        (
            TableColumn("", str),
            column("embedded", 0),
            column("uniform masking", 1),
            column("difference", 2, "+"),
            TableColumn("inputs", count),
        )
    )
