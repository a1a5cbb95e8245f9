"""CONS and SIM of every method on a data set: are like inputs explained alike, and does a student learn from it?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explainers.attribution.controls import random_scores
from explainers.comparison.decision import card_of
from explainers.comparison.runner import example_of
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.measurement import Explain, Scores, explained_by, final_attribution, predicted_class
from explainers.evaluation.names import NO_EXPLANATION, POSITION, RANDOM, UNIFORM
from explainers.learned import student
from explainers.methods.registry import MethodSpec, applicable
from explainers.metrics import agreement, bootstrap
from explainers.models import calls, internals
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.report import evaluation_tables, quantities
from explainers.report.tables import Table, TableColumn, as_percent, key_column
from explainers.results.decision import Decision, Settings
from explainers.results.events import Failure

EQUAL = "all explanations or all states are equally far apart"
Progress = Callable[[str], None]
FEWEST_INPUTS = 10  # inputs for a student, and as many held out
SIMULATABILITY_NAMES = {
    RANDOM: "Random, one order per input",
    UNIFORM: "The same score for every unit",
    NO_EXPLANATION: "No explanation",
}
SIMULATABILITY_NOTE = (
    "SIM (Xie et al., 2024, Eq. 6-7): a small student learns the model's predictions from a few inputs, with the "
    "explanation as the target of its attention, and is asked about others without explanations. Accuracy: how often "
    "it then answers as the model, mean over the students. SIM: accuracy minus that of the same students without "
    "explanations, in percentage points; brackets hold the 95 % bootstrap interval over the held-out inputs, with the "
    "students as they are. Over students: the same difference with its 95 % interval over students (Student's t), "
    "with the inputs as they are. ° not clearly above 0."
)


def consistency_rows(
    model: FrozenModel,
    inputs: Sequence[Example],
    specs: Sequence[MethodSpec],
    settings: Settings,
    progress: Progress,
    explain: Explain = final_attribution,
) -> list[dict[str, Any]]:
    """A row per method and control with the interval of CONS, also within predicted classes, or why there is none.

    An input for which a method fails does not count for it. Raises `DataUnavailable` for fewer than three inputs.
    """
    encodings = [
        encoding for encoding in (model.encode(example, settings.unit) for example in inputs) if encoding.units
    ]
    if len(encodings) < agreement.FEWEST:
        raise DataUnavailable(f"Consistency compares pairs of inputs. Give at least {agreement.FEWEST}.")
    states, classes, scores, reasons = [], list[int](), dict[str, dict[int, Scores]](), dict[str, str]()
    for number, encoding in enumerate(encodings):
        states.append(mean_state(model, encoding))
        classes.append(predicted_class(model, encoding))
        pooled = model.pooled(calls.PredictionCache())
        decision = Decision(card_of(model), encoding, classes[-1], settings)
        for spec in applicable(specs, example_of(encoding)):
            scores.setdefault(spec.id, {})
        for spec, result in explained_by(specs, pooled, decision, explain):
            if isinstance(result, Failure):
                reasons[spec.id] = result.reason
            else:
                scores[spec.id][number] = result.scores
        for control, order in controls(encoding, settings.seed + number).items():
            scores.setdefault(control, {})[number] = order
        if (number + 1) % 25 == 0:
            progress(f"{number + 1} of {len(encodings)} inputs")
    measured = (np.stack(states), np.array(classes))
    return [_consistency_row(method, *measured, mine, reasons.get(method, "")) for method, mine in scores.items()]


def controls(encoding: Encoding, seed: int) -> dict[str, Scores]:
    """A random order of the input's own, since inputs with the same one are explained alike; and the order of units."""
    units = len(encoding.units)
    return {RANDOM: random_scores(units, seed), POSITION: tuple(float(-place) for place in range(units))}


def mean_state(model: FrozenModel, encoding: Encoding) -> bootstrap.Floats:
    """H: the mean over layers and tokens of the model's hidden states, (d,)."""
    inputs = model.padded([encoding])
    state: bootstrap.Floats = (
        internals.mean_states(internals.forward_with_internals(model, inputs), inputs)[0].cpu().double().numpy()
    )
    return state


def _consistency_row(
    method: str, states: bootstrap.Floats, classes: NDArray[np.int64], scores: dict[int, Scores], reason: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method, "inputs": len(scores)}
    if len(scores) < agreement.FEWEST:
        return row | {"reason": reason}
    numbers = sorted(scores)
    mine = [scores[number] for number in numbers]
    value = agreement.consistency(states[numbers], mine)
    if value is None:
        alike = np.ptp(np.stack([agreement.aligned(scores) for scores in mine]), axis=0).max() < agreement.ROUNDING
        return row | {"reason": "every input has the same explanation" if alike else EQUAL}
    within = agreement.consistency(states[numbers], mine, classes=classes[numbers].tolist())
    return row | {"cons": asdict(value)} | ({} if within is None else {"within": asdict(within)})


CONSISTENCY_NAMES = {RANDOM: "Random, one order per input"}
CONSISTENCY_NOTE = (
    "CONS (Xie et al., 2024, Eq. 12): Spearman's ρ over all pairs of inputs between the distance of the model's mean "
    "hidden states and the distance of the explanations (ranks at the same relative positions, of mean 0 and length "
    "1). Higher: what the model represents alike is explained alike. Within a class: over pairs of the same predicted "
    "class, ranked within it, as states differ most between classes. Brackets hold the 95 % bootstrap interval over "
    "inputs. ° not clearly above 0."
)


def consistency_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest value first, and how to read it."""
    rows = sorted(table["rows"], key=lambda row: -row.get("cons", {"mean": -2.0})["mean"])
    return "\n\n".join([CONSISTENCY_TABLE.markdown(rows), CONSISTENCY_NOTE])


def _name(row: Mapping[str, Any]) -> str:
    return CONSISTENCY_NAMES.get(row["method"]) or evaluation_tables.row_name(row["method"])


def _cons(row: Mapping[str, Any]) -> Any:
    """The interval, or why there is none."""
    return row["cons"] if "cons" in row else f"undefined: {row['reason']}"


def _written(value: Mapping[str, float] | str) -> str:
    if isinstance(value, str):
        return value
    clear = "" if value["low"] > 0 else "°"
    return f"{value['mean']:.3f}{clear} [{value['low']:.3f}, {value['high']:.3f}]"


CONSISTENCY_TABLE: Table[Mapping[str, Any]] = Table(
    (
        TableColumn("method", _name),
        TableColumn("CONS ↑", _cons, _written),
        key_column("within", "within a class ↑", _written, optional=True),
        key_column("inputs", written=","),
    )
)


def simulatability_rows(
    model: FrozenModel,
    inputs: Sequence[Example],
    specs: Sequence[MethodSpec],
    settings: Settings,
    states: student.UnitStates,
    *,
    shown: int,
    students: int,
    progress: Progress,
    explain: Explain = final_attribution,
) -> list[dict[str, Any]]:
    """A row per method and control: how often its students answer as the model, and how much more often than students
    without explanations, with the interval over held-out inputs.

    Student s learns from the inputs s·shown … (s+1)·shown; the rest is held out for all of them. A method that fails
    for one of these inputs has the reason instead. Raises `DataUnavailable` for too few inputs.
    """
    encodings = [
        encoding for encoding in (model.encode(example, settings.unit) for example in inputs) if encoding.units
    ]
    lessons, held_out = encodings[: shown * students], encodings[shown * students :]
    if shown < FEWEST_INPUTS or len(held_out) < FEWEST_INPUTS:
        raise DataUnavailable(
            f"{students} students with {shown} inputs each and at least {FEWEST_INPUTS} held out cannot be had from "
            f"{len(encodings)} inputs; a student needs {FEWEST_INPUTS}. Give more inputs, or change --shown and "
            "--students."
        )
    scores, reasons = explained_inputs(model, lessons, specs, settings, progress, explain)
    predicted = torch.tensor([predicted_class(model, encoding) for encoding in encodings])
    right = {
        method: _right(states, lessons, held_out, predicted, rows, len(model.labels), shown)
        for method, rows in ((NO_EXPLANATION, None), *scores.items())
    }
    rows = [_simulatability_row(method, value, right[NO_EXPLANATION]) for method, value in right.items()]
    return rows + [{"method": method, "reason": reason} for method, reason in reasons.items()]


def explained_inputs(
    model: FrozenModel,
    encodings: Sequence[Encoding],
    specs: Sequence[MethodSpec],
    settings: Settings,
    progress: Progress,
    explain: Explain = final_attribution,
) -> tuple[dict[str, list[Scores]], dict[str, str]]:
    """The scores of every method and control for all inputs, and why a method has none."""
    scores: dict[str, list[Scores]] = {UNIFORM: [], RANDOM: []}
    reasons: dict[str, str] = {}
    for number, encoding in enumerate(encodings):
        pooled = model.pooled(calls.PredictionCache())
        decision = Decision(card_of(model), encoding, predicted_class(model, encoding), settings)
        scores[UNIFORM].append((1.0,) * len(encoding.units))
        scores[RANDOM].append(random_scores(len(encoding.units), settings.seed + number))
        for spec, result in explained_by([one for one in specs if one.id not in reasons], pooled, decision, explain):
            if isinstance(result, Failure):
                reasons[spec.id] = result.reason
            else:
                scores.setdefault(spec.id, []).append(result.scores)
        if (number + 1) % 25 == 0:
            progress(f"{number + 1} of {len(encodings)} inputs explained")
    return {method: rows for method, rows in scores.items() if method not in reasons}, reasons


def _right(
    states: student.UnitStates,
    lessons: Sequence[Encoding],
    held_out: Sequence[Encoding],
    predicted: Tensor,
    scores: Sequence[Scores] | None,
    classes: int,
    shown: int,
) -> NDArray[np.float64]:
    """Return whether each student gives the model's answer to each held-out input, (students, inputs)."""
    test, units = states.of(held_out), present(held_out)
    rows = []
    for seed, start in enumerate(range(0, len(lessons), shown)):
        some = slice(start, start + shown)
        own_units = present(lessons[some])
        shares = None if scores is None else student.as_shares(padded(scores[some], own_units), own_units)
        weights = student.taught(states.of(lessons[some]), own_units, predicted[some], shares, classes, seed)
        chosen = student.answers(weights, test, units)[0].argmax(1)
        rows.append((chosen == predicted[len(lessons) :]).double().numpy())
    return np.stack(rows)


def present(encodings: Sequence[Encoding]) -> Tensor:
    """(B, U), true where there is a unit."""
    counts = torch.tensor([len(encoding.units) for encoding in encodings])
    return torch.arange(int(counts.max())) < counts[:, None]


def padded(scores: Sequence[Scores], units: Tensor) -> Tensor:
    """(B, U), 0 where there is no unit."""
    rows = torch.zeros(units.shape)
    for row, values in zip(rows, scores, strict=True):
        row[: len(values)] = torch.tensor(values, dtype=torch.float)
    return rows


def _simulatability_row(method: str, right: NDArray[np.float64], without: NDArray[np.float64]) -> dict[str, Any]:
    gain = bootstrap.difference_interval(right.mean(axis=0), without.mean(axis=0))
    return {
        "method": method,
        "accuracy": float(right.mean()),
        "students": [float(share) for share in right.mean(axis=1)],
        "sim": asdict(gain) if method != NO_EXPLANATION else None,
    }


def simulatability_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest accuracy first, and how to read it."""
    rows = sorted(quantities.with_student_gains(table["rows"]), key=lambda row: -row.get("accuracy", -1.0))
    return "\n\n".join([SIMULATABILITY_TABLE.markdown(rows), SIMULATABILITY_NOTE])


def _accuracy(row: Mapping[str, Any]) -> str:
    return as_percent(row["accuracy"]) if "accuracy" in row else f"undefined: {row['reason']}"


def _points(gain: Mapping[str, float]) -> str:
    clear = "" if gain["low"] > 0 else "°"
    return f"{100 * gain['mean']:+.1f}{clear} [{100 * gain['low']:+.1f}, {100 * gain['high']:+.1f}]"


def _students(accuracies: Sequence[float]) -> str:
    return ", ".join(map(as_percent, accuracies))


SIMULATABILITY_TABLE: Table[Mapping[str, Any]] = Table(
    (
        TableColumn(
            "method", lambda row: SIMULATABILITY_NAMES.get(row["method"]) or evaluation_tables.row_name(row["method"])
        ),
        TableColumn("accuracy ↑", _accuracy),
        TableColumn("SIM ↑", lambda row: row.get("sim") or None, _points, undefined=""),
        TableColumn("over students", lambda row: row.get("student_gain") or None, _points, undefined=""),
        TableColumn("students", lambda row: row.get("students"), _students, undefined=""),
    )
)
