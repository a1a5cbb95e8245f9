"""AML's λ by Optuna, on validation texts, for each selection criterion (paper, section 3.1: 30 trials of 2 epochs).

One study serves all criteria: every trial is a short training that is scored on AOPC-C and AOPC-S. The λ of the
shipped weights are tried first.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explainers.learned.aml import Aml
from explainers.learned.batches import LearningExample
from explainers.learned.fitting_loop import fit
from explainers.learned.recipe import Select
from explainers.learned.recipes import SHIPPED, recipe_of
from explainers.learned.validation import gain
from explainers.models.frozen_model import FrozenModel

if TYPE_CHECKING:
    import optuna

TEXTS, VALIDATION, EPOCHS = 450, 100, 2
WEIGHTS = ("lambda_p", "lambda_inv", "lambda_a")
AT_RANDOM = 4  # trials before the sampler learns from earlier ones
SELECTIONS: tuple[Select, ...] = ("difference", "comp", "suff")  # AML's variants are named after them


def search(
    model: FrozenModel,
    texts: Sequence[LearningExample],
    validation: Sequence[LearningExample],
    *,
    trials: int,
    seed: int,
    log: Path,
    progress: Callable[[str], None] = lambda _line: None,
) -> dict[str, Any]:
    """Tries the shipped λ_p, λ_inv, λ_a and `trials` others in [0.01, 1].

    Returns all trials, those of shipped λ with their `variant`, and the best one for each criterion. `log` gets a line
    of JSON per trial.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    shipped = shipped_weights()
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=len(shipped) + AT_RANDOM)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    for weights in shipped.values():
        study.enqueue_trial(weights)
    tried: list[dict[str, Any]] = []
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as lines:

        def attempt(trial: "optuna.Trial") -> tuple[float, float]:
            weights = {name: trial.suggest_float(name, 0.01, 1.0) for name in WEIGHTS}
            recipe = replace(Aml(seed=seed, epochs=EPOCHS), **weights)  # type: ignore[arg-type]
            with tempfile.TemporaryDirectory() as folder:
                metrics = fit(recipe, model, texts[:TEXTS], validation[:VALIDATION], Path(folder)).metrics
            of = {"variant": list(shipped)[trial.number]} if trial.number < len(shipped) else {}
            tried.append({**of, **weights, **metrics})
            print(json.dumps(tried[-1]), file=lines, flush=True)
            progress(f"trial {len(tried)} of {len(shipped) + trials}")
            return metrics["aopc_c"], metrics["aopc_s"]

        study.optimize(attempt, n_trials=len(shipped) + trials)
    sizes = {"epochs": EPOCHS, "texts": len(texts[:TEXTS]), "validation": len(validation[:VALIDATION])}
    return sizes | {"seed": seed, "trials": tried, "best": {select: best(tried, select) for select in SELECTIONS}}


def shipped_weights() -> dict[str, dict[str, float]]:
    """λ of every variant of AML."""
    recipes = {variant: recipe_of("aml", settings) for variant, settings in SHIPPED["aml"].items()}
    return {variant: {name: getattr(recipe, name) for name in WEIGHTS} for variant, recipe in recipes.items()}


def best(tried: Sequence[Mapping[str, Any]], select: Select) -> Mapping[str, Any]:
    return max(tried, key=lambda each: gain(select, each))
