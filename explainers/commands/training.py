"""The commands that train: an embedded model, a head on a frozen encoder, and what is fitted to a frozen model."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from explainers.commands import options
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import learning_methods
from explainers.models.precision import checked_precision
from explainers.models.ray_cluster import LOCAL, RAY
from explainers.report.wording import duration
from explainers.training.spec import ALL, FitSpec, read_spec, settings_text

CALLED = "It is called {0}, as in explain --methods {0}."


def train_model_command(
    name: Annotated[str, typer.Argument(help="The embedded model to train, such as sst2.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data; by default the hub.")] = None,
    epochs: Annotated[int | None, typer.Option(help="For text models; by default 3.")] = None,
    steps: Annotated[int | None, typer.Option(help="For models trained on generated data; by default 10,500.")] = None,
    rank: Annotated[int, typer.Option(help="LoRA rank; 0 trains the encoder layers themselves.")] = 0,
    learning_rate: Annotated[float | None, typer.Option(help="By default that of the model's recipe.")] = None,
    seed: options.Seed = 0,
    uniform_masking: Annotated[
        bool,
        typer.Option(
            "--uniform-masking", help="For text models: mask a random share, 0 to 100 %, of every other text."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the bundle; by default assets/bundles/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue after the last finished epoch.")] = False,
) -> None:
    """Train an embedded model and write its bundle."""
    with options.user_errors():
        from explainers.models.tasks import TrainingOptions, make_bundle

        training = TrainingOptions(data, out, resume, epochs, steps, rank, learning_rate or None, seed, uniform_masking)
        typer.echo(json.dumps(make_bundle(name, training), indent=2))


def train_head_command(
    encoder: Annotated[str, typer.Argument(help="CLIP, VisualBERT, FLAVA or Qwen2-VL: a hub id or a folder.")],
    data: Annotated[Path, typer.Option(help="The annotations to learn from.")],
    format_: Annotated[str, typer.Option("--format", help="esnlive, hateful_memes, vqa_x or table.")],
    images: Annotated[Path, typer.Option("--pictures", help="The folder of the images.")],
    out: Annotated[Path, typer.Option(help="Folder of the head, which is then a model name.")],
    vision: Annotated[str, typer.Option(help="For VisualBERT: the vision model that embeds the image.")] = "",
    tokenizer: Annotated[str, typer.Option(help="A tokenizer, if the encoder comes without one.")] = "",
    seed: options.Seed = 0,
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
) -> None:
    """Train a classifier head on a frozen encoder of images and texts, from a published set."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.datasets.images.sets import image_set
        from explainers.models.catalog import resolve_device
        from explainers.models.multimodal.head_training import HeadRecipe, fit_head

        files = options.image_files(format_, images)
        if files is None or not data.is_file():
            raise ExplanationError(f"The file {data} does not exist.")
        annotated = files.read(data)
        recipe = HeadRecipe(vision=vision, tokenizer=tokenizer, input_names=image_set(format_).input_names, seed=seed)
        if annotated.warning:
            typer.echo(annotated.warning, err=True)
        labelled = [example for example in annotated.examples if example.label is not None]
        card = fit_head(encoder, labelled, annotated.labels, recipe, out, device=resolve_device(device))
        typer.echo(json.dumps(card, indent=2))


def fit_command(
    context: typer.Context,
    method: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(learning_methods())}, {ALL} of them, or a narrator: {', '.join(NARRATORS.ids)}."
        ),
    ] = "",
    model: options.ModelName = "sst2",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Texts, one per line; a .csv, .tsv or .parquet with a column of them; or the folder of a model's data."
        ),
    ] = None,
    column: Annotated[
        str, typer.Option(help="Column of the texts in a table; by default text, or for pairs premise.")
    ] = "",
    pair_column: Annotated[
        str, typer.Option(help="Column of the second texts; by default text_pair, pair or hypothesis.")
    ] = "",
    format_: Annotated[
        str,
        typer.Option("--format", help="Of images: esnlive, hateful_memes, vqa_x or table, whose file is --data."),
    ] = "",
    images: Annotated[Path | None, typer.Option("--pictures", help="With --format: the folder of the images.")] = None,
    variant: Annotated[str, typer.Option(help="Name of the result; a shipped name brings its settings.")] = "",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A hyperparameter: name=value. Repeatable; see --settings.")
    ] = None,
    seed: options.Seed = 0,
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
    device: options.DeviceName = "auto",
    precision: Annotated[
        str | None,
        typer.Option(
            help="float32 (fp32) or bfloat16 (bf16), of the model's passes in training; as --set precision=…, for "
            "narrators --set half_precision=…. By default that of the variant."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="local, or ray: workers of a cluster fit, several methods of `all` at once.")
    ] = LOCAL,
    processes: options.RayWorkers = 1,
    address: options.RayAddress = "",
    yes: options.Yes = False,
    file: Annotated[
        Path | None,
        typer.Option("--spec", help="All of this as JSON, as the Train page writes it."),
    ] = None,
) -> None:
    """Fit a method to a frozen model, on unlabelled texts."""
    with options.user_errors(), options.downloads(yes=yes or file is not None):  # a job cannot be asked
        if file is not None:
            spec = spec_in(file, context)
        else:
            spec = FitSpec(
                method,
                model,
                data=str(data or ""),
                column=column,
                pair_column=pair_column,
                variant=variant,
                seed=seed,
                settings=with_precision(options.parse_settings(set_), precision, narrator=method in NARRATORS.ids),
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
        options.image_files(spec.format, Path(spec.images) if spec.images else None)
        options.check_ray(engine, address, processes)
        if settings:
            typer.echo(settings_of(spec))
        elif engine == RAY:
            typer.echo(json.dumps(run_with_ray(spec, processes, address), indent=2))
        else:
            say = None if file is not None else options.show_progress  # a job's card has the warnings too
            typer.echo(json.dumps(run_fit(spec, say), indent=2))
            is_method = spec.method not in NARRATORS.ids and not spec.full  # not a narrator, or a model of its own
            if say is not None and spec.variant and not spec.out and is_method:
                say(CALLED.format(f"{'METHOD' if spec.method == ALL else spec.method}:{spec.variant}"))


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
    options.show_progress(f"{about} Ctrl-C stops the fit; --resume continues it.")


def run_with_ray(spec: FitSpec, workers: int, address: str) -> dict[str, Any] | list[dict[str, Any]]:
    """As `run_fit`, by the workers of a cluster; the cards of several as they end."""
    from explainers.commands.ray_fits import fits_with_ray
    from explainers.learned.fit import shipped_fits

    specs = shipped_fits(spec) if spec.method == ALL else [spec]
    cards = list(fits_with_ray(specs, workers, address, fitted_card, options.show_progress))
    return cards if spec.method == ALL else cards[0]


def fitted_card(spec: FitSpec) -> dict[str, Any]:
    """The card of one training."""
    card = run_fit(spec)
    assert isinstance(card, dict)  # of one method
    return card


def run_fit(spec: FitSpec, say: Callable[[str], None] | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """The card of the weights, or all cards. Wrong settings are reported before the model is loaded. `say` gets
    what is learned from, a sentence where weights will be replaced, and the warnings of the card."""
    from explainers.commands.ray_fits import say_warnings
    from explainers.models.catalog import load

    say = say or (lambda _sentence: None)
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
    card = learned_fit.make(spec, model, folder, out, resume=spec.resume, announce=announce, say=say)
    say_warnings(card, say)
    return card
