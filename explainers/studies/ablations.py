"""The papers' ablations on one frozen model: the method and the method without one part, trained alike.

Every part is trained once per seed, for the same number of steps, and its last weights are measured on validation
texts under the operator `mask`. The figures of a text are means over the seeds; intervals are 95 % bootstrap intervals
over the texts.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explainers.errors import ExplanationError
from explainers.learned import fitting_loop, recipes
from explainers.learned.batches import LearningExample, in_random_order
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.metrics.sensitivity import sensitivity
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import forward_with_internals
from explainers.report.tables import Table, TableColumn, bounds
from explainers.training.loop import LOG

SHORTEST = 3  # units; in shorter texts no word is replaced for AvgSen
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)  # of the steps: the loss is averaged between each and the next


@dataclass(frozen=True)
class Ablation:
    """`parts` are named settings of a method's recipe, the whole method first; all have the settings `base` as well."""

    parts: tuple[tuple[str, dict[str, Any]], ...]
    claim: str  # the result of the paper
    base: dict[str, Any] = field(default_factory=dict)


FIXED = frozenset({"epochs", "seed", "select", "validations"})  # settings that the plan decides

ABLATIONS = {
    "aml": Ablation(
        (
            ("AML", {}),
            ("without L_inv", {"lambda_inv": 0.0}),
            ("without L_p", {"lambda_p": 0.0}),
        ),
        "Table 4: both are needed; without L_p COMP is kept and SUFF is lost, without L_inv the other way round.",
    ),
    "cimi": Ablation(
        (
            ("CIMI", {}),
            ("-s, no sufficiency loss", {"sufficiency": 0.0}),
            ("-i, no intervention loss", {"intervention_weight": 0.0}),
            ("-p, no weak supervision", {"weak_supervision": 0.0}),
            ("-f, no hidden states", {"states": False}),
            ("with a price of 0.3 for the mean mask", {"sparsity": 0.3}),
        ),
        "Fig. 4 and 5: every part helps faithfulness and stability, the sufficiency loss most, the intervention loss "
        "least. The price for the mask is not in the paper.",
        base={"sparsity": 0.0},
    ),
    "ciem": Ablation(
        (("CIEM", {}), ("α = 0, no ELBO", {"alpha": 0.0}), ("τ = 0, no faithfulness", {"tau": 0.0})),
        "Fig. 12: both together are best. Nothing fixes the sign of S without τ, so seeds should disagree.",
    ),
    "ivra": Ablation(
        (
            ("all levels", {}),
            ("feature", {"levels": "feature"}),
            ("head", {"levels": "head"}),
            ("layer", {"levels": "layer"}),
        ),
        "Fig. 6: the loss falls most with all levels, then feature, then head, and least with layer.",
    ),
}


@dataclass(frozen=True)
class Ablated:
    """`by_seed` are means of AOPC-C, `losses` means over the steps between `SHARES`. The whole has no differences."""

    part: str
    steps: int
    losses: tuple[float, ...]
    by_seed: tuple[float, ...]
    aopc_c: Interval
    aopc_s: Interval
    avg_sen: Interval | None
    minus_whole: tuple[Interval, Interval] | None = None  # AOPC-C, AOPC-S


@dataclass(frozen=True)
class AblationPlan:
    """Each part is trained for `steps` optimiser steps or a few more, to the end of an epoch, with seeds from 0 on."""

    steps: int = 300
    seeds: int = 3
    sensitive: int = 20  # texts on which AvgSen is measured


def ablation_of(method: str) -> Ablation:
    """Raises `ExplanationError` for a method without an ablation."""
    if method not in ABLATIONS:
        raise ExplanationError(f"An ablation of {method!r} is not available. Choose one of: {', '.join(ABLATIONS)}.")
    return ABLATIONS[method]


def checked(method: str, settings: Mapping[str, Any]) -> Ablation:
    """Raises `ExplanationError` for an unknown method and for settings that the plan decides."""
    if fixed := sorted(FIXED & settings.keys()):
        raise ExplanationError(f"An ablation decides {', '.join(fixed)} itself. Use --steps and --seeds instead.")
    return ablation_of(method)


def ablate(
    method: str,
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    folder: Path,
    settings: dict[str, Any],
    plan: AblationPlan | None = None,
) -> Iterator[Ablated]:
    """Trains every part with the other `settings`. Raises `ExplanationError` for a method without an ablation, and for
    settings that the plan decides.
    """
    ablation, plan = checked(method, settings), plan or AblationPlan()
    whole: NDArray[np.float64] | None = None
    for number, (part, changed) in enumerate(ablation.parts):
        trainings: list[_Measured] = []
        for seed in range(plan.seeds):
            values = {**ablation.base, **settings, **changed, "select": "last", "validations": 1, "seed": seed}
            part_folder = folder / f"{method}-{number}-{seed}"
            trainings.append(_train(method, model, texts, validation, part_folder, values, plan))
        figures = np.mean([training.figures for training in trainings], axis=0)
        yield _ablated(part, trainings, figures, whole)
        whole = figures if whole is None else whole


@dataclass(frozen=True)
class _Measured:
    steps: int
    losses: tuple[float, ...]
    figures: NDArray[np.float64]  # (n, 2): AOPC-C and AOPC-S of every text
    sensitivities: NDArray[np.float64]


def _train(
    method: str,
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    folder: Path,
    values: dict[str, Any],
    plan: AblationPlan,
) -> _Measured:
    batches = len(in_random_order(texts, recipes.recipe_of(method, values).batch, random.Random(0)))
    recipe = recipes.recipe_of(method, {**values, "epochs": -(-plan.steps // batches)})
    training = fitting_loop.fit(recipe, model, texts, (), folder)
    figures = fitting_loop.per_text(
        model, validation, fitting_loop.explained(recipe, training.module, model, validation), "mask"
    )[:, :2]
    sensitivities = _sensitivities(training, validation, plan.sensitive)
    return _Measured(training.loop.steps, loss_curve(folder / LOG), figures, sensitivities)


def _ablated(
    part: str, trainings: Sequence[_Measured], figures: NDArray[np.float64], whole: NDArray[np.float64] | None
) -> Ablated:
    sensitivities = np.mean([training.sensitivities for training in trainings], axis=0)
    return Ablated(
        part,
        trainings[0].steps,
        tuple(float(value) for value in np.mean([training.losses for training in trainings], axis=0)),
        tuple(float(training.figures[:, 0].mean()) for training in trainings),
        mean_interval(figures[:, 0]),
        mean_interval(figures[:, 1]),
        mean_interval(sensitivities) if sensitivities.size else None,
        None
        if whole is None
        else (difference_interval(figures[:, 0], whole[:, 0]), difference_interval(figures[:, 1], whole[:, 1])),
    )


def _sensitivities(
    training: fitting_loop.LearnedTraining, texts: Sequence[LearningExample], count: int
) -> NDArray[np.float64]:
    """AvgSen of the first `count` texts of `SHORTEST` units or more; each borrows words of the next."""

    def scores(encoding: Encoding) -> tuple[float, ...]:
        model = training.model
        inputs = pad_batch([encoding], model.pad_token, model.device)
        probabilities = forward_with_internals(model, inputs).probabilities(model)[0]
        return fitting_loop.explained(
            training.recipe, training.module, model, [LearningExample(encoding, probabilities)]
        )[0]

    some = [text.encoding for text in texts if len(text.encoding.units) >= SHORTEST][: count + 1]
    return np.array([sensitivity(scores, one, other, seed=seed) for seed, (one, other) in enumerate(pairwise(some))])


def loss_curve(log: Path) -> tuple[float, ...]:
    """The mean total loss between each of `SHARES` and the next."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    totals = [line["terms"]["total"] for line in lines if "terms" in line]
    cuts = [round(share * len(totals)) for share in SHARES]
    spans = [(min(start, len(totals) - 1), end) for start, end in pairwise(cuts)]  # of at least one step
    return tuple(float(np.mean(totals[start : max(end, start + 1)])) for start, end in spans)


def ablation_records(rows: Sequence[Ablated]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


HEAD = """{steps} steps, {seeds} seeds, {texts} validation texts, the operator `mask`. A difference is that to the first
row, text by text; brackets are 95 % intervals."""


def ablation_markdown(method: str, rows: Sequence[Ablated]) -> str:
    """What each part reaches, how its loss falls, and what the paper found. `rows` are not empty."""
    first = rows[0]
    return "\n\n".join(
        (
            HEAD.format(steps=first.steps, seeds=len(first.by_seed), texts=first.aopc_c.texts),
            _results(first).markdown(rows),
            "The mean loss, by share of the steps:",
            LOSSES.markdown(rows),
            f"The paper: {ABLATIONS[method].claim}",
        )
    )


def _results(first: Ablated) -> Table[Ablated]:
    """As many seeds as the first row has."""
    return Table(
        (
            PART,
            TableColumn("AOPC-C ↑", lambda row: row.aopc_c, bounds()),
            *map(_seed, range(len(first.by_seed))),
            TableColumn("AOPC-S ↓", lambda row: row.aopc_s, bounds()),
            TableColumn("AvgSen ↓", lambda row: row.avg_sen, bounds(), optional=True),
            TableColumn("difference, AOPC-C", lambda row: _difference(row, 0), bounds(sign="+"), optional=True),
            TableColumn("difference, AOPC-S", lambda row: _difference(row, 1), bounds(sign="+"), optional=True),
        )
    )


def _seed(seed: int) -> TableColumn[Ablated]:
    return TableColumn(f"seed {seed}", lambda row: row.by_seed[seed], ".3f")


def _difference(row: Ablated, metric: int) -> Interval | None:
    return None if row.minus_whole is None else row.minus_whole[metric]


def _loss(place: int) -> TableColumn[Ablated]:
    start, end = SHARES[place : place + 2]
    return TableColumn(f"{100 * start:.0f}–{100 * end:.0f} %", lambda row: row.losses[place], ".3f")


PART: TableColumn[Ablated] = TableColumn("part", lambda row: row.part)
LOSSES: Table[Ablated] = Table((PART, *map(_loss, range(len(SHARES) - 1))))
