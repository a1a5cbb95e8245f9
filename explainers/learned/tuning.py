"""AML's λ by Optuna, on validation texts, for each selection criterion (paper, section 3.1: 30 trials of 2 epochs).

One study serves all criteria: every trial is a short training that is scored on AOPC-C and AOPC-S.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from explainers.learned.aml import Aml
from explainers.learned.batches import LearningExample
from explainers.learned.fitting_loop import fit
from explainers.learned.recipe import Select
from explainers.learned.validation import gain
from explainers.models.frozen_model import FrozenModel

if TYPE_CHECKING:
    import optuna

TEXTS, VALIDATION, EPOCHS = 450, 100, 2
CRITERIA: tuple[Select, ...] = ("difference", "comp", "suff")


def search(
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    *,
    trials: int,
    seed: int,
    log: Path,
) -> dict[str, Any]:
    """Tries `trials` settings of λ_p, λ_inv, λ_a ∈ [0, 1]; returns all of them and the best for each criterion."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=4)
    )
    study.enqueue_trial({"lambda_p": 1.0, "lambda_inv": 1.0, "lambda_a": 0.3})
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as lines:

        def attempt(trial: "optuna.Trial") -> tuple[float, float]:
            weights = {name: trial.suggest_float(name, 0.01, 1.0) for name in ("lambda_p", "lambda_inv", "lambda_a")}
            recipe = replace(Aml(seed=seed, epochs=EPOCHS), **weights)  # type: ignore[arg-type]
            with tempfile.TemporaryDirectory() as folder:
                metrics = fit(recipe, model, texts[:TEXTS], validation[:VALIDATION], Path(folder)).metrics
            print(json.dumps(weights | metrics), file=lines, flush=True)
            return metrics["aopc_c"], metrics["aopc_s"]

        study.optimize(attempt, n_trials=trials)
    tried = [cast(dict[str, float], json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]
    return {"trials": tried, "best": {select: best(tried, select) for select in CRITERIA}}


def best(tried: Sequence[dict[str, float]], select: Select) -> dict[str, float]:
    return max(tried, key=lambda each: gain(select, each))
