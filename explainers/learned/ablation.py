"""The papers' ablations on one frozen model: short trainings, each without one part of the method.

Metrics are means over validation texts with 95 % bootstrap intervals; the papers' claims are about the direction.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from explainers.errors import ExplanationError
from explainers.learned.batches import LearningExample
from explainers.learned.fitting_loop import fit
from explainers.learned.recipes import recipe_of
from explainers.learned.validation import explained, per_text
from explainers.metrics.intervals import Interval, paired
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.training.loop import LOG


@dataclass(frozen=True)
class Ablation:
    """`parts` are named settings of a method's recipe; `claim` is the result of the paper."""

    parts: tuple[tuple[str, dict[str, Any]], ...]
    claim: str
    erasure: Erasure = "mask"
    seeds: int = 1


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
        ),
        "Fig. 4: every part helps faithfulness, the sufficiency loss most, the intervention loss least.",
        erasure="zero",
    ),
    "ciem": Ablation(
        (("CIEM", {}), ("α = 0, no ELBO", {"alpha": 0.0}), ("τ = 0, no faithfulness", {"tau": 0.0})),
        "Fig. 12: both together are best. Nothing fixes the sign of S without τ, so seeds should disagree.",
        erasure="zero",
        seeds=3,
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
    part: str
    seed: int
    loss: float  # mean of the criterion over the last epoch's steps
    aopc_c: Interval
    aopc_s: Interval


def ablate(
    method: str,
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    folder: Path,
    settings: dict[str, Any],
) -> Iterator[Ablated]:
    """Trains every part with the other `settings`. Raises `ExplanationError` for a method without an ablation."""
    if method not in ABLATIONS:
        raise ExplanationError(f"An ablation of {method!r} is not available. Choose one of: {', '.join(ABLATIONS)}.")
    ablation = ABLATIONS[method]
    for part, changed in ablation.parts:
        for seed in range(ablation.seeds):
            recipe = recipe_of(method, {**settings, **changed, "select": "last", "seed": seed})
            part_folder = folder / f"{method}-{part.split(',')[0].replace(' ', '_').replace('=', '')}-{seed}"
            training = fit(recipe, model, texts, validation, part_folder)
            scores = explained(recipe, training.module, model, validation)
            metrics = per_text(model, validation, scores, ablation.erasure)
            yield Ablated(part, seed, last_loss(part_folder / LOG), paired(metrics[:, 0]), paired(metrics[:, 1]))


def last_loss(log: Path) -> float:
    """The mean total loss of the last epoch."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if "terms" in line]
    return float(np.mean([line["terms"]["total"] for line in steps if line["epoch"] == steps[-1]["epoch"]]))


def ablation_markdown(method: str, rows: Sequence[Ablated]) -> str:
    ablation, several = ABLATIONS[method], any(each.seed for each in rows)

    def cell(interval: Interval) -> str:
        return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"

    def name(each: Ablated) -> str:
        return f"{each.part}, seed {each.seed}" if several else each.part

    lines = [
        f"| {method} | loss, last epoch | AOPC-C ↑ ({ablation.erasure}) | AOPC-S ↓ ({ablation.erasure}) |",
        "|---|---|---|---|",
        *(f"| {name(each)} | {each.loss:.3f} | {cell(each.aopc_c)} | {cell(each.aopc_s)} |" for each in rows),
        "",
        f"The paper: {ablation.claim}",
    ]
    return "\n".join(lines)


def ablation_records(rows: Sequence[Ablated]) -> list[dict[str, Any]]:
    return [asdict(each) for each in rows]
