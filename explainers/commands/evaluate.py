"""`python -m explainers evaluate`: every method on the rows of a table, as tables and files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explainers.commands import options
from explainers.datasets.labelled_rows import Columns
from explainers.errors import ExplanationError
from explainers.models.precision import checked_precision
from explainers.results.decision import DEFAULT_SAMPLING

if TYPE_CHECKING:
    from explainers.evaluation.set_spec import SetSpec

RUN_PANEL = "How it runs"
FROM_PRESET = "the preset's"
COLUMNS = ("column", "pair_column", "label_column", "id_column", "rationale_column", "image_column")


def evaluate_command(
    context: typer.Context,
    model: options.ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="A table with a row per text, or what --format says.")] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="table, or a text per line in a .txt file; own: a part (--split) of an embedded model's data, --data "
            "is the folder with them; eraser: a part of an ERASER data set, its folder or an archive.",
        ),
    ] = "table",
    split: Annotated[
        str, typer.Option(help="Part of the data: of own test or validation, of eraser by default test, or the first.")
    ] = "test",
    n: Annotated[
        int | None,
        typer.Option(help="Number of rows, chosen at random by seed and id; 0 takes all.", show_default=FROM_PRESET),
    ] = None,
    preset: Annotated[str, typer.Option(help="quick or full.")] = "full",
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas; by default those of the preset.")] = "",
    erasure: Annotated[
        str | None,
        typer.Option(
            help="Erasure operator with which the explanations are made; by default mask, or delete for models without "
            "a mask token. They are measured under all of them."
        ),
    ] = None,
    unit: options.UnitName = "word",
    samples: Annotated[
        int | None,
        typer.Option(help="Samples of LIME and KernelSHAP; 0: until the result has settled.", show_default=FROM_PRESET),
    ] = None,
    sampling: options.SamplingName = DEFAULT_SAMPLING,
    steps: Annotated[int | None, typer.Option(help="Steps of integrated gradients.", show_default=FROM_PRESET)] = None,
    seed: options.Seed = 0,
    processes: Annotated[int, typer.Option(help="Processes of one thread each, which share the texts.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results; an interrupted evaluation continues.")] = Path(
        "runs/evaluation"
    ),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
    column: options.TextColumn = "text",
    pair_column: options.PairColumn = "",
    label_column: Annotated[
        str, typer.Option(help="Column of the right classes, names or numbers.", rich_help_panel=options.TABLE_ROWS)
    ] = "",
    id_column: options.IdColumn = "",
    rationale_column: Annotated[
        str,
        typer.Option(
            help="Column of what people marked, such as [[0, 4], [9, 12]]: how far the methods agree with them.",
            rich_help_panel=options.TABLE_ROWS,
        ),
    ] = "",
    image_column: options.ImageColumn = "",
    label_class: Annotated[
        list[str] | None,
        typer.Option(
            help="A label of the table that the model calls otherwise, as pos=positive; once for each.",
            rich_help_panel=options.TABLE_ROWS,
        ),
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Explain every input as the Compare page does, with samples until they settle; takes two to "
            "three times as long, and the means over the set hardly differ.",
            rich_help_panel=RUN_PANEL,
        ),
    ] = False,
    sanity: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Inputs on which the methods' sanity is checked: random weights, another seed, another class, a "
            "planted word, the reversed order. By default none in quick, 10 in full.",
            rich_help_panel=RUN_PANEL,
        ),
    ] = None,
    smooth: Annotated[
        int,
        typer.Option(
            min=0,
            help="Average the explanations of random weights over so many noisy copies; takes as many times as long.",
            rich_help_panel=RUN_PANEL,
        ),
    ] = 0,
    engine: Annotated[
        str,
        typer.Option(
            help="local, or ray: --processes workers of a cluster explain the rows.", rich_help_panel=RUN_PANEL
        ),
    ] = "local",
    address: Annotated[
        str,
        typer.Option(
            help="A Ray cluster: HOST:PORT, or auto for that of this machine; by default one is started here.",
            rich_help_panel=RUN_PANEL,
        ),
    ] = "",
    shard: Annotated[
        str, typer.Option(help="Explain part i of n, as i/n: on several machines.", rich_help_panel=RUN_PANEL)
    ] = "1/1",
    merge: Annotated[
        Path | None, typer.Option(help="Put the parts in this folder together.", rich_help_panel=RUN_PANEL)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--spec", help="All of this as JSON, as the Evaluate page writes it.")
    ] = None,
) -> None:
    """Explain every row of a data set with every method: which suits the model, and what the model looks at."""
    with options.user_errors(), options.downloads(yes=yes or file is not None):  # a job cannot be asked
        if merge is not None:
            return typer.echo(merged(merge, as_json=json_))
        if file is not None:
            return typer.echo(evaluate_spec(file))
        typer.echo(evaluate_rows(row_spec(context), as_json=json_))


def is_typed(context: typer.Context, name: str) -> bool:
    """Return whether the option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def label_class(text: str) -> tuple[str, str]:
    """Return the label and the class of "pos=positive". Raises `ExplanationError` for anything else."""
    label, sign, called = text.rpartition("=")
    if not (label.strip() and sign and called.strip()):
        raise ExplanationError(f"--label-class needs LABEL=CLASS, such as pos=positive, not {text!r}.")
    return label.strip(), called.strip()


def row_spec(context: typer.Context) -> "SetSpec":
    """Return what was typed as the evaluation of rows. Raises `ExplanationError` for columns of what is no table."""
    from explainers.evaluation.set_spec import ERASER, OWN, SetSpec

    values: dict[str, Any] = context.params
    for name in COLUMNS:
        if values["format_"] in (OWN, ERASER) and is_typed(context, name):
            option = name.replace("_", "-")
            raise ExplanationError(f"--{option} does not go with --format {values['format_']}. Omit it.")
    return SetSpec(
        model=values["model"],
        data="" if values["data"] is None else str(values["data"]),
        columns=Columns(
            values["column"],
            values["pair_column"],
            values["label_column"],
            values["id_column"],
            tuple(map(label_class, values["label_class"] or ())),
            values["rationale_column"],
            values["image_column"],
        ),
        format=values["format_"],
        split=values["split"] if is_typed(context, "split") or values["format_"] == OWN else "",
        preset=values["preset"],
        methods=options.given_ids(values["methods"]),
        n=values["n"],
        unit=values["unit"],
        erasure=values["erasure"],
        samples=values["samples"],
        steps=values["steps"],
        sampling=values["sampling"],
        seed=values["seed"],
        thorough=values["thorough"],
        sanity=values["sanity"],
        smooth=values["smooth"],
        shard=values["shard"],
        processes=values["processes"],
        engine=values["engine"],
        address=values["address"],
        device=values["device"],
        precision=checked_precision(values["precision"]),
        out=str(values["out"]),
    )


def evaluate_spec(file: Path) -> str:
    """Carry out what the file says; return the manifest as JSON."""
    from explainers.evaluation.set_job import run_set
    from explainers.evaluation.set_spec import read_set_spec
    from explainers.results.manifest import strict_json

    try:
        content = file.read_bytes()
    except OSError as error:
        raise ExplanationError(f"The file {file} cannot be read: {error.strerror}.") from error
    return strict_json(run_set(read_set_spec(content), options.show_progress))


def evaluate_rows(spec: "SetSpec", *, as_json: bool) -> str:
    """Explain the rows; return the tables of the set, of a part only what was done."""
    from explainers.evaluation.set_spec import TABLE, WHOLE

    if spec.format == TABLE and spec.data and not Path(spec.data).is_dir():
        options.check_columns(Path(spec.data), spec.columns)

    from explainers.evaluation.set_job import run_set  # takes seconds; a wrong column need not wait
    from explainers.results.manifest import strict_json

    try:
        manifest = run_set(spec, options.show_progress)
    except KeyboardInterrupt as interrupt:
        typer.echo("Interrupted. The same command goes on after the last input that is done.", err=True)
        raise typer.Exit(130) from interrupt
    options.say_precision(spec.precision, manifest.get("precisions", {}))
    if as_json:
        return strict_json(manifest)
    if spec.shard == WHOLE:
        return set_tables(Path(spec.out))
    return (
        f"Part {spec.shard} is in {spec.out}/{manifest['file']}. When all parts are in one folder, put them together "
        "with --merge."
    )


def merged(out: Path, *, as_json: bool) -> str:
    """Put the parts in the folder together; return the tables of the set."""
    from explainers.evaluation.set_job import write_set
    from explainers.evaluation.shards import merge
    from explainers.results.manifest import strict_json

    manifest = write_set(merge(out), out)
    return strict_json(manifest) if as_json else set_tables(out)


def set_tables(out: Path) -> str:
    """Return what a finished set says, as Markdown, and say in which files it lies."""
    from explainers.evaluation.set_job import read_sanity, read_set
    from explainers.report.set_tables import set_markdown

    manifest, rows, methods = read_set(out)
    options.show_progress(f"Results: {', '.join(str(out / name) for name in manifest['files'])}")
    return set_markdown(manifest, rows, methods, read_sanity(out))
