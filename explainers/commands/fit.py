"""`python -m explainers fit`: weights of a learned method, or a narrator, for one frozen model."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from explainers.commands.options import (
    DeviceName,
    ModelName,
    Seed,
    Yes,
    downloads,
    image_files,
    parse_settings,
    show_progress,
    user_errors,
)
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import learning_methods
from explainers.models.precision import checked_precision
from explainers.report.text import duration
from explainers.training.fit_spec import ALL, FitSpec, read_spec


def fit_command(
    context: typer.Context,
    method: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(learning_methods())}, {ALL} of them, or a narrator: {', '.join(NARRATORS.ids)}."
        ),
    ] = "",
    model: ModelName = "sst2",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Texts, one per line; a .csv, .tsv or .parquet with a column text; or the folder of a model's data."
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option("--format", help="Of images: esnlive, hateful_memes, vqa_x or table, whose file is --data."),
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
    precision: Annotated[
        str | None,
        typer.Option(
            help="float32 (fp32) or bfloat16 (bf16), of the model's passes in training; as --set precision=…, for "
            "narrators --set half_precision=…. By default that of the variant."
        ),
    ] = None,
    yes: Yes = False,
    file: Annotated[
        Path | None,
        typer.Option("--spec", help="All of this as JSON, as the Train page writes it."),
    ] = None,
) -> None:
    """Fit a method to a frozen model, on unlabelled texts."""
    with user_errors(), downloads(yes=yes or file is not None):  # a job cannot be asked
        if file is not None:
            spec = spec_in(file, context)
        else:
            spec = FitSpec(
                method,
                model,
                data=str(data or ""),
                variant=variant,
                seed=seed,
                settings=with_precision(parse_settings(set_), precision, narrator=method in NARRATORS.ids),
                format=format_,
                images=str(images or ""),
                seeds=seeds,
                full=full,
                device=device,
                folder=str(folder or ""),
                out=str(out or ""),
                resume=resume,
            )
        if not spec.method:
            raise ExplanationError("Name a method, or give a training as JSON with --spec FILE.")
        if spec.full:
            spec.check()
        image_files(spec.format, Path(spec.images) if spec.images else None)
        if settings:
            typer.echo(settings_of(spec))
        else:
            typer.echo(json.dumps(run_fit(spec), indent=2))


def with_precision(
    settings: tuple[tuple[str, str], ...], precision: str | None, *, narrator: bool
) -> tuple[tuple[str, str], ...]:
    """Return the settings with that of --precision. Raises `ExplanationError` where --set gives one too."""
    if precision is None:
        return settings
    name = "half_precision" if narrator else "precision"
    if name in dict(settings):
        raise ExplanationError(f"--precision and --set {name}=… say the same. Omit one of them.")
    chosen = checked_precision(precision)
    return (*settings, (name, str(chosen == "bfloat16") if narrator else chosen))


def spec_in(file: Path, context: typer.Context) -> FitSpec:
    """The training in a file. Raises `ExplanationError` if it cannot be read, or other options are given."""
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in ("file", "yes")}
    if any(source is not None and source.name == "COMMANDLINE" for source in sources.values()):
        raise ExplanationError("--spec holds the whole training. Omit the method and all other options.")
    try:
        return read_spec(file.read_bytes())
    except OSError as error:
        raise ExplanationError(f"The file {file} cannot be read: {error.strerror}.") from error


def settings_of(spec: FitSpec) -> str:
    """The settings of a method that learns, as its shipped variant has them, or of a narrator; those that are open to a
    training of the classifier. Raises `ExplanationError` for a name that cannot be fitted."""
    from explainers.learned.ivra_full import FIXED
    from explainers.learned.recipes import SHIPPED, recipe_class
    from explainers.training.settings import settings_text

    if spec.method in NARRATORS.ids:
        from explainers.narrative.recipe import NarratorRecipe

        return settings_text(NarratorRecipe, NARRATORS.get(spec.method).settings, ("losses", "reads", "seed"))
    if spec.method == ALL:
        raise ExplanationError("Every method has settings of its own. Name one of them.")
    values = SHIPPED.get(spec.check().method, {}).get(spec.name, {})
    return settings_text(recipe_class(spec.method), values, ("seed", *(FIXED if spec.full else ())))


def say_time(seconds: float) -> None:
    """Say how long the fit takes that begins now."""
    about = f"About {duration(seconds)} on this machine, by a timed step."
    show_progress(f"{about} Ctrl-C stops the fit; --resume continues it.")


def run_fit(spec: FitSpec) -> dict[str, Any] | list[dict[str, Any]]:
    """The card of the weights, or all cards. Wrong settings are reported before the model is loaded."""
    from explainers.models.catalog import load

    folder, out = (Path(path) if path else None for path in (spec.folder, spec.out))
    if spec.method in NARRATORS.ids:
        from explainers.narrative import fit as narrator_fit

        narrator_fit.recipe_for(spec)
        model = load(spec.model, device=spec.device)
        return narrator_fit.make(spec, model, folder or narrator_fit.run_folder(spec), out, resume=spec.resume)
    from explainers.learned import fit as learned_fit

    if spec.method == ALL:
        return learned_fit.make_all(spec, load(spec.model, device=spec.device), out)
    learned_fit.recipe_for(spec)
    model, folder = load(spec.model, device=spec.device), folder or learned_fit.run_folder(spec)
    if spec.full:
        from explainers.learned.ivra_full import make_full

        return make_full(spec, model, folder, out)
    announce = say_time if sys.stderr.isatty() else None  # nobody reads it where a job's output is kept
    return learned_fit.make(spec, model, folder, out, resume=spec.resume, announce=announce)
