"""A model beside the same model trained with masking rates uniform in 0–100 %: is it as accurate, and what do erasure
metrics say of it?

Erasure keeps one to twenty per cent of a text's units, or removes them. A model that has seen 15 % of its tokens masked
is asked about inputs far from its training when nearly all are (Hase et al., 2021; Madsen et al., 2024).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.evaluation.record_file import Record, appending, read_records, resume_records
from explainers.installation import ASSETS
from explainers.methods.registry import MethodSpec, default_methods, select
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.results.answer import CONSENSUS
from explainers.results.decision import Settings
from explainers.studies.answers import DRAWS, explained_with, named_by_luck

DOCUMENT, STORED = ASSETS / "docs" / "masking.md", ASSETS / "studies" / "masking"

RATES = (0.0, 0.15, 0.5, 0.8, 0.9, 1.0)  # shares of the units that are masked
FILE = "{}.jsonl"  # a row per input, by the name of the model
EMBEDDED, UNIFORM = "embedded", "uniform"
HEAD = (
    "# Trained for erasure\n\nErasure metrics ask a model about texts of which nearly everything is masked, and the "
    "embedded models have seen 15 % of the tokens masked in training. Here each stands beside the same model, trained "
    "by the same recipe and seed with a share of its own in every other text, uniform in 0 to 100 %. The methods that "
    "need no fit are compared. Brackets hold 95 % intervals over inputs, of the difference over the same inputs; each "
    "model was trained once. Of twenty such intervals about one excludes 0 by chance."
)
Lines = Mapping[str, Callable[[Record], float | None]]


def without_weights() -> tuple[MethodSpec, ...]:
    """Return the default methods that need no fit to a model and can take part in a consensus."""
    return tuple(
        spec for spec in select(default_methods()) if spec.comparable and not spec.is_random and not spec.weights_of
    )


def masked_keeps(units: int, seed: int) -> NDArray[np.bool_]:
    """Return one mask per rate (len(RATES), units), true = kept, each of the rate's size as nearly as possible."""
    order = np.random.default_rng(seed).permutation(units)
    ranks = np.argsort(order)
    return np.stack([ranks >= round(rate * units) for rate in RATES])


def masking_row(model: FrozenModel, example: Example, number: int, settings: Settings, *, explained: bool) -> Record:
    """Return the predicted class and that of the label at each rate, and what a comparison answers."""
    model = model.pooled(PredictionCache())
    decision, probabilities = decide(model, example, settings=settings)
    keeps = masked_keeps(len(decision.encoding.units), number)
    masked = model.probabilities(decision.encoding, keeps, settings.erasure)
    row: Record = {
        "input": number,
        "units": len(decision.encoding.units),
        "right": [int(label == example.label) for label in masked.argmax(1).tolist()],
        "largest": masked.max(1).tolist(),
        "seeds": [],
        "luck": [],
    }
    if explained:
        row["luck"] = [named_by_luck(model, decision, probabilities, draw) for draw in range(DRAWS)]
        row["seeds"] = [explained_with(model, decision, probabilities, without_weights(), ())[1]]
    return row


def record_masking(
    model: FrozenModel, name: str, inputs: Sequence[Example], explained: int, settings: Settings, out: Path
) -> Iterator[int]:
    """Append the rows that are missing in `out`; yield how many inputs are done.

    Raises `ExplanationError` if the rows there belong to another run.
    """
    path = out / FILE.format(name)
    methods = [spec.id for spec in without_weights()]
    signature = {"model": model.version, "inputs": [example.text for example in inputs], "methods": methods}
    done = {row["input"] for row in resume_records(path, {**signature, "explained": explained})}
    with appending(path) as append:
        for number, example in enumerate(inputs):
            if number not in done:
                append(masking_row(model, example, number, settings, explained=number < explained))
            yield number + 1


def rows_of(out: Path, name: str) -> list[Record]:
    """Return the rows of a model in the order of the inputs."""
    return sorted(read_records(out / FILE.format(name)), key=lambda row: row["input"])


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
