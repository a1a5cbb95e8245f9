"""The papers' ablations on one frozen model: the same short training with one part switched off.

Figures are means over validation texts with 95 % bootstrap intervals; what the papers report is the direction.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from explainers.errors import ExplanationError
from explainers.learned.batches import Seen
from explainers.learned.fitting import LOG, explained, fit, per_text
from explainers.learned.weights import recipe_of
from explainers.metrics.intervals import Interval, paired
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Erasure


@dataclass(frozen=True)
class Ablation:
    """`parts` are named settings of a method's recipe; `says` is what the paper found."""

    parts: tuple[tuple[str, dict[str, Any]], ...]
    says: str
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
    texts: Sequence[Seen],
    validation: Sequence[Seen],
    folder: Path,
    settings: dict[str, Any],
) -> Iterator[Ablated]:
    """Trains every part of a method's ablation with `settings` besides. Raises `ExplanationError` without one."""
    if method not in ABLATIONS:
        raise ExplanationError(f"There is no ablation of {method!r}. Choose one of: {', '.join(ABLATIONS)}.")
    wanted = ABLATIONS[method]
    for part, changed in wanted.parts:
        for seed in range(wanted.seeds):
            recipe = recipe_of(method, {**settings, **changed, "select": "last", "seed": seed})
            place = folder / f"{method}-{part.split(',')[0].replace(' ', '_').replace('=', '')}-{seed}"
            fitting = fit(recipe, model, texts, validation, place)
            scores = explained(recipe, fitting.module, model, validation)
            found = per_text(model, validation, scores, wanted.erasure)
            yield Ablated(part, seed, last_loss(place / LOG), paired(found[:, 0]), paired(found[:, 1]))


def last_loss(log: Path) -> float:
    """The mean total loss of the last epoch."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if "terms" in line]
    return float(np.mean([line["terms"]["total"] for line in steps if line["epoch"] == steps[-1]["epoch"]]))


def markdown(method: str, found: Sequence[Ablated]) -> str:
    wanted, several = ABLATIONS[method], any(each.seed for each in found)

    def shown(interval: Interval) -> str:
        return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"

    def name(each: Ablated) -> str:
        return f"{each.part}, seed {each.seed}" if several else each.part

    lines = [
        f"| {method} | loss, last epoch | AOPC-C ↑ ({wanted.erasure}) | AOPC-S ↓ ({wanted.erasure}) |",
        "|---|---|---|---|",
        *(f"| {name(each)} | {each.loss:.3f} | {shown(each.aopc_c)} | {shown(each.aopc_s)} |" for each in found),
        "",
        f"The paper: {wanted.says}",
    ]
    return "\n".join(lines)


def as_dict(found: Sequence[Ablated]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]
