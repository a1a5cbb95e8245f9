"""CONS of every method on a data set: are inputs that the model represents alike explained alike?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.controls import random_scores
from explainers.comparison.decision import card_of
from explainers.comparison.runner import example_of, failure
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.measurement import Scores, final_attribution, predicted_class
from explainers.evaluation.names import POSITION, RANDOM
from explainers.methods.registry import applicable
from explainers.methods.spec import MethodSpec
from explainers.metrics.agreement import (
    FEWEST,
    ROUNDING,
    aligned,
    consistency,
)
from explainers.metrics.bootstrap import Floats
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.internals import forward_with_internals, mean_states
from explainers.report.evaluation_tables import row_name
from explainers.report.tables import Table, TableColumn, key_column
from explainers.results.decision import Decision
from explainers.results.settings import Settings

EQUAL = "all explanations or all states are equally far apart"
Progress = Callable[[str], None]


def consistency_rows(
    model: FrozenModel, inputs: Sequence[Example], specs: Sequence[MethodSpec], settings: Settings, progress: Progress
) -> list[dict[str, Any]]:
    """A row per method and control with the interval of CONS, also within predicted classes, or why there is none.

    An input for which a method fails does not count for it. Raises `DataUnavailable` for fewer than three inputs.
    """
    encodings = [
        encoding for encoding in (model.encode(example, settings.unit) for example in inputs) if encoding.units
    ]
    if len(encodings) < FEWEST:
        raise DataUnavailable(f"Consistency compares pairs of inputs. Give at least {FEWEST}.")
    states, classes, scores, reasons = [], list[int](), dict[str, dict[int, Scores]](), dict[str, str]()
    for number, encoding in enumerate(encodings):
        states.append(mean_state(model, encoding))
        classes.append(predicted_class(model, encoding))
        pooled = model.pooled(PredictionCache())
        decision = Decision(card_of(model), encoding, classes[-1], settings)
        for spec in applicable(specs, example_of(encoding)):
            mine = scores.setdefault(spec.id, {})
            try:
                mine[number] = final_attribution(spec, pooled, decision).scores
            except Exception as error:  # one method must not end the others
                reasons[spec.id] = failure(spec.id, error).reason
        for control, order in controls(encoding, settings.seed + number).items():
            scores.setdefault(control, {})[number] = order
        if (number + 1) % 25 == 0:
            progress(f"{number + 1} of {len(encodings)} inputs")
    measured = (np.stack(states), np.array(classes))
    return [_row(method, *measured, mine, reasons.get(method, "")) for method, mine in scores.items()]


def controls(encoding: Encoding, seed: int) -> dict[str, Scores]:
    """A random order of the input's own, since inputs with the same one are explained alike; and the order of units."""
    units = len(encoding.units)
    return {RANDOM: random_scores(units, seed), POSITION: tuple(float(-place) for place in range(units))}


def mean_state(model: FrozenModel, encoding: Encoding) -> Floats:
    """H: the mean over layers and tokens of the model's hidden states, (d,)."""
    inputs = model.padded([encoding])
    state: Floats = mean_states(forward_with_internals(model, inputs), inputs)[0].cpu().double().numpy()
    return state


def _row(
    method: str, states: Floats, classes: NDArray[np.int64], scores: dict[int, Scores], reason: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method, "inputs": len(scores)}
    if len(scores) < FEWEST:
        return row | {"reason": reason}
    numbers = sorted(scores)
    mine = [scores[number] for number in numbers]
    value = consistency(states[numbers], mine)
    if value is None:
        alike = np.ptp(np.stack([aligned(scores) for scores in mine]), axis=0).max() < ROUNDING
        return row | {"reason": "every input has the same explanation" if alike else EQUAL}
    within = consistency(states[numbers], mine, classes=classes[numbers].tolist())
    return row | {"cons": asdict(value)} | ({} if within is None else {"within": asdict(within)})


NAMES = {RANDOM: "Random, one order per input"}
NOTE = (
    "CONS (Xie et al., 2024, Eq. 12): Spearman's ρ over all pairs of inputs between the distance of the model's mean "
    "hidden states and the distance of the explanations (ranks at the same relative positions, of mean 0 and length "
    "1). Higher: what the model represents alike is explained alike. Within a class: over pairs of the same predicted "
    "class, ranked within it, as states differ most between classes. Brackets hold the 95 % bootstrap interval over "
    "inputs. ° not clearly above 0."
)


def consistency_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest value first, and how to read it."""
    rows = sorted(table["rows"], key=lambda row: -row.get("cons", {"mean": -2.0})["mean"])
    return "\n\n".join([TABLE.markdown(rows), NOTE])


def _name(row: Mapping[str, Any]) -> str:
    return NAMES.get(row["method"]) or row_name(row["method"])


def _cons(row: Mapping[str, Any]) -> Any:
    """The interval, or why there is none."""
    return row["cons"] if "cons" in row else f"undefined: {row['reason']}"


def _written(value: Mapping[str, float] | str) -> str:
    if isinstance(value, str):
        return value
    clear = "" if value["low"] > 0 else "°"
    return f"{value['mean']:.3f}{clear} [{value['low']:.3f}, {value['high']:.3f}]"


TABLE: Table[Mapping[str, Any]] = Table(
    (
        TableColumn("method", _name),
        TableColumn("CONS ↑", _cons, _written),
        key_column("within", "within a class ↑", _written, optional=True),
        key_column("inputs", written=","),
    )
)
