"""One row per planted input: whether the model uses the planted words, what every method says, and every metric.

{"model", "seed", "kind", "text", "label", "units": n, "planted": [unit, …], "p": p(label),
 "swaps": [p(label) after each swap], "spares": […], "others": [p(label) with one other word replaced, …],
 "joint": [p(label) with all other words replaced, …], "verified": bool,
 "scores": {method: [score of every unit]}, "noise": {method: {metric: standard deviation}},
 "curves": {operator: {method: [p removed…, p kept…]}}, with "consensus" where learned methods are among them,
 "random" and "degraded": {operator: [the same, …]},
 "limits": {"mask": {name: [p…]}}, "ends": {operator: p of the input without any unit}, "seconds": s}

p are whole ten-thousandths, at the counts of `inner_counts`. Texts are not stored.
"""

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.controls import control_orders
from explainers.comparison import consensus, runner
from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.evaluation.record_file import appending, resume_records
from explainers.methods.registry import METHODS, MethodSpec
from explainers.metrics.erasure import MaskedPredictor, erasure_masks
from explainers.metrics.faithfulness import sampling_noise
from explainers.models import calls, internals
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, Encoding, Erasure
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import metric_counts
from explainers.results.decision import Settings
from explainers.studies.planted.shortcuts import Planted

Row = dict[str, Any]
Scores = tuple[float, ...]
Floats = NDArray[np.float64]

UNIT_OF_P = 10_000
ORDERS: dict[Erasure, int] = {"mask": 39, "delete": 10, "zero": 10}  # random orders
SHARES = (0, 10, 25, 50, 100)  # percent of the ranks that are exchanged
DRAWS = 2  # of every degraded order
REPLACEMENTS, JOINT = 2, 4
LIMITS_EVERY = 5  # inputs: the search for limits is the dearest part


def compared_methods(*, learned: bool) -> tuple[MethodSpec, ...]:
    """Those that may lead a comparison, without the random order: the learned ones, or the others."""
    return tuple(spec for spec in METHODS if spec.comparable and not spec.is_random and spec.learns == learned)


def inner_counts(units: int) -> tuple[int, ...]:
    """The counts that the metrics read, without the ends."""
    return metric_counts(units)[1:-1] if units > 1 else (1,)


def measure(model: FrozenModel, planted: Planted, number: int, words: Sequence[str]) -> Row:
    """The row of one input, without what says where it comes from."""
    began = time.perf_counter()
    model = model.pooled(calls.PredictionCache())
    decision, probabilities = decide(model, planted.example, settings=Settings())
    encoding, label = decision.encoding, decision.label
    units = planted_units(encoding, planted)
    row: Row = {"kind": planted.insertion.kind, "text": number, "label": label, "units": len(encoding.units)}
    row |= {"planted": list(units), "p": whole(probabilities[label])}
    row |= use(model, planted, encoding, units, label, words, random.Random(number))
    row["verified"] = label == planted.example.label and is_verified(row)
    if not row["verified"]:
        return row
    attributions = [
        list(runner.estimates(spec, model, decision, calls.Meter()))[-1] for spec in compared_methods(learned=False)
    ]
    scores = {attribution.method: attribution.scores for attribution in attributions}
    row["scores"] = rounded(scores)
    answers = {erasure: MaskedPredictor(model, encoding, erasure) for erasure in ERASURES}
    row["noise"] = {
        attribution.method: {id: round(value, 5) for id, value in noise.items() if id.startswith("aopc")}
        for attribution in attributions
        if attribution.draws and (noise := sampling_noise(answers["mask"], attribution.draws, label))
    }
    row |= curves_of(answers, scores, units, label, number)
    if number % LIMITS_EVERY == 0:
        row["limits"] = {"mask": limits(answers["mask"], label)}
    row["seconds"] = round(time.perf_counter() - began, 2)
    return row


def with_learned(row: Row, model: FrozenModel, planted: Planted) -> Row:
    """The row with the learned methods' scores and curves, and those of the consensus of all, once they are fitted."""
    if not row["verified"] or CONSENSUS in row["curves"]["mask"]:
        return row
    model = model.pooled(calls.PredictionCache())
    decision, _ = decide(model, planted.example, settings=Settings())
    scores = {
        spec.id: list(runner.estimates(spec, model, decision, calls.Meter()))[-1].scores
        for spec in compared_methods(learned=True)
    }
    everything = {**row["scores"], **rounded(scores)}
    orders = {**scores, CONSENSUS: consensus.consensus_scores([tuple(units) for units in everything.values()])}
    curves = {}
    for erasure in ERASURES:
        lines = curve_lines(MaskedPredictor(model, decision.encoding, erasure), list(orders.values()), decision.label)
        curves[erasure] = {**row["curves"][erasure], **dict(zip(orders, lines, strict=True))}
    return {**row, "scores": everything, "curves": curves}


def rounded(scores: dict[str, Scores]) -> dict[str, list[float]]:
    """With four digits."""
    return {method: [float(f"{score:.4g}") for score in row] for method, row in scores.items()}


def planted_units(encoding: Encoding, planted: Planted) -> tuple[int, ...]:
    """The numbers of the planted words that are the reason. Raises `ValueError` where one is no unit of its own."""
    by_place = {(unit.segment, unit.start, unit.end): number for number, unit in enumerate(encoding.units)}
    missing = set(planted.at) - set(by_place)
    if missing:
        raise ValueError(f"{sorted(missing)} are no units of {encoding.texts}")
    return tuple(by_place[place] for place in planted.reason)


def use(
    model: FrozenModel,
    planted: Planted,
    encoding: Encoding,
    units: Sequence[int],
    label: int,
    words: Sequence[str],
    chance: random.Random,
) -> dict[str, list[int]]:
    """p(label) after the swaps, the spares, and with other words replaced, one by one and all at once."""
    others = [n for n, unit in enumerate(encoding.units) if n not in units and unit.text.isalpha()]
    one = [{n: chance.choice(words)} for n in others for _ in range(REPLACEMENTS)]
    joint = [{n: chance.choice(words) for n in others} for _ in range(JOINT)]
    groups = {
        "swaps": [planted.swapped(swap) for swap in planted.insertion.swaps],
        "spares": [planted.swapped(swap) for swap in planted.insertion.spares],
        "others": [replaced(encoding, step) for step in one],
        "joint": [replaced(encoding, step) for step in joint],
    }
    p = iter(_probabilities(model, [unit for some in groups.values() for unit in some])[:, label])
    return {name: [whole(next(p)) for _ in some] for name, some in groups.items()}


def replaced(encoding: Encoding, by_unit: dict[int, str]) -> Example:
    """The input with other words in the places of some units."""
    texts = list(encoding.texts)
    for number in sorted(by_unit, reverse=True):
        unit = encoding.units[number]
        text = texts[unit.segment]
        texts[unit.segment] = text[: unit.start] + by_unit[number] + text[unit.end :]
    return Example(texts[0], texts[1] if len(texts) > 1 else None)


def is_verified(row: Row) -> bool:
    """Every swap turns the class into the other one; no spare, and no other word, changes it.

    The classes besides these two get next to nothing, so that below 1/2 is the other class.
    """
    half = UNIT_OF_P / 2
    return bool(max(row["swaps"]) < half < min((*row["spares"], *row["others"], row["p"])))


def _probabilities(model: FrozenModel, examples: Sequence[Example]) -> Floats:
    """(examples, C)."""
    encodings = [model.encode(example) for example in examples]
    batches = [encodings[at : at + 64] for at in range(0, len(encodings), 64)]
    rows = [internals.head_inputs(model, batch)[1].softmax(-1).numpy() for batch in batches]
    return np.concatenate(rows).astype(float)


def curves_of(
    answers: dict[Erasure, MaskedPredictor], scores: dict[str, Scores], units: Sequence[int], label: int, seed: int
) -> Row:
    """The curves of methods, random orders and degraded orders under every operator, and p without any unit."""
    n = len(next(iter(scores.values())))
    row: Row = {"curves": {}, "random": {}, "degraded": {}, "ends": {}}
    degraded = degraded_orders(n, units, seed)
    for erasure, asked in answers.items():
        orders = control_orders(n, 0, ORDERS[erasure])
        lines = iter(curve_lines(asked, [*scores.values(), *orders, *degraded], label))
        row["curves"][erasure] = {method: next(lines) for method in scores}
        row["random"][erasure] = [next(lines) for _ in orders]
        row["degraded"][erasure] = [next(lines) for _ in degraded]
        row["ends"][erasure] = whole(asked.probabilities(np.zeros((1, n), dtype=bool))[0, label])
    return row


def curve_lines(answers: MaskedPredictor, orders: Sequence[Scores], label: int) -> list[list[int]]:
    """Per order p(label) with the top units removed, then with only them kept, at `inner_counts`."""
    counts = inner_counts(len(orders[0]))
    masks = np.vstack([erasure_masks(order, counts, kept=True) for order in orders])
    p = answers.probabilities(masks)[:, label].reshape(len(orders), -1)
    return [[whole(item) for item in line] for line in p]


def degraded_orders(n: int, planted: Sequence[int], seed: int) -> list[Scores]:
    """The true order, and for every other share of `SHARES` `DRAWS` orders in which so many ranks are exchanged.

    The true order begins with the planted units; the rest follows at random. At least two ranks are exchanged.
    """
    chance = np.random.default_rng(seed)
    true = np.array([*chance.permutation(list(planted)), *chance.permutation(sorted(set(range(n)) - set(planted)))])
    orders = [true]
    for share in SHARES[1:]:
        for _ in range(DRAWS):
            places = chance.permutation(n)[: max(2, round(share * n / 100))]
            order = true.copy()
            order[places] = true[np.roll(places, 1)]
            orders.append(order)
    return [as_scores(order) for order in orders]


def as_scores(order: NDArray[np.int64]) -> Scores:
    """Scores that rank the units in this order, from the first on."""
    scores = np.empty(len(order))
    scores[order] = np.arange(len(order), 0, -1)
    return tuple(scores.tolist())


def limits(answers: MaskedPredictor, label: int) -> dict[str, list[int]]:
    """p(label) at `inner_counts` along the orders that a greedy search finds: lowest and highest, removing and keeping.

    Units are erased, or kept, one after the other, each time the one with the most extreme p.
    """
    return {
        f"{'keep' if keep else 'remove'} {'high' if high else 'low'}": _greedy(answers, label, keep=keep, high=high)
        for keep in (False, True)
        for high in (False, True)
    }


def _greedy(answers: MaskedPredictor, label: int, *, keep: bool, high: bool) -> list[int]:
    n = len(answers.encoding.units)
    counts = inner_counts(n)
    chosen, extremes = np.zeros(n, dtype=bool), []
    for count in range(1, max(counts) + 1):
        free = np.flatnonzero(~chosen)
        some = np.repeat(chosen[None], len(free), axis=0)
        some[np.arange(len(free)), free] = True
        p = answers.probabilities(some if keep else ~some)[:, label]
        best = int(p.argmax() if high else p.argmin())
        chosen[free[best]] = True
        extremes += [whole(p[best])] if count in counts else []
    return extremes


def whole(p: float) -> int:
    return round(float(p) * UNIT_OF_P)


FILE = "rows.jsonl"


def measure_all(
    model: FrozenModel, name: str, seed: int, inputs: Sequence[Planted], words: Sequence[str], path: Path
) -> Iterator[Row]:
    """Appends the rows that are missing in `path` and yields them; an interrupted run goes on where it stopped."""
    done = {(row["model"], row["seed"], row["text"]) for row in resume_records(path, None)}
    with appending(path) as append:
        for number, planted in enumerate(inputs):
            if (name, seed, number) not in done:
                row = {"model": name, "seed": seed, **measure(model, planted, number, words)}
                append(row)
                yield row
