"""`python -m explainers evaluate`: every method on a data set, as tables and files."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explainers.commands import options
from explainers.datasets.labelled_rows import Columns
from explainers.errors import ExplanationError
from explainers.models.precision import checked_precision
from explainers.results.decision import EVALUATED_SAMPLING, checked_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from explainers.evaluation.data_set import Evaluation
    from explainers.evaluation.set_spec import SetSpec

EVIDENCE_TITLE = "Agreement with known evidence, where the model is right (random: expected by chance):"
NARRATIVES_TITLE = "Narratives for the same texts, by the fitted narrators:"


TABLE = "Rows of a table"  # the options that make it an evaluation of rows
COLUMNS = ("column", "pair_column", "label_column", "id_column", "rationale_column", "image_column")
ROWS = (*COLUMNS, "label_class", "format_", "preset", "thorough", "sanity", "smooth", "shard", "engine", "address")


def evaluate_command(
    context: typer.Context,
    model: options.ModelName = "sst2",
    data: options.UnseenData = None,
    split: options.SplitName = "test",
    n: Annotated[int, typer.Option(help="Number of texts, taken at random by the seed; 0 takes all.")] = 300,
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas; by default all with weights.")] = "",
    erasures: Annotated[str, typer.Option(help="Erasure operators to score under.")] = "mask,delete,zero",
    erasure: Annotated[
        str | None,
        typer.Option(
            help="Erasure operator with which the explanations are made; by default mask, or delete for models without "
            "a mask token."
        ),
    ] = None,
    unit: options.UnitName = "word",
    samples: options.Samples = 500,
    sampling: options.SamplingName = EVALUATED_SAMPLING,
    steps: options.Steps = 50,
    against: Annotated[str, typer.Option(help="A method with which the others are compared, text by text.")] = "",
    sensitive: Annotated[int, typer.Option(min=0, help="Number of texts on which AvgSen is measured.")] = 50,
    seed: options.Seed = 0,
    explanations: options.ExplanationFolder = None,
    processes: Annotated[int, typer.Option(help="Processes of one thread each, which share the texts.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results; an interrupted evaluation continues.")] = Path(
        "runs/evaluation"
    ),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
    column: Annotated[
        str, typer.Option(help="Column of the texts in a .csv, .tsv, .jsonl or .parquet file.", rich_help_panel=TABLE)
    ] = "text",
    pair_column: Annotated[str, typer.Option(help="Column of the second texts.", rich_help_panel=TABLE)] = "",
    label_column: Annotated[
        str, typer.Option(help="Column of the right classes, names or numbers.", rich_help_panel=TABLE)
    ] = "",
    id_column: Annotated[
        str, typer.Option(help="Column of the ids; by default they follow from the texts.", rich_help_panel=TABLE)
    ] = "",
    rationale_column: Annotated[
        str,
        typer.Option(
            help="Column of what people marked, such as [[0, 4], [9, 12]]: how far the methods agree with them.",
            rich_help_panel=TABLE,
        ),
    ] = "",
    image_column: Annotated[
        str,
        typer.Option(
            help="Column of the images, for multimodal models: files in the folder of the table or below it.",
            rich_help_panel=TABLE,
        ),
    ] = "",
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="table, or eraser: --data is an ERASER data set, its folder or an archive, and --split a part of it.",
            rich_help_panel=TABLE,
        ),
    ] = "table",
    label_class: Annotated[
        list[str] | None,
        typer.Option(
            help="A label of the table that the model calls otherwise, as pos=positive; once for each.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    preset: Annotated[str, typer.Option(help="quick or full.", rich_help_panel=TABLE)] = "full",
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Explain every input as the Compare page does, with samples until they settle; takes two to "
            "three times as long, and the means over the set hardly differ.",
            rich_help_panel=TABLE,
        ),
    ] = False,
    sanity: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Inputs on which the methods' sanity is checked: random weights, another seed, another class, a "
            "planted word, the reversed order. By default none in quick, 10 in full.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    smooth: Annotated[
        int,
        typer.Option(
            min=0,
            help="Average the explanations of random weights over so many noisy copies; takes as many times as long.",
            rich_help_panel=TABLE,
        ),
    ] = 0,
    engine: Annotated[
        str,
        typer.Option(help="local, or ray: --processes actors of a cluster explain the rows.", rich_help_panel=TABLE),
    ] = "local",
    address: Annotated[
        str,
        typer.Option(
            help="A Ray cluster: HOST:PORT, or auto for that of this machine; by default one is started here.",
            rich_help_panel=TABLE,
        ),
    ] = "",
    shard: Annotated[
        str, typer.Option(help="Explain part i of n, as i/n: on several machines.", rich_help_panel=TABLE)
    ] = "1/1",
    merge: Annotated[
        Path | None, typer.Option(help="Put the parts in this folder together.", rich_help_panel=TABLE)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--spec", help="All of this as JSON, as the Evaluate page writes it.")
    ] = None,
) -> None:
    """Measure every method on a data set, or on the rows of a table: metrics and operators, controls, intervals."""
    with options.user_errors(), options.downloads(yes=yes or file is not None):  # a job cannot be asked
        if merge is not None:
            return typer.echo(merged(merge, as_json=json_))
        if file is not None:
            return typer.echo(evaluate_spec(file))
        if chosen(context, *ROWS):
            return typer.echo(evaluate_rows(row_spec(context), as_json=json_))
        from explainers.evaluation.data_set import EvaluationSpec, evaluate_data_set

        settings = checked_settings(unit, erasure or "mask", samples, steps, seed, sampling)
        ids = tuple(filter(None, options.split_ids(methods)))
        spec = EvaluationSpec(model, data, split, n, ids, options.split_ids(erasures), against, processes=processes)
        spec = replace(spec, precision=checked_precision(precision), explanations=explanations)
        evaluation = evaluate_data_set(spec, settings, sensitive, out, device, options.show_progress)
        say_precision(spec.precision, evaluation.about["model"]["precisions"])
        tables = write_evaluation(evaluation, spec.erasures, against, out)
        typer.echo((out / "table.json").read_text(encoding="utf-8") if json_ else tables)


def write_evaluation(evaluation: "Evaluation", erasures: tuple[str, ...], against: str, out: Path) -> str:
    """Writes the files of the tables to `out`; returns the tables as Markdown."""
    from explainers.evaluation.narrator_runs import evaluate_fitted_narrators
    from explainers.report import evaluation_tables
    from explainers.report.narrator_tables import narrator_markdown
    from explainers.results.manifest import strict_json

    rows, texts = evaluation.rows, len(evaluation.inputs)
    evaluation_tables.write_tables(rows, evaluation.about, out)
    sections = [
        f"Scored by `{erasure}` on {texts} texts:\n\n{evaluation_tables.evaluation_markdown(rows, erasure)}"
        for erasure in erasures
    ]
    if evaluation_tables.evidence_cells(rows, erasures[0]):
        sections.append(f"{EVIDENCE_TITLE}\n\n{evaluation_tables.evidence_markdown(rows, erasures[0])}")
    if against:
        sections += [f"By `{erasure}`, {comparison_with(evaluation, against, erasure)}" for erasure in erasures]
    narrator_rows = evaluate_fitted_narrators(evaluation.model, evaluation.inputs, options.show_progress)
    if narrator_rows:
        content = strict_json({"rows": narrator_rows}) + "\n"
        (out / "narratives.json").write_text(content, encoding="utf-8")
        sections.append(f"{NARRATIVES_TITLE}\n\n{narrator_markdown(narrator_rows)}")
    return "\n\n".join(sections)


def comparison_with(evaluation: "Evaluation", other: str, erasure: str) -> str:
    """How much better every method is than `other`, the mean over texts with its paired 95 % interval."""
    from explainers.evaluation.table import paired_difference
    from explainers.metrics.faithfulness import METRICS
    from explainers.report.tables import Table, TableColumn, bounds

    differences = {
        spec.name: [paired_difference(evaluation.records, spec.id, other, metric, erasure) for metric in METRICS]
        for spec in evaluation.specs
        if spec.id != other
    }

    def gain(place: int) -> TableColumn[str]:
        return TableColumn(METRICS[place].name, lambda name: differences[name][place], bounds(sign="+"))

    table: Table[str] = Table((TableColumn(f"better than {other} by", str), *map(gain, range(len(METRICS)))))
    applied = (name for name, values in differences.items() if any(values))  # the others do not fit these inputs
    return f"against `{other}`, paired by text:\n\n{table.markdown(applied)}"


def chosen(context: typer.Context, *names: str) -> bool:
    """Return whether one of these options was given."""
    sources = [context.get_parameter_source(name) for name in names]
    return any(source is not None and source.name == "COMMANDLINE" for source in sources)


def label_class(text: str) -> tuple[str, str]:
    """Return the label and the class of "pos=positive". Raises `ExplanationError` for anything else."""
    label, sign, called = text.rpartition("=")
    if not (label.strip() and sign and called.strip()):
        raise ExplanationError(f"--label-class needs LABEL=CLASS, such as pos=positive, not {text!r}.")
    return label.strip(), called.strip()


def row_spec(context: typer.Context) -> "SetSpec":
    """Return what was typed as the evaluation of a table's rows. Raises `ExplanationError` without a file."""
    from explainers.evaluation.set_spec import ERASER, SetSpec

    values: dict[str, Any] = context.params
    if values["data"] is None:
        raise ExplanationError("Name the file of the rows with --data FILE.")
    eraser = values["format_"] == ERASER
    unsuited = dict.fromkeys(("against", "sensitive", "erasures", "split", "explanations"), "the rows of a table")
    if eraser:
        unsuited = {**unsuited, **dict.fromkeys(COLUMNS, "--format eraser")}
        del unsuited["split"]
    for name, other in unsuited.items():
        if chosen(context, name):
            raise ExplanationError(f"--{name.replace('_', '-')} does not go with {other}. Omit it.")
    spec = SetSpec(
        values["model"],
        str(values["data"]),
        Columns(
            values["column"],
            values["pair_column"],
            values["label_column"],
            values["id_column"],
            tuple(map(label_class, values["label_class"] or ())),
            values["rationale_column"],
            values["image_column"],
        ),
        format=values["format_"],
        split=values["split"] if eraser and chosen(context, "split") else "",
        preset=values["preset"],
        thorough=values["thorough"],
        sanity=values["sanity"],
        smooth=values["smooth"],
        methods=tuple(filter(None, options.split_ids(values["methods"]))),
        shard=values["shard"],
        processes=values["processes"],
        engine=values["engine"],
        address=values["address"],
        device=values["device"],
        precision=checked_precision(values["precision"]),
        out=str(values["out"]),
    )
    own = {name: values[name] for name in ("n", "unit", "erasure", "samples", "steps", "sampling", "seed")}
    return replace(spec, **{name: value for name, value in own.items() if chosen(context, name)})


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
    from explainers.evaluation.set_job import run_set
    from explainers.evaluation.set_spec import WHOLE
    from explainers.results.manifest import strict_json

    manifest = run_set(spec, options.show_progress)
    say_precision(spec.precision, manifest.get("precisions", {}))
    if as_json:
        return strict_json(manifest)
    if spec.shard == WHOLE:
        return set_tables(Path(spec.out))
    return (
        f"Part {spec.shard} is in {spec.out}/{manifest['file']}. When all parts are in one folder, put them together "
        "with --merge."
    )


def say_precision(asked: str, counts: "Mapping[str, int]") -> None:
    """Say of how many inputs the precision is not the one that was asked for."""
    if asked != "float32" and counts.get("float32"):
        options.show_progress(
            f"{counts['float32']} of {sum(counts.values())} inputs were computed in float32: in {asked} other units "
            "lead or another class is predicted."
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
