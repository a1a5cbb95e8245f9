"""What a comparison answers on many inputs, with two seeds, and what it answers where every method is a random order.

A row per input in answers.jsonl:

{"input": number, "units": n, "luck": [methods named, …], "seeds": [{"status", "words", "top", "supported", …}, …]}

`luck` has one number per draw: how many of ten random orders, in the places of the methods, the answer names; -1 where
their consensus alone passed. `seeds` is empty for inputs of which only luck is measured.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.attribution.controls import RANDOM, random_scores
from explainers.comparison import consensus, measuring, runner
from explainers.comparison.answer import answer, answered
from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.evaluation.measurement import Plan
from explainers.evaluation.record_file import Record, appending, read_records, resume_records
from explainers.installation import ASSETS
from explainers.methods.registry import SLOW, MethodSpec, default_methods, select
from explainers.metrics import bootstrap, chance, faithfulness
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.results.answer import CONSENSUS, ORDER_OF_TESTS
from explainers.results.attribution import Attribution, metric_counts, ranking
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, Settings
from explainers.results.events import MethodResult

DOCUMENT, STORED = ASSETS / "docs" / "answers.md", ASSETS / "studies" / "answers"

FILE = "answers.jsonl"
DRAWS = 2  # sets of random orders per input
FAKE_SEED = 10_000_000  # far from the seeds of the random control
TOP = 3  # units of the consensus that are compared between seeds

Scores = tuple[float, ...]
SUPPORTED = "supported"
HOME = "mask"  # the operator under which the methods explain
RIVALS = ("kernel_shap", "lime", "integrated_gradients", "occlusion")
Line = tuple[str, str]  # a name, and the value of one model


def tested_methods() -> tuple[str, ...]:
    """Return the ids of the default methods that can take part in a consensus."""
    return tuple(spec.id for spec in select(default_methods()) if spec.comparable and not spec.is_random)


def record_answers(
    model: FrozenModel, inputs: Sequence[Example], explained: int, plan: Plan, out: Path
) -> Iterator[int]:
    """Append the rows that are missing in `out`, the first `explained` inputs with the methods' answers; yield how many
    inputs are done. Raises `ExplanationError` if the rows there belong to another run."""
    signature = {**plan.signature(model, inputs), "methods": [spec.id for spec in plan.specs], "explained": explained}
    done = {row["input"] for row in resume_records(out / FILE, signature)}
    with appending(out / FILE) as append:
        for number, example in enumerate(inputs):
            if number not in done:
                specs = plan.specs if number < explained else ()
                append({"input": number, **answer_row(model, example, number, specs, plan.settings)})
            yield number + 1


def answer_row(
    model: FrozenModel, example: Example, number: int, specs: Sequence[MethodSpec], settings: Settings
) -> Record:
    """Return the row of input `number` without that; without `specs` only luck."""
    model = model.pooled(PredictionCache())
    decision, probabilities = decide(model, example, settings=settings)
    seeds: list[Record] = []
    if specs:
        first, row = explained_with(model, decision, probabilities, specs, ())
        again = replace(decision, settings=replace(settings, seed=settings.seed + 1))
        sampling = [spec for spec in specs if spec.kind in SLOW]
        rest = [result for result in first.results if result.method not in (CONSENSUS, *(s.id for s in sampling))]
        seeds = [row, explained_with(model, again, probabilities, sampling, rest)[1]]
    return {
        "units": len(decision.encoding.units),
        "p": probabilities[decision.label],
        "luck": [named_by_luck(model, decision, probabilities, number * DRAWS + draw) for draw in range(DRAWS)],
        "seeds": seeds,
    }


def explained_with(
    model: FrozenModel,
    decision: Decision,
    probabilities: Scores,
    specs: Sequence[MethodSpec],
    known: Sequence[MethodResult],
) -> tuple[Comparison, Record]:
    """Return the finished comparison by `specs` and what is `known`, and what it answers as plain values."""
    meter, started = Meter(), time.perf_counter()
    comparison = Comparison(decision, probabilities, results=tuple(known))
    attributions = [result.attribution for result in known]
    for event in runner.run(model, decision, specs, meter, narrators=(), known=attributions):
        comparison = comparison.with_event(event)
    comparison = answered(comparison, finished=True)
    joint, result = comparison.consensus, comparison.answer
    values: Record = {} if result is None else {**result.as_dict(), "refused": bool(result.refusal)}
    return comparison, {
        **values,
        "top": [] if joint is None else ranking(joint.attribution.scores)[:TOP].tolist(),
        "evidence": {result.method: chance.evidence(result.metrics) for result in comparison.results},
        "operators_evidence": {
            check.erasure: {method: chance.evidence(values) for method, values in check.metrics.items()}
            for check in comparison.operator_checks
        },
        "random_evidence": random_evidence(comparison),
        "calls": meter.calls,
        "seconds": time.perf_counter() - started,
    }


def random_evidence(comparison: Comparison) -> dict[str, float]:
    """Return the mean evidence of the random orders, by operator."""
    control = comparison.random_control
    by_operator = {check.erasure: check.random for check in comparison.operator_checks if check.random}
    scores = {**({} if control is None else {comparison.decision.settings.erasure: control.scores}), **by_operator}
    return {name: float(np.mean(chance.sampled_null(values).values)) for name, values in scores.items()}


def named_by_luck(model: FrozenModel, decision: Decision, probabilities: Scores, draw: int) -> int:
    """Return how many methods the answer names if each is a random order; -1 if it names none, but their consensus.

    Each `draw` has orders of its own. Inputs must not share them: the same order by place would be judged again and
    again, and intervals over inputs would be too narrow.
    """
    answers = MaskedPredictor(model, decision.encoding, decision.settings.erasure)
    units, methods = len(decision.encoding.units), tested_methods()
    first = FAKE_SEED + draw * len(methods)
    rows = {method: random_scores(units, first + number) for number, method in enumerate(methods)}
    rows = {**rows, CONSENSUS: consensus.consensus_scores(list(rows.values()))}
    comparison = Comparison(
        decision,
        probabilities,
        results=tuple(_measured(answers, method, scores, decision.label) for method, scores in rows.items()),
        random_control=measuring.run_random_control(answers, decision.label, decision.settings.seed),
    )
    result = answer(comparison, finished=True)
    return len(result.better_than_chance) or -int(result.status == "supported")


def _measured(answers: MaskedPredictor, method: str, scores: Scores, label: int) -> MethodResult:
    attribution = Attribution(method, answers.encoding, label, scores, signed=True)
    curves = erasure_curves(answers, scores, label, metric_counts(len(scores)))
    return MethodResult(
        attribution,
        curves,
        faithfulness.measured(answers, scores, label, faithfulness.metrics_at_percents(), curves=curves),
        {},
    )


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Return the rows in the order of the inputs."""
    return sorted(read_records(out / FILE), key=lambda row: row["input"])


def paired_evidence(rows: Sequence[Record], method: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the evidence of two methods on the inputs on which both have it, (N,) each."""
    values = [row["seeds"][0]["evidence"] for row in rows if row["seeds"]]
    both = [(value[method], value[other]) for value in values if {method, other} <= set(value)]
    return np.array([one for one, _ in both]), np.array([two for _, two in both])


def rates(rows: Sequence[Record]) -> dict[str, bootstrap.Interval | None]:
    """Return every rate by name, with its interval over inputs; None without an input that counts."""
    explained = [row for row in rows if row["seeds"]]
    tested = [row for row in explained if not row["seeds"][0]["refused"]]
    supported = [row for row in tested if row["seeds"][0]["status"] == SUPPORTED]

    def share(chosen: Sequence[Record], holds: Callable[[Record], float]) -> bootstrap.Interval | None:
        return bootstrap.mean_interval(np.array([float(holds(row)) for row in chosen])) if chosen else None

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
        f"− AOPC-S, then the methods: {ORDER_OF_TESTS}; each at 5 %, up to the first that fails. Brackets "
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


def _rates(rows: Sequence[Record]) -> list[Line]:
    return [(name, "–" if rate is None else _rate(rate)) for name, rate in rates(rows).items()]


def _rate(rate: bootstrap.Interval) -> str:
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

    def gain(method: str) -> bootstrap.Interval | None:
        if method in (CONSENSUS, RANDOM.id):
            return None
        return bootstrap.difference_interval(*paired_evidence(rows, method, CONSENSUS))

    def under(erasure: str) -> TableColumn[str]:
        def mean(method: str) -> float | None:
            known = values(method, erasure)
            return float(np.mean(known)) if known else None

        return TableColumn(erasure, mean, ".3f")

    table: Table[str] = Table(
        (
            TableColumn("method", lambda method: f"`{method}`"),
            TableColumn("mask", lambda method: bootstrap.mean_interval(np.array(values(method, HOME))), bounds()),
            TableColumn("minus the consensus", gain, bounds(sign="+"), undefined=""),
            under("delete"),
            under("zero"),
        )
    )
    return table.markdown(sorted([*methods, RANDOM.id], key=lambda name: -np.mean(values(name, HOME))))


def document() -> str:
    """Return the document of all stored rows."""
    paths = sorted(STORED.glob("*.json"))
    return answers_document({path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths})
