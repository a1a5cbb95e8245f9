"""`python -m explainers fit`: weights of a learned method, or a narrator, for one frozen model."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from explainers.commands.options import DeviceName, ModelName, Seed, image_files, parse_settings, user_errors
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, learning_methods
from explainers.training.fit_spec import FitSpec

ALL = "all"  # in place of a method: every shipped variant


def fit_command(
    method: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(learning_methods())}, {ALL} of them, or a narrator: {', '.join(NARRATORS.ids)}."
        ),
    ],
    model: ModelName = "sst2",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Texts, one per line; a .csv, .tsv or .parquet with a column text; or the folder of a model's data."
        ),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="For images: esnlive, hateful_memes or vqa_x; --data is its annotations.")
    ] = "",
    images: Annotated[Path | None, typer.Option("--pictures", help="With --format: the folder of the images.")] = None,
    variant: Annotated[str, typer.Option(help="Name of the result; a shipped name brings its settings.")] = "",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A hyperparameter: name=value. Repeatable; see --settings.")
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Trainings, with the seeds from --seed on; the best on validation texts is kept.")
    ] = 1,
    folder: Annotated[Path | None, typer.Option(help="Folder for log and checkpoint; by default below runs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for weights and card; by default the store.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="List the hyperparameters that --set takes, with their values, and end.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="IvRA only: train the classifier too, as a new model.")] = False,
    device: DeviceName = "auto",
) -> None:
    """Fit a method to a frozen model, on unlabelled texts."""
    with user_errors():
        image_files(format_, images)
        check_full(method, full=full, resume=resume, seeds=seeds)
        if settings:
            typer.echo(settings_of(method, variant, full=full))
            return
        spec = FitSpec(
            method,
            model,
            data=str(data or ""),
            variant=variant,
            seed=seed,
            settings=parse_settings(set_),
            format=format_,
            images=str(images or ""),
            seeds=seeds,
        )
        cards = run_fit(spec, device, folder, out, resume=resume, full=full)
        typer.echo(json.dumps(cards, indent=2))


def settings_of(method: str, variant: str, *, full: bool = False) -> str:
    """The settings of a method that learns, as its shipped `variant` has them, or of a narrator; with `full` those that
    a training of the classifier leaves free. Raises `ExplanationError` for a name that cannot be fitted."""
    from explainers.learned.ivra_full import FIXED
    from explainers.learned.recipes import SHIPPED, recipe_class
    from explainers.training.hyperparameters import settings_text

    if method in NARRATORS.ids:
        from explainers.narrative.recipe import MEANING, NarratorRecipe

        return settings_text(NarratorRecipe, NARRATORS.get(method).settings, MEANING, ("losses", "reads", "seed"))
    if method == ALL:
        raise ExplanationError("Every method has settings of its own. Name one of them.")
    FitSpec(method, "", variant=variant).check()
    recipe, values = (
        recipe_class(method),
        SHIPPED.get(method, {}).get(variant or METHODS.get(method).default_variant, {}),
    )
    return settings_text(recipe, values, without=("seed", *(FIXED if full else ())))


def check_full(method: str, *, full: bool, resume: bool, seeds: int = 1) -> None:
    able = [spec.id for spec in METHODS if spec.trains_classifier]
    if full and method not in able:
        raise ExplanationError(f"{method} cannot train the classifier; {', '.join(able)} can. Omit --full.")
    if full and resume:
        raise ExplanationError("A training of the classifier itself cannot be resumed. Omit --resume.")
    if full and seeds > 1:
        raise ExplanationError("A training of the classifier itself has one seed. Omit --seeds.")


def run_fit(
    spec: FitSpec, device: str, folder: Path | None, out: Path | None, *, resume: bool, full: bool
) -> dict[str, Any] | list[dict[str, Any]]:
    """The card of the weights, or all cards. Wrong settings are reported before the model is loaded."""
    from explainers.models.catalog import load

    if spec.method in NARRATORS.ids:
        from explainers.narrative import fit as narrator_fit

        narrator_fit.recipe_for(spec)
        narrator_folder = folder or narrator_fit.run_folder(spec)
        return narrator_fit.make(spec, load(spec.model, device=device), narrator_folder, out, resume=resume)
    from explainers.learned import fit as learned_fit

    if spec.method == ALL:
        return learned_fit.make_all(spec, load(spec.model, device=device), out)
    learned_fit.recipe_for(spec)
    frozen, target = load(spec.model, device=device), folder or learned_fit.run_folder(spec)
    if full:
        from explainers.learned.fit_full import make_full

        return make_full(spec, frozen, target, out)
    return learned_fit.make(spec, frozen, target, out, resume=resume)
