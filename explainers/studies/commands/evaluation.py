"""`study evaluation`: every method by every metric on a split of a model's data; the tables of its card."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands import options
from explainers.models.precision import checked_precision
from explainers.results.decision import EVALUATED_SAMPLING, checked_settings

if TYPE_CHECKING:
    from explainers.studies.evaluation import Evaluation

EVIDENCE_TITLE = "Agreement with known evidence, where the model is right (random: expected by chance):"
NARRATIVES_TITLE = "Narratives for the same texts, by the fitted narrators:"


def evaluation_command(
    model: options.ModelName = "sst2",
    data: options.UnseenData = None,
    split: options.SplitName = "test",
    n: Annotated[int, typer.Option(help="Number of texts, taken at random by the seed; 0 takes all.")] = 300,
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas; by default all with weights.")] = "",
    erasures: Annotated[str, typer.Option(help="Erasure operators to score under.")] = "mask,delete,zero",
    erasure: options.ExplainedUnder = "mask",
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
        "runs/study-evaluation"
    ),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Measure every method by every metric, under every operator, on a split of a model's data; for its card."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.studies.evaluation import EvaluationSpec, evaluate_data_set

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = options.given_ids(methods)
        spec = EvaluationSpec(model, data, split, n, ids, options.split_ids(erasures), against, processes=processes)
        spec = replace(spec, precision=checked_precision(precision), explanations=explanations)
        evaluation = evaluate_data_set(spec, settings, sensitive, out, device, options.show_progress)
        options.say_precision(spec.precision, evaluation.about["model"]["precisions"])
        tables = write_evaluation(evaluation, spec.erasures, against, out)
        typer.echo((out / "table.json").read_text(encoding="utf-8") if json_ else tables)


def write_evaluation(evaluation: "Evaluation", erasures: tuple[str, ...], against: str, out: Path) -> str:
    """Write the files of the tables to `out`; return the tables as Markdown."""
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
    """Return how much better every method is than `other`, the mean over texts with its paired 95 % interval."""
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
