"""Our numbers by name, read from the files that commands have written, so that no text repeats one by hand.

    evaluation/sst2/mask/aml/aopc_c        a row of a bundle's evaluation.json; "/low" or "/high" for its interval
    consistency/sst2/ivra/cons             a row of a bundle's consistency.json, with "/low" and "/high"
    plausibility/sst2/ciem/auc             a row of a bundle's plausibility.json, with "/low" and "/high"
    simulatability/sst2/ivra/sim           a row of a bundle's simulatability.json; sim with "/low" and "/high"
    simulatability/sst2/ivra/students      the same over students, with "/low" and "/high" over students
    narrators/nli/cause/composite          a row of a bundle's narrative/evaluation.json, with "/low" and "/high"
    weights/sst2/ivra-cons-softmax/validation.aopc_c    a value on the card of fitted weights
    card/sst2-ivra-comp/accuracy.test      a value on a model's card
    document/ablations.md/without L_p/AOPC-C ↑ (mask)   the first number of a cell in a document's tables

`[[name]]` in a text stands for the number with three decimals, `[[name|2]]` with two, `[[name|%]]` and
`[[name|%1]]` as a percentage without or with a decimal, `p` and `p1` in the same way as percentage points.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from explainers.errors import ExplanationError
from explainers.evaluation.names import NO_EXPLANATION
from explainers.installation import ASSETS
from explainers.models.bundle_cards import BUNDLES
from explainers.report.wording import decimals

PLACES = 3
BOUNDS = ("low", "high")
PLACEHOLDER = re.compile(r"\[\[([^\]|]+)(?:\|([0-9]|%1?|p1?))?\]\]")
NUMBER = re.compile(r"[-−]?[0-9]+(?:\.[0-9]+)?")
COMPARISON = re.compile(r"(?P<left>.+?) (?P<sign>[<>]) (?P<right>.+)")

Quantity = Callable[[str], float]


class UnknownQuantity(ExplanationError):
    """There is no number of this name."""


CONSISTENCY, SIMULATABILITY = "consistency.json", "simulatability.json"  # in a bundle's folder and in that of a run


def with_student_gains(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `student_gain`, the accuracy that students gain by the explanations: mean and 95 % interval over
    students; None for the row without explanations, and with fewer than two students."""
    without = next((row["students"] for row in rows if row["method"] == NO_EXPLANATION and "students" in row), None)
    return [{**row, "student_gain": _over_students(row, without)} for row in rows]


def _over_students(row: Mapping[str, Any], without: Sequence[float] | None) -> dict[str, float] | None:
    from scipy import stats  # takes a second, and most pages do not need it

    students = row.get("students", ())
    if not row.get("sim") or without is None or len(students) != len(without) or len(students) < 2:
        return None
    gains = np.asarray(students) - np.asarray(without)  # (students,)
    half = float(stats.t.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / math.sqrt(len(gains)))
    mean = float(gains.mean())
    return {"mean": mean, "low": mean - half, "high": mean + half}


def stored_quantity(name: str) -> float:
    """The number of this name. Raises `UnknownQuantity`."""
    kind, _, rest = name.partition("/")
    try:
        return READERS[kind](*rest.split("/"))
    except (KeyError, TypeError, ValueError, StopIteration, OSError) as error:
        raise UnknownQuantity(f"There is no number {name!r}.") from error


def filled(text: str) -> str:
    """The text with our numbers in the places of their names. Raises `UnknownQuantity`."""
    return PLACEHOLDER.sub(lambda match: _written(stored_quantity(match[1].strip()), match[2]), text)


def holds(check: str, quantity: Quantity = stored_quantity) -> bool:
    """Return whether a comparison such as "evaluation/… > 0.5" is true. Raises `UnknownQuantity`."""
    match = COMPARISON.fullmatch(check)
    if match is None:
        raise UnknownQuantity(f"{check!r} is no comparison. Write it as: one > other.")
    left, right = (_side(match[side].strip(), quantity) for side in ("left", "right"))
    return left > right if match["sign"] == ">" else left < right


def _side(text: str, quantity: Quantity) -> float:
    return float(text) if NUMBER.fullmatch(text) else quantity(text)


def _written(value: float, style: str | None) -> str:
    if style and style[0] in "%p":
        return decimals(100 * value, int(style[1:] or 0)) + (" %" if style[0] == "%" else "")
    return decimals(value, int(style) if style else PLACES)


@cache
def _file(path: str) -> Any:
    return json.loads((BUNDLES / path).read_text(encoding="utf-8"))


def _evaluation(model: str, erasure: str, method: str, metric: str, part: str = "mean") -> float:
    rows = _file(f"{model}/evaluation.json")["rows"]
    return _number(next(row for row in rows if (row["erasure"], row["method"]) == (erasure, method))[metric], part)


def _by_method(file: str, model: str, method: str, metric: str, part: str = "mean") -> float:
    return _number(next(row for row in _file(f"{model}/{file}")["rows"] if row["method"] == method)[metric], part)


def _simulatability(model: str, method: str, metric: str, part: str = "mean") -> float:
    rows = with_student_gains(_file(f"{model}/{SIMULATABILITY}")["rows"])
    row = next(row for row in rows if row["method"] == method)
    return _number(row["student_gain" if metric == "students" else metric], part)


def _narrators(model: str, method: str, metric: str, part: str = "mean") -> float:
    stored = _file(f"{model}/narrative/evaluation.json")
    rows = [*stored["rows"], *stored["baselines"]]
    return _number(next(row for row in rows if row["method"] == method)[metric], part)


def _number(value: Any, part: str) -> float:
    if part not in ("mean", *BOUNDS):
        raise ValueError(part)
    return float(value[part] if isinstance(value, Mapping) else value)


def _on_card(path: str, model: str, *names: str) -> float:
    *files, value = names
    card = _file(path.format(model, *files))
    for name in value.split("."):
        card = card[name]
    return float(card)


def _document(name: str, row: str, column: str) -> float:
    """The cell of the first table of the document that has this row and this column."""
    match = next(NUMBER.search(cells[column]) for cells in _tables(name) if cells.get("") == row and column in cells)
    if match is None:
        raise ValueError(row)
    return float(match[0].replace("−", "-"))


@cache
def _tables(name: str) -> tuple[dict[str, str], ...]:
    """The rows of all tables of a document in assets/docs, by column; the first column has the name ""."""
    return tuple(_rows((ASSETS / "docs" / name).read_text(encoding="utf-8")))


def _rows(text: str) -> Iterator[dict[str, str]]:
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")] if line.startswith("|") else []
        if not cells or set(line) <= set("|- "):
            head = head if cells else []
        elif not head:
            head = ["", *cells[1:]]
        else:
            yield dict(zip(head, cells, strict=False))


READERS: dict[str, Callable[..., float]] = {
    "evaluation": _evaluation,
    "consistency": partial(_by_method, CONSISTENCY),
    "plausibility": partial(_by_method, "plausibility.json"),
    "simulatability": _simulatability,
    "narrators": _narrators,
    "weights": partial(_on_card, "{}/learned/{}.json"),
    "card": partial(_on_card, "{}/card.json"),
    "document": _document,
}
