"""AML's λ by Optuna, on validation texts, for each selection criterion (paper, section 3.1: 30 trials of 2 epochs).

One study serves all criteria: every trial is a short training that is scored on AOPC-C and AOPC-S. The λ of the
shipped weights are tried first.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explainers.learned import batches, fitting_loop
from explainers.learned.aml import Aml
from explainers.learned.recipe import Select
from explainers.learned.recipes import SHIPPED, recipe_of
from explainers.models.frozen_model import FrozenModel
from explainers.report.tables import Table, TableColumn, command_block

if TYPE_CHECKING:
    import optuna


TEXTS, VALIDATION, EPOCHS = 450, 100, 2
WEIGHTS = ("lambda_p", "lambda_inv", "lambda_a")
AT_RANDOM = 4  # trials before the sampler learns from earlier ones
SELECTIONS: tuple[Select, ...] = ("difference", "comp", "suff")  # AML's variants are named after them


def search(
    model: FrozenModel,
    texts: Sequence[batches.LearningExample],
    validation: Sequence[batches.LearningExample],
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
                metrics = fitting_loop.fit(recipe, model, texts[:TEXTS], validation[:VALIDATION], Path(folder)).metrics
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
    return max(tried, key=lambda trial: fitting_loop.gain(select, trial))


TUNING = "tuning.json"  # in a bundle's folder and in that of a run
SELECTION_TITLES = {"difference": "AOPC-C minus AOPC-S", "comp": "AOPC-C", "suff": "AOPC-S"}
NOTE = (
    "Every trial is a training of {epochs} epochs on {texts} texts, scored on {validation} validation texts under the "
    "operator `mask`, after its better epoch by AOPC-C minus AOPC-S (cf. Barkan et al., 2024, section 3.1: Optuna, 30 "
    "trials of 2 epochs). First come the λ of the shipped weights, which are trained for longer."
)


def tuning_section(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    table = json.loads(path.read_text(encoding="utf-8"))
    yield "## AML's λ"
    yield command_block(table["command"])
    yield tuning_markdown(table)


def tuning_markdown(table: Mapping[str, Any]) -> str:
    """All trials in their order, with what each is best at, and how they were made."""
    best = {select: table["trials"].index(trial) for select, trial in table["best"].items()}
    return "\n\n".join(
        [NOTE.format_map(table), _table(best).markdown(enumerate(table["trials"])), *_sentences(table["trials"], best)]
    )


def _table(best: Mapping[str, int]) -> Table[tuple[int, Mapping[str, Any]]]:
    """A row per trial, with its number; `best` are the numbers of the best ones by criterion."""

    def of_trial(key: str, header: str, places: int) -> TableColumn[tuple[int, Mapping[str, Any]]]:
        return TableColumn(header, lambda row: row[1][key], f".{places}f")

    def best_by(row: tuple[int, Mapping[str, Any]]) -> str:
        return ", ".join(SELECTION_TITLES[select] for select, at in best.items() if at == row[0])

    return Table(
        (
            TableColumn(
                "trial", lambda row: f"{row[0]}" + (f": λ of `{row[1]['variant']}`" if "variant" in row[1] else "")
            ),
            of_trial("lambda_p", "λ_p", 2),
            of_trial("lambda_inv", "λ_inv", 2),
            of_trial("lambda_a", "λ_a", 2),
            of_trial("aopc_c", "AOPC-C ↑", 3),
            of_trial("aopc_s", "AOPC-S ↓", 3),
            TableColumn("difference ↑", lambda row: row[1]["aopc_c"] - row[1]["aopc_s"], ".3f"),
            TableColumn("best by", best_by),
        )
    )


def _sentences(trials: Sequence[Mapping[str, Any]], best: Mapping[str, int]) -> Iterator[str]:
    """Sentences: by how much the best trial of each criterion is better than the λ that are shipped for it."""
    shipped = {trial["variant"]: trial for trial in trials if "variant" in trial}
    gains = {select: _value(trials[at], select) - _value(shipped[select], select) for select, at in best.items()}
    figures = ", ".join(f"{gain:.3f} in {SELECTION_TITLES[select]}" for select, gain in gains.items())
    yield f"The best trial is better than the λ that are shipped for the criterion by {figures}."


def _value(trial: Mapping[str, Any], select: str) -> float:
    comp, suff = trial["aopc_c"], trial["aopc_s"]
    return float({"difference": comp - suff, "comp": comp, "suff": -suff}[select])
