"""One input: the scores of every method and control, and what the metrics say about them under every operator.

The records of an evaluation stand in texts.jsonl, below the signature of its plan: one for every input and method.

{"text": number, "method": id, "weights": checksum, "metrics": {operator: {metric id: value}}, "evidence": {…},
 "device": name, …}
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explainers.attribution.controls import control_orders
from explainers.comparison import runner
from explainers.comparison.decision import card_of, encode_units
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import names, record_file
from explainers.methods.registry import MethodSpec, applicable, method_spec
from explainers.metrics import faithfulness, plausibility
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.sensitivity import sensitivity
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, Encoding, Erasure
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.results.events import Failure
from explainers.training.artifacts import find_artifact


@dataclass(frozen=True)
class Plan:
    """Explanations are made with `settings` and scored under every operator of `erasures`.

    `sensitive` is the number of inputs on which AvgSen is measured.
    """

    specs: tuple[MethodSpec, ...]
    settings: Settings = field(default_factory=Settings)
    erasures: tuple[Erasure, ...] = ERASURES
    sensitive: int = 0

    def signature(self, model: FrozenModel, inputs: Sequence[Example]) -> dict[str, Any]:
        """The first line of texts.jsonl; records of evaluations with equal signatures can be mixed.

        Captum's sampling is not named, as in records from before there was another.
        """
        values = self.settings.as_dict()
        sampling, settings = values.pop("sampling"), list(values.values())
        digest = hashlib.sha256(json.dumps([_identity(example) for example in inputs]).encode()).hexdigest()
        return {
            "model": [model.name, model.version],
            "texts": [len(inputs), digest[:12]],
            "erasures": list(self.erasures),
            "settings": settings if sampling == "captum" else [*settings, sampling],
            "sensitive": self.sensitive,
            "torch": torch.__version__,
            **({} if model.precision == "float32" else {"precision": model.precision}),
        }


def _identity(example: Example) -> list[str | None]:
    """Both texts, and of an image the name of its file or the checksum of its content."""
    image = example.image
    if image is None:
        return [example.text, example.pair]
    name = image.path.name if image.path else hashlib.sha256(image.content).hexdigest()
    return [example.text, example.pair, name]


FILE = "texts.jsonl"
UNKNOWN = "unknown"  # the device of records that do not name it
RecordKey = tuple[int, str, str]  # number of the input, method id, checksum of the weights


def is_measured(record: record_file.Record) -> bool:
    """Return whether a record need not be made again: it did not fail, and has every metric that is registered."""
    ids = set(faithfulness.METRICS.ids)
    return "failed" not in record and all(ids <= set(values) for values in record["metrics"].values())


def current_records(out: Path, methods: Iterable[str], model: FrozenModel) -> list[record_file.Record]:
    """The records of the controls and of these methods with their current weights."""
    current = {(method, weights_checksum(model, method)) for method in (*methods, *names.CONTROLS)}
    return [
        record for record in record_file.read_records(out / FILE) if (record["method"], record["weights"]) in current
    ]


def weights_checksum(model: FrozenModel, method: str) -> str:
    """12 digits that change when the weights of a method are fitted again; empty if it has no weights."""
    if method in names.CONTROLS:
        return ""
    spec, variant = method_spec(method), method.partition(":")[2]
    if not spec.learns:
        return ""
    try:
        return str(find_artifact(model.name, model.version, spec.weights_of, variant).card["sha256"])[:12]
    except ExplanationError:
        return ""


Scores = tuple[float, ...]
Explain = Callable[[MethodSpec, FrozenModel, Decision], Attribution]


class UnusableStore(ExplanationError):
    """Explanations that were stored cannot be read, or new ones not written."""


def final_attribution(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
    """The last of a method's estimates."""
    *_, last = runner.estimates(spec, model, decision, Meter())
    return last


def explained_by(
    specs: Sequence[MethodSpec], model: FrozenModel, decision: Decision, explain: Explain
) -> Iterator[tuple[MethodSpec, Attribution | Failure]]:
    """Yield what every method that applies says of the decision, or why it failed, which does not end the others.

    Raises `UnusableStore`.
    """
    for spec in applicable(specs, runner.example_of(decision.encoding)):
        try:
            yield spec, explain(spec, model, decision)
        except UnusableStore:
            raise
        except Exception as error:  # one method must not end hours of the others
            yield spec, runner.failure(spec.id, error)


def measure_input(
    model: FrozenModel,
    example: Example,
    other: Example,
    number: int,
    plan: Plan,
    done: AbstractSet[RecordKey],
    explain: Explain = final_attribution,
) -> Iterator[record_file.Record]:
    """The records of input `number` that are not `done`; none for an input without units.

    AvgSen takes replacement words from the input `other`. No mask is computed twice, so that a method's `seconds` are
    those in the company of the methods before it.
    """
    model = model.pooled(PredictionCache())
    encoding = encode_units(model, example, plan.settings)
    specs = applicable(plan.specs, runner.example_of(encoding))
    weights = {id: weights_checksum(model, id) for id in (*(spec.id for spec in specs), *names.CONTROLS)}
    missing = [id for id, checksum in weights.items() if (number, id, checksum) not in done]
    if not encoding.units or not missing:
        return
    decision = Decision(card_of(model), encoding, predicted_class(model, encoding), plan.settings)
    records: dict[str, record_file.Record] = {}
    orders: dict[str, list[Scores]] = {}
    for spec, result in explained_by([spec for spec in specs if spec.id in missing], model, decision, explain):
        record = records[spec.id] = {"text": number, "method": spec.id, "weights": weights[spec.id]}
        if isinstance(result, Failure):
            record["failed"] = result.reason
            continue
        record |= {"seconds": result.seconds, "calls": result.model_calls}
        orders[spec.id] = [result.scores]
        if number < plan.sensitive and spec.repeatable:
            with suppress(Exception):  # AvgSen is then missing for this input
                record[names.AVGSEN] = _sensitivity(spec, model, decision, other, plan.settings.seed + number)
    for control, rows in control_scores(decision).items():
        if control in missing:
            records[control] = {"text": number, "method": control, "weights": ""}
            orders[control] = rows
    _add_metrics(records, orders, model, decision, plan)
    for method, record in records.items():
        if method in orders:
            record["evidence"] = _evidence_metrics(decision, example, method, orders[method])
        record["device"] = str(model.device)
        if model.precision != "float32":
            record["precision"] = model.used_precision(encoding).precision
        yield record


def precision_counts(inputs: Iterable[tuple[Hashable, str | None]]) -> dict[str, int]:
    """Return how many different inputs were answered in each precision; None is float32."""
    return dict(sorted(Counter(precision or "float32" for _, precision in set(inputs)).items()))


def device_counts(records: Iterable[record_file.Record]) -> dict[str, int]:
    """Return on how many different inputs each device was used; records from before it was written have none."""
    inputs = {(record["text"], record.get("device", UNKNOWN)) for record in records}
    return dict(sorted(Counter(device for _, device in inputs).items()))


def predicted_class(model: FrozenModel, encoding: Encoding) -> int:
    return int(model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool)).argmax())


def control_scores(decision: Decision) -> dict[str, list[Scores]]:
    """Scores that do not depend on the model: random orders, and the order of the units."""
    encoding = decision.encoding
    first_units_first = tuple(float(-position) for position in range(len(encoding.units)))
    orders = control_orders(len(encoding.units), decision.settings.seed, names.EVALUATED_ORDERS)
    return {names.RANDOM: orders, names.POSITION: [first_units_first]}


def metrics_of_scores(answers: MaskedPredictor, scores: Scores, label: int) -> dict[str, float]:
    """Every metric by id; decision flips are searched at every count, however many units there are."""
    return faithfulness.measured(answers, scores, label, searched=tuple(range(len(scores) + 1)))


def _sensitivity(spec: MethodSpec, model: FrozenModel, decision: Decision, other: Example, seed: int) -> float:
    lender = encode_units(model, other, decision.settings)
    return sensitivity(_scorer(spec, model, decision), decision.encoding, lender, seed=seed)


def _scorer(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Callable[[Encoding], Scores]:
    """The method's scores of another encoding for the class predicted there."""

    def scores(encoding: Encoding) -> Scores:
        other = replace(decision, encoding=encoding, label=predicted_class(model, encoding))
        return final_attribution(spec, model, other).scores

    return scores


def _add_metrics(
    records: dict[str, record_file.Record],
    orders: dict[str, list[Scores]],
    model: FrozenModel,
    decision: Decision,
    plan: Plan,
) -> None:
    """Writes the metrics under every operator into the records of the methods that have scores."""
    answers = [MaskedPredictor(model, decision.encoding, erasure) for erasure in plan.erasures]
    for answer in answers:
        first_counts = tuple(range(len(decision.encoding.units) * 2 // 5 + 1))  # later flips are asked one by one
        faithfulness.prefetch(answer, [scores for several in orders.values() for scores in several], first_counts)
    for method, several in orders.items():
        records[method]["metrics"] = {
            answer.erasure: _aggregated([metrics_of_scores(answer, scores, decision.label) for scores in several])
            for answer in answers
        }


def _aggregated(values: Sequence[dict[str, float]]) -> dict[str, float]:
    """Aggregate each metric over several orders."""
    return {metric.id: metric.aggregate([value[metric.id] for value in values]) for metric in faithfulness.METRICS}


def _evidence_metrics(decision: Decision, example: Example, method: str, orders: Sequence[Scores]) -> dict[str, float]:
    """How well the scores find the evidence; empty if it is not known or the model predicts another class."""
    if example.evidence is None or decision.label != example.label:
        return {}
    if method == names.RANDOM:
        return plausibility.expected_at_random(decision.encoding, example.evidence)
    return plausibility.evidence_scores(decision.encoding, example.evidence, orders[0])
