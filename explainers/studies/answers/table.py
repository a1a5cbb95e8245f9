"""How far answers can be relied on, as a document: luck, power, refusals, stability, cost."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from explainers.attribution.controls import RANDOM
from explainers.evaluation.record_file import Record
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.results.answer import CONSENSUS
from explainers.studies.answers.measure import TOP, paired_evidence

SUPPORTED, OPEN = "supported", "open"
HOME = "mask"  # the operator under which the methods explain
RIVALS = ("kernel_shap", "lime", "integrated_gradients", "occlusion")


def rates(rows: Sequence[Record]) -> dict[str, Interval | None]:
    """Return every rate by name, with its interval over inputs; None without an input that counts."""
    explained = [row for row in rows if row["seeds"]]
    tested = [row for row in explained if not row["seeds"][0]["refused"]]
    supported = [row for row in tested if row["seeds"][0]["status"] == SUPPORTED]

    def share(chosen: Sequence[Record], holds: Callable[[Record], float]) -> Interval | None:
        return mean_interval(np.array([float(holds(row)) for row in chosen])) if chosen else None

    return {
        "luck: any of ten random orders is named": share(rows, lambda row: np.mean([n > 0 for n in row["luck"]])),
        "luck: their consensus passes": share(rows, lambda row: np.mean([n != 0 for n in row["luck"]])),
        "refused": share(explained, lambda row: row["seeds"][0]["refused"]),
        "power: the consensus is better than chance": share(tested, lambda row: row["seeds"][0]["status"] == SUPPORTED),
        "methods named": share(supported, lambda row: len(_named(row, 0))),
        "a single method leads": share(supported, lambda row: row["seeds"][0]["single"] is not None),
        "holds under all other operators": share(supported, lambda row: all(row["seeds"][0]["operators"].values())),
        "other seed: same status": share(tested, lambda row: row["seeds"][1]["status"] == row["seeds"][0]["status"]),
        "other seed: same top unit": share(
            tested, lambda row: row["seeds"][0]["top"][:1] == row["seeds"][1]["top"][:1]
        ),
        f"other seed: top {TOP} in common": share(tested, _common_top),
        "other seed: methods in the same group": share(supported, _same_groups),
    }


def _named(row: Record, seed: int) -> set[str]:
    values = row["seeds"][seed]
    return {*values["supported"], *values["differs"]}


def _common_top(row: Record) -> float:
    one, other = (set(values["top"]) for values in row["seeds"])
    return len(one & other) / max(1, min(TOP, len(one)))


def _same_groups(row: Record) -> float:
    one, other = ({method: group for group in ("supported", "differs", "random") for method in values[group]}
                  for values in row["seeds"])  # fmt: skip
    return float(np.mean([one[method] == other.get(method) for method in one])) if one else 1.0


def refusals(rows: Sequence[Record]) -> Counter[str]:
    """Return how often each reason stands, with its numbers left out."""
    reasons = (row["seeds"][0]["refusal"] for row in rows if row["seeds"] and row["seeds"][0]["refused"])
    return Counter("".join("#" if letter.isdigit() else letter for letter in reason) for reason in reasons)


def answers_document(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the Markdown document; `results` has by model its rows, its command and the version of the code."""
    parts = [
        "# How far answers can be relied on\n\n"
        "The consensus of the methods is tested against 19 random orders (or all orders, up to eight units) by AOPC-C "
        "− AOPC-S, then the methods in the order of their agreement, each at 5 %, up to the first that fails. Brackets "
        "hold 95 % intervals over inputs; weights and seeds are fixed. The predicted class is explained under "
        "`mask`.\n\n"
        "Luck is measured with ten random orders in the places of the methods, "
        "drawn twice per input, so that nothing should be named. Methods that read the model's answers are not random "
        "orders: on models whose answers are noise they pass more often ([measured](planted.md)), because they choose "
        "units by the same kind of answers that judge them. Nearly empty texts are far from what the models were "
        "trained on; one that has seen every masking rate is [compared](masking.md)."
    ]
    columns = {model: [*_rates(result["rows"]), *_counts(result["rows"])] for model, result in results.items()}
    parts.append(_models_table(columns))
    parts.append(
        "## The consensus beside single methods\n\nMean AOPC-C − AOPC-S, and the paired difference to the consensus. "
        "KernelSHAP, LIME and occlusion draw their masks with the operator that judges them, so that `mask` is their "
        "home ground; `delete` and `zero` judge the same orders. `random` is the mean of 19 random orders."
    )
    for model, result in results.items():
        parts.append(f"### `{model}`\n\n" + _evidence_markdown(result["rows"]))
    for model, result in results.items():
        reasons = refusals(result["rows"])
        lines = [f"- {reason} ({count})" for reason, count in reasons.most_common()] or ["- none"]
        parts.append(f"## Refused: `{model}`\n\n" + "\n".join(lines))
    commands = "\n".join(str(result["command"]) for result in results.values())
    parts.append("## Commands\n\n" + command_block(commands))
    return "\n\n".join(parts) + "\n"


Line = tuple[str, str]  # a name, and the value of one model


def _rates(rows: Sequence[Record]) -> list[Line]:
    return [(name, "–" if rate is None else _rate(rate)) for name, rate in rates(rows).items()]


def _rate(rate: Interval) -> str:
    if rate.mean > 1:
        return bounds(1)(rate)
    return f"{100 * rate.mean:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}] (n = {rate.texts})"


def _counts(rows: Sequence[Record]) -> list[Line]:
    counts = {
        "inputs (luck)": len(rows),
        "inputs (the rest)": sum(bool(row["seeds"]) for row in rows),
        "passes, median": _median(rows, "calls"),
        "seconds on one busy core, median": _median(rows, "seconds"),
        "units, median": _median_units(rows),
    }
    return [(name, f"{count:,.0f}") for name, count in counts.items()]


def _models_table(columns: Mapping[str, Sequence[Line]]) -> str:
    """A row per name, and a column per model."""

    def of_model(model: str) -> TableColumn[str]:
        return TableColumn(f"`{model}`", dict(columns[model]).get)

    table: Table[str] = Table((TableColumn("", str), *map(of_model, columns)))
    return table.markdown(dict.fromkeys(name for lines in columns.values() for name, _ in lines))


def _median(rows: Sequence[Record], name: str) -> float:
    values = [row["seeds"][0][name] for row in rows if row["seeds"]]
    return float(np.median(values)) if values else 0.0


def _median_units(rows: Sequence[Record]) -> float:
    return float(np.median([row["units"] for row in rows]))


def _evidence_markdown(rows: Sequence[Record]) -> str:
    """A row per method and one for the random orders, the best first."""
    explained = [row["seeds"][0] for row in rows if row["seeds"]]
    methods = {method for row in explained for method in row["evidence"]}

    def values(method: str, erasure: str) -> list[float]:
        if method == RANDOM.id:
            found = [row["random_evidence"].get(erasure) for row in explained]
        elif erasure == HOME:
            found = [row["evidence"].get(method) for row in explained]
        else:
            found = [row["operators_evidence"].get(erasure, {}).get(method) for row in explained]
        return [value for value in found if value is not None]

    def gain(method: str) -> Interval | None:
        if method in (CONSENSUS, RANDOM.id):
            return None
        return difference_interval(*paired_evidence(rows, method, CONSENSUS))

    def under(erasure: str) -> TableColumn[str]:
        def mean(method: str) -> float | None:
            known = values(method, erasure)
            return float(np.mean(known)) if known else None

        return TableColumn(erasure, mean, ".3f")

    table: Table[str] = Table(
        (
            TableColumn("method", lambda method: f"`{method}`"),
            TableColumn("mask", lambda method: mean_interval(np.array(values(method, HOME))), bounds()),
            TableColumn("minus the consensus", gain, bounds(sign="+"), undefined=""),
            under("delete"),
            under("zero"),
        )
    )
    return table.markdown(sorted([*methods, RANDOM.id], key=lambda name: -np.mean(values(name, HOME))))
