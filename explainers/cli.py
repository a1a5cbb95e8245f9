"""The command line: `python -m explainers …`. The same code as the app and the notebook."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.methods import DEFAULT, METHODS
from explainers.models.scenes.recipe import Recipe as Scenes
from explainers.narrative.entries import IDS

if TYPE_CHECKING:
    from explainers.datasets.pictures.sets import PictureFiles
    from explainers.models.classifier import FrozenModel

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Explanations of frozen Transformer classifiers side by side, and how far each can be trusted.",
)

Model = Annotated[str, typer.Option(help="A bundle such as sst2, a hub id (owner/model) or a folder.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:0 or mps.")]


@contextmanager
def sentences() -> Iterator[None]:
    """What a person can mend is one line on standard error and exit code 2, never a stack trace."""
    try:
        yield
    except ExplanationError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error


def version(wanted: bool) -> None:
    if wanted:
        from explainers.manifest import VERSION

        typer.echo(f"crosslight {VERSION}")
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Explanations of frozen Transformer classifiers side by side, and how far each can be trusted."""


@app.command()
def explain(
    text: Annotated[str, typer.Option(help="The text to explain; of a pair the first, such as the premise.")],
    text_pair: Annotated[str | None, typer.Option(help="The second text of a pair, such as the hypothesis.")] = None,
    image: Annotated[
        Path | None, typer.Option(help="A PNG, JPEG, WebP, GIF or BMP file that the text is about.")
    ] = None,
    model: Model = "sst2",
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas.")] = ",".join(DEFAULT),
    label: Annotated[str | None, typer.Option(help="The class to explain; by default the predicted one.")] = None,
    erasure: Annotated[str, typer.Option(help="mask, delete, zero, or blur for images.")] = "mask",
    unit: Annotated[str, typer.Option(help="word or token.")] = "word",
    superpixels: Annotated[
        int, typer.Option(help="So many superpixels instead of a grid, where a model reads no patches as tokens.")
    ] = 0,
    samples: Annotated[int, typer.Option(help="Samples of LIME and KernelSHAP.")] = 500,
    steps: Annotated[int, typer.Option(help="Steps of integrated gradients.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    device: Device = "auto",
    json_: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write a stand-alone page to this file.")] = None,
) -> None:
    """Explain one text by several methods, and measure each explanation."""
    with sentences():
        from explainers.api import checked, explain_with
        from explainers.models.catalog import load
        from explainers.report.document import document
        from explainers.report.terminal import lines

        settings = checked(unit, erasure, samples, steps, seed)
        picture = Picture(path=image) if image else None
        example, frozen = Example(text, text_pair, picture=picture), load(model, device=device)
        if superpixels:
            frozen = cut_into_superpixels(frozen, superpixels)
        found = explain_with(frozen, example, methods.split(","), label=label, settings=settings)
        if html is not None:
            write(html, document(found))
        typer.echo(found.as_json() if json_ else "\n".join(lines(found)))


def cut_into_superpixels(model: "FrozenModel", count: int) -> "FrozenModel":
    """The same model, whose pictures are cut along their colours."""
    from explainers.models.multimodal.cutting import Superpixels
    from explainers.models.multimodal.model import MultimodalModel

    if not isinstance(model, MultimodalModel):
        raise ExplanationError(f"{model.name} reads no picture that could be cut into superpixels. Leave them away.")
    return model.cut_into(Superpixels(count))


def write(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ExplanationError(f"The page cannot be written to {path}: {error.strerror}.") from error


@app.command()
def methods() -> None:
    """List the methods with their ids."""
    for entry in METHODS:
        typer.echo(f"{entry.id:22} {entry.name:24} {entry.idea}")


@app.command("train-model")
def train_model(
    name: Annotated[str, typer.Argument(help="The embedded model to train: sst2, nli or scenes.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data; by default the hub.")] = None,
    epochs: Annotated[int, typer.Option(help="Of sst2 and nli.")] = 3,
    steps: Annotated[int, typer.Option(help="Of scenes, with 64 samples each.")] = Scenes.steps,
    rank: Annotated[int, typer.Option(help="LoRA rank; 0 trains the encoder layers themselves.")] = 0,
    learning_rate: Annotated[float | None, typer.Option(help="By default 0.0001, and 0.003 for scenes.")] = None,
    seed: Annotated[int, typer.Option()] = 0,
    out: Annotated[Path | None, typer.Option(help="Where the bundle goes; by default assets/bundles/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last finished epoch.")] = False,
) -> None:
    """Train an embedded model and write its bundle."""
    with sentences():
        from explainers.models import training
        from explainers.models.scenes import making
        from explainers.models.tasks import make_bundle

        if name == "scenes":
            taught = Scenes(steps=steps, learning_rate=learning_rate or Scenes.learning_rate, seed=seed)
            found = making.make_scenes(data, taught, out, resume=resume)
        else:
            recipe = training.Recipe(rank=rank, epochs=epochs, learning_rate=learning_rate or 1e-4, seed=seed)
            found = make_bundle(name, data, recipe, out, resume=resume)
        typer.echo(json.dumps(found, indent=2))


@app.command("train-head")
def train_head(
    encoder: Annotated[str, typer.Argument(help="CLIP, VisualBERT, FLAVA or Qwen2-VL: a hub id or a folder.")],
    data: Annotated[Path, typer.Option(help="The annotations to learn from.")],
    format_: Annotated[str, typer.Option("--format", help="esnlive, hateful_memes or vqa_x.")],
    pictures: Annotated[Path, typer.Option(help="The folder of the pictures.")],
    out: Annotated[Path, typer.Option(help="Where the head goes; this folder is then a model's name.")],
    vision: Annotated[str, typer.Option(help="For VisualBERT: the model that sees the picture.")] = "",
    tokenizer: Annotated[str, typer.Option(help="Where the encoder's own files hold none.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    device: Device = "auto",
) -> None:
    """Train a classifier's head on a frozen encoder of pictures and texts, from a published set."""
    with sentences():
        from explainers.datasets.pictures.sets import named
        from explainers.models.catalog import device_of
        from explainers.models.multimodal.heads import HeadRecipe, fit_head

        files = picture_files(format_, pictures)
        if files is None or not data.is_file():
            raise ExplanationError(f"There is no file {data}.")
        chosen, found = named(format_), files.read(data)
        recipe = HeadRecipe(vision=vision, tokenizer=tokenizer, asks=chosen.asks, seed=seed)
        if found.notice:
            typer.echo(found.notice, err=True)
        labelled = [each for each in found.examples if each.label is not None]
        card = fit_head(encoder, labelled, found.labels, recipe, out, device=device_of(device))
        typer.echo(json.dumps(card, indent=2))


@app.command()
def fit(
    method: Annotated[
        str,
        typer.Argument(help="aml, cimi, ciem, ivra, all of them, cause_phi, cause_phi_ts or cause."),
    ],
    model: Model = "sst2",
    data: Annotated[
        Path | None,
        typer.Option(help="Texts, one per line; a .csv or .tsv with a column text; or the folder of a model's data."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="For pictures: esnlive, hateful_memes or vqa_x; --data is its annotations.")
    ] = "",
    pictures: Annotated[Path | None, typer.Option(help="With --format: the folder of the pictures.")] = None,
    variant: Annotated[str, typer.Option(help="Name of the result; a shipped one's settings are taken.")] = "",
    set_: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter: name=value. Repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    folder: Annotated[Path | None, typer.Option(help="For log and checkpoint; by default below runs.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where weights and card go; by default the store.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last finished epoch.")] = False,
    full: Annotated[bool, typer.Option("--full", help="IvRA only: train the classifier too, as a new model.")] = False,
    device: Device = "auto",
) -> None:
    """Teach a method to explain a frozen model, from unlabelled texts."""
    with sentences():
        from explainers.learned.command import Order, make, make_all, run_folder
        from explainers.models.catalog import load

        files = picture_files(format_, pictures)
        if full and method != "ivra":
            raise ExplanationError(f"Only ivra can train the classifier too, not {method}. Leave --full away.")
        if full and resume:
            raise ExplanationError("A training of the classifier itself cannot be resumed. Leave --resume away.")
        if method in IDS:
            from explainers.narrative import command as narrative

            if variant:
                raise ExplanationError(
                    f"{method} has no variants. Leave --variant away; settings are given with --set."
                )
            told = narrative.Order(method, model, data, seed, tuple(pairs(set_ or [])), files)
            told.recipe  # noqa: B018
            place = folder or told.folder
            found: object = narrative.make(told, load(model, device=device), place, out, resume=resume)
        elif method == "all":
            found = make_all(load(model, device=device), data, seed, out, files)
        else:
            order = Order(method, model, data, variant, seed, tuple(pairs(set_ or [])), files)
            order.recipe  # a bad setting is told before the model is loaded  # noqa: B018
            frozen, place = load(model, device=device), folder or run_folder(order)
            if full:
                from explainers.learned.full_command import make_full

                found = make_full(order, frozen, place, out)
            else:
                found = make(order, frozen, place, out, resume=resume)
        typer.echo(json.dumps(found, indent=2))


def picture_files(name: str, folder: Path | None) -> "PictureFiles | None":
    """Both or neither must be given; there must be such a set and such a folder."""
    from explainers.datasets.pictures.sets import PictureFiles, named

    if bool(name) != (folder is not None):
        raise ExplanationError("--format and --pictures go together: give both, or neither.")
    if folder is None:
        return None
    named(name)
    if not folder.is_dir():
        raise ExplanationError(f"There is no folder {folder}.")
    return PictureFiles(name, folder)


def pairs(settings: list[str]) -> Iterator[tuple[str, str]]:
    """From name=value to both parts."""
    for each in settings:
        name, equals, value = each.partition("=")
        if not equals:
            raise ExplanationError(f"--set needs name=value, not {each!r}.")
        yield name.strip(), value.strip()


@app.command()
def tune(
    model: Model = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for fit.")] = None,
    trials: Annotated[int, typer.Option(help="Settings to try.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the trials, a line of JSON each.")] = Path("runs/tune-aml.jsonl"),
    device: Device = "auto",
) -> None:
    """Search AML's λ on validation texts, for every figure at once."""
    with sentences():
        from explainers.learned.batches import seen
        from explainers.learned.command import parts
        from explainers.learned.tuning import search
        from explainers.models.catalog import load

        frozen = load(model, device=device)
        texts, watched = (seen(frozen, part) for part in parts(model, data, seed))
        typer.echo(json.dumps(search(frozen, texts, watched, trials=trials, seed=seed, log=out), indent=2))


@app.command()
def ablate(
    method: Annotated[str, typer.Argument(help="aml, cimi, ciem or ivra.")],
    model: Model = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for fit.")] = None,
    texts: Annotated[int, typer.Option(help="Texts to learn from.")] = 300,
    epochs: Annotated[int, typer.Option(help="Epochs of each short training.")] = 2,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter of all parts: name=value.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for logs and the table.")] = Path("runs/ablations"),
    device: Device = "auto",
) -> None:
    """Repeat the paper's ablation of a method in short trainings, and print the table."""
    with sentences():
        from explainers.learned import ablation
        from explainers.learned.batches import seen
        from explainers.learned.command import parts
        from explainers.models.catalog import load

        frozen, settings = load(model, device=device), {"epochs": epochs, **dict(pairs(set_ or []))}
        given, watched = (seen(frozen, part) for part in parts(model, data, 0))
        found = list(ablation.ablate(method, frozen, given[:texts], watched[:100], out, settings))
        (out / f"{method}.json").write_text(json.dumps(ablation.as_dict(found), indent=2) + "\n", encoding="utf-8")
        typer.echo(ablation.markdown(method, found))


@app.command()
def identifiability(
    seeds: Annotated[int, typer.Option(help="Seeds, each with its own data and networks.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder for result.json and the figure.")] = Path("runs/identifiability"),
) -> None:
    """Does CIEM find true latent variables? The synthetic experiment of its paper (App. E.5) against a plain VAE."""
    with sentences():
        from explainers.learned.identifiability import report

        typer.echo(json.dumps(report(seeds, out)["means"], indent=2))


@app.command()
def evaluate(
    model: Model = "sst2",
    data: Annotated[
        Path | None, typer.Option(help="Folder with the model's data, or a file with texts (not those learned from).")
    ] = None,
    split: Annotated[str, typer.Option(help="test or validation.")] = "test",
    n: Annotated[int, typer.Option(help="Texts, taken at random by the seed; 0 takes all.")] = 300,
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas; by default all with weights.")] = "",
    erasures: Annotated[str, typer.Option(help="Operators to score under.")] = "mask,delete,zero",
    erasure: Annotated[str, typer.Option(help="Operator with which the explanations are made.")] = "mask",
    unit: Annotated[str, typer.Option(help="word or token.")] = "word",
    samples: Annotated[int, typer.Option(help="Samples of LIME and KernelSHAP.")] = 500,
    steps: Annotated[int, typer.Option(help="Steps of integrated gradients.")] = 50,
    against: Annotated[str, typer.Option(help="A method with which the others are compared, text by text.")] = "",
    sensitive: Annotated[int, typer.Option(help="Texts on which AvgSen is measured.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    processes: Annotated[int, typer.Option(help="Of one thread each, with different texts.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for results; an interrupted evaluation goes on.")] = Path(
        "runs/evaluation"
    ),
    device: Device = "auto",
    json_: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Measure every method on a data set: all faithfulness figures, three operators, controls, intervals."""
    with sentences():
        from explainers.api import checked
        from explainers.evaluate_command import Wanted, measure

        settings = checked(unit, erasure, samples, steps, seed)
        ids, operators = tuple(filter(None, methods.split(","))), tuple(erasures.split(","))
        wanted = Wanted(model, data, split, n, ids, operators, against, processes=processes)
        said = measure(wanted, settings, sensitive, out, device, lambda line: typer.echo(line, err=True))
        typer.echo((out / "table.json").read_text(encoding="utf-8") if json_ else said)


@app.command()
def narratives(
    model: Model = "nli",
    data: Annotated[Path | None, typer.Option(help="As for fit.")] = None,
    format_: Annotated[str, typer.Option("--format", help="As for fit.")] = "",
    pictures: Annotated[Path | None, typer.Option(help="As for fit.")] = None,
    n: Annotated[int, typer.Option(help="Test pairs, taken at random; 0 takes all.")] = 500,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each narrator; missing ones are fitted.")] = 3,
    methods: Annotated[str, typer.Option(help="Narrators, separated by commas.")] = ",".join(IDS),
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of all narrators: name=value.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for table, items and the page of examples.")] = Path(
        "runs/narratives"
    ),
    device: Device = "auto",
) -> None:
    """Measure explanations in words: agreement, CCMR, BLEU, diversity, on unseen pairs (CAuSE's Tables 2 and 3)."""
    with sentences():
        from explainers.models.catalog import load
        from explainers.narrative.evaluate_command import Wanted, measure

        files = picture_files(format_, pictures)
        wanted = Wanted(data, n, seeds, tuple(methods.split(",")), tuple(pairs(set_ or [])), files)
        typer.echo(measure(wanted, load(model, device=device), out, lambda line: typer.echo(line, err=True)))


@app.command()
def bench(
    model: Model = "sst2",
    threads: Annotated[int, typer.Option(help="Threads of torch; 0 leaves its choice.")] = 0,
    browser: Annotated[bool, typer.Option(help="Also start the app and open it in Chromium.")] = True,
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Measure speed on this machine: against Captum's defaults, cold start, memory."""
    with sentences():
        from explainers.bench import measure, report

        found = measure(model, threads, browser=browser)
        typer.echo(json.dumps(found, indent=2) if json_ else report(found))
