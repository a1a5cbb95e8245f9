"""Options that several commands share, and how typed text becomes values. Importing this module does not load torch."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.errors import DataUnavailable, ExplanationError, MissingColumn
from explainers.models.ray_cluster import RAY, check_engine

if TYPE_CHECKING:
    from explainers.datasets.images.sets import ImageFiles
    from explainers.datasets.labelled_rows import Columns

ModelName = Annotated[str, typer.Option(help="A bundle such as sst2, a hub id, a folder, or MODEL:PROMPT.")]
DeviceName = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:0 or mps.")]
PrecisionName = Annotated[
    str,
    typer.Option(
        help="float32 (fp32) or bfloat16 (bf16): of the passes for masks, where a check shows the same leading units."
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Fetch a model from the hub without asking, also one of more than 500 MB.")
]
UnitName = Annotated[str, typer.Option(help="word, token, sentence, or example: those of a prompt.")]
Samples = Annotated[int, typer.Option(help="Samples of LIME and KernelSHAP; 0: until the result has settled.")]
SamplingName = Annotated[
    str,
    typer.Option(help="How LIME and KernelSHAP draw: captum, each for itself, or shared, the same masks for both."),
]
Steps = Annotated[int, typer.Option(help="Steps of integrated gradients.")]
BudgetSeconds = Annotated[
    float | None,
    typer.Option(help="Seconds for one comparison; what does not fit is named. By default until all is done."),
]
ExplanationFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of explanations that all measurements of whole sets share: what it holds is not computed again."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
UnseenData = Annotated[
    Path | None, typer.Option(help="Folder with the model's data, or a file with texts unseen in training.")
]
SplitName = Annotated[str, typer.Option(help="test or validation.")]
InputCount = Annotated[int, typer.Option(min=0, help="Number of inputs, taken at random by the seed; 0 takes all.")]
QuickMethods = Annotated[
    str, typer.Option(help="Method ids, separated by commas; by default all with weights that need few passes.")
]
RayWorkers = Annotated[int, typer.Option(min=1, help="With ray: workers, of one core or one GPU each.")]
RayAddress = Annotated[
    str,
    typer.Option(help="A Ray cluster: HOST:PORT, or auto for that of this machine; by default one is started here."),
]
ExplainedUnder = Annotated[str, typer.Option(help="Erasure operator with which the explanations are made.")]
FitData = Annotated[Path | None, typer.Option(help="As for fit.")]
TABLE_ROWS = "Rows of a table"  # the panel of the options about columns
TextColumn = Annotated[
    str,
    typer.Option(help="Column of the texts in a .csv, .tsv, .jsonl or .parquet file.", rich_help_panel=TABLE_ROWS),
]
PairColumn = Annotated[str, typer.Option(help="Column of the second texts.", rich_help_panel=TABLE_ROWS)]
IdColumn = Annotated[
    str, typer.Option(help="Column of the ids; by default they follow from the texts.", rich_help_panel=TABLE_ROWS)
]
ImageColumn = Annotated[
    str,
    typer.Option(
        help="Column of the images, for multimodal models: files in the folder of the table or below it.",
        rich_help_panel=TABLE_ROWS,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


@contextmanager
def user_errors() -> Iterator[None]:
    """Prints an `ExplanationError`, or what the system says of a file that cannot be used, as one line on standard
    error, and exits with code 2; after Ctrl-C with 130."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(130) from interrupt
    except ExplanationError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    except OSError as error:
        if error.filename is None or error.strerror is None:  # not of a file
            raise
        typer.echo(f"{error.filename} cannot be used: {error.strerror}. Choose another place.", err=True)
        raise typer.Exit(2) from error


@contextmanager
def downloads(*, yes: bool) -> Iterator[None]:
    """Says how large a model is before it is fetched, and asks before more than 500 MB are, all parts and models
    together. Where nobody can be asked it needs --yes."""
    from explainers.models.foreign.hub_transfer import LARGE, DownloadNotAllowed, DownloadSize, asking, at_most

    unasked = at_most(LARGE)

    def allows(name: str, size: DownloadSize) -> bool:
        if yes or unasked(name, size):
            show_progress(f"Fetching {name}: {size}.")
            return True
        try:
            return sys.stdin.isatty() and typer.confirm(f"Fetch {name}: {size}?", err=True)
        except typer.Abort:  # Ctrl-C or Ctrl-D; a RuntimeError, which would read as a fault of the model
            return False

    try:
        with asking(allows):
            yield
    except DownloadNotAllowed as error:
        raise error.with_step("Add --yes to fetch it.") from error


def check_ray(engine: str, address: str, workers: int) -> None:
    """Raises `ExplanationError` for an unknown engine, and for what belongs to Ray without it."""
    check_engine(engine, address)
    if workers > 1 and engine != RAY:
        raise ExplanationError("--processes is the number of Ray's workers. Add --engine ray, or omit it.")


def show_progress(line: str) -> None:
    typer.echo(line, err=True)


def check_columns(data: Path, columns: "Columns") -> None:
    """Raises `DataUnavailable` if the file is no table with these columns, before a model is loaded; the sentence names
    the option with which a missing one is chosen."""
    from explainers.datasets.labelled_rows import check_file
    from explainers.datasets.line_files import is_text_file

    options = {columns.text: "", columns.pair: "pair-", columns.label: "label-", columns.id: "id-"}
    options |= {columns.rationale: "rationale-", columns.image: "image-"}
    try:
        check_file(data, columns)
    except MissingColumn as error:
        option = f"--{options[error.column]}column"
        if is_text_file(data.name):
            raise DataUnavailable(f"{data.name} has a text per line and no columns. Omit {option}.") from error
        raise DataUnavailable(f"{error} Choose with {option}.") from error


def say_precision(asked: str, counts: Mapping[str, int]) -> None:
    """Say of how many inputs the precision is not the one that was asked for."""
    if asked != "float32" and counts.get("float32"):
        show_progress(
            f"{counts['float32']} of {sum(counts.values())} inputs were computed in float32: in {asked} other units "
            "lead or another class is predicted."
        )


def split_ids(ids: str) -> tuple[str, ...]:
    """From "aml, lime" to both ids; an empty one between commas stays, and is reported as unknown later."""
    return tuple(map(str.strip, ids.split(",")))


def given_ids(ids: str) -> tuple[str, ...]:
    """As `split_ids`, without empty ones: none of "", which stands for the default."""
    return tuple(filter(None, split_ids(ids)))


def parse_settings(settings: list[str] | None) -> tuple[tuple[str, str], ...]:
    """The values of --set, each as name and value. Raises `ExplanationError` where one is not name=value."""
    pairs = []
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ExplanationError(f"--set needs name=value, not {setting!r}.")
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


def image_files(name: str, folder: Path | None) -> "ImageFiles | None":
    """The image set of --format and --pictures; None if neither was given.

    Raises `ExplanationError` if only one was given, and if the set or the folder does not exist.
    """
    from explainers.datasets.images.sets import ImageFiles, image_set

    if bool(name) != (folder is not None):
        raise ExplanationError("--format and --pictures go together: give both, or neither.")
    if folder is None:
        return None
    image_set(name)
    if not folder.is_dir():
        raise ExplanationError(f"The folder {folder} does not exist.")
    return ImageFiles(name, folder)
