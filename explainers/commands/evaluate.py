"""`python -m explainers evaluate`: every method on a data set, as tables and files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands.options import (
    AsJson,
    DeviceName,
    ExplainedUnder,
    ModelName,
    Samples,
    SamplingName,
    Seed,
    SplitName,
    Steps,
    UnitName,
    UnseenData,
    show_progress,
    split_ids,
    user_errors,
)
from explainers.results.sampling import EVALUATED_SAMPLING

if TYPE_CHECKING:
    from explainers.evaluation.data_set import Evaluation
    from explainers.metrics.intervals import Interval

EVIDENCE_TITLE = "Agreement with known evidence, where the model is right (random: expected by chance):"
NARRATIVES_TITLE = "Narratives for the same texts, by the fitted narrators:"


def evaluate_command(
    model: ModelName = "sst2",
    data: UnseenData = None,
    split: SplitName = "test",
    n: Annotated[int, typer.Option(help="Number of texts, taken at random by the seed; 0 takes all.")] = 300,
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas; by default all with weights.")] = "",
    erasures: Annotated[str, typer.Option(help="Erasure operators to score under.")] = "mask,delete,zero",
    erasure: ExplainedUnder = "mask",
    unit: UnitName = "word",
    samples: Samples = 500,
    sampling: SamplingName = EVALUATED_SAMPLING,
    steps: Steps = 50,
    against: Annotated[str, typer.Option(help="A method with which the others are compared, text by text.")] = "",
    sensitive: Annotated[int, typer.Option(min=0, help="Number of texts on which AvgSen is measured.")] = 50,
    seed: Seed = 0,
    processes: Annotated[int, typer.Option(help="Processes of one thread each, which share the texts.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results; an interrupted evaluation continues.")] = Path(
        "runs/evaluation"
    ),
    device: DeviceName = "auto",
    json_: AsJson = False,
) -> None:
    """Measure every method on a data set: all faithfulness metrics and operators, controls, intervals."""
    with user_errors():
        from explainers.evaluation.data_set import EvaluationSpec, evaluate_data_set
        from explainers.results.settings import checked_settings

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = tuple(filter(None, split_ids(methods)))
        spec = EvaluationSpec(model, data, split, n, ids, split_ids(erasures), against, processes=processes)
        evaluation = evaluate_data_set(spec, settings, sensitive, out, device, show_progress)
        tables = write_evaluation(evaluation, spec.erasures, against, out)
        typer.echo((out / "table.json").read_text(encoding="utf-8") if json_ else tables)


def write_evaluation(evaluation: "Evaluation", erasures: tuple[str, ...], against: str, out: Path) -> str:
    """Writes the files of the tables to `out`; returns the tables as Markdown."""
    from explainers.evaluation.narrator_runs import evaluate_fitted_narrators
    from explainers.report.evaluation_tables import (
        evaluation_markdown,
        evidence_cells,
        evidence_markdown,
        write_tables,
    )
    from explainers.report.narrator_tables import narrator_markdown
    from explainers.results.strict_json import strict_json

    rows, texts = evaluation.rows, len(evaluation.inputs)
    write_tables(rows, evaluation.about, out)
    sections = [f"Scored by `{each}` on {texts} texts:\n\n{evaluation_markdown(rows, each)}" for each in erasures]
    if evidence_cells(rows, erasures[0]):
        sections.append(f"{EVIDENCE_TITLE}\n\n{evidence_markdown(rows, erasures[0])}")
    if against:
        sections += [f"By `{each}`, {comparison_with(evaluation, against, each)}" for each in erasures]
    narrator_rows = evaluate_fitted_narrators(evaluation.model, evaluation.inputs, show_progress)
    if narrator_rows:
        content = strict_json({"rows": narrator_rows}) + "\n"
        (out / "narratives.json").write_text(content, encoding="utf-8")
        sections.append(f"{NARRATIVES_TITLE}\n\n{narrator_markdown(narrator_rows)}")
    return "\n\n".join(sections)


def comparison_with(evaluation: "Evaluation", other: str, erasure: str) -> str:
    """How much better every method is than `other`, the mean over texts with its paired 95 % interval."""
    from explainers.evaluation.table import paired_difference
    from explainers.metrics.faithfulness import METRICS

    lines = []
    for spec in evaluation.specs:
        if spec.id != other:
            differences = [paired_difference(evaluation.records, spec.id, other, metric, erasure) for metric in METRICS]
            if any(differences):  # else it does not apply to these inputs
                lines.append(f"| {spec.name} | {' | '.join(map(signed, differences))} |")
    head = f"| better than {other} by | {' | '.join(metric.name for metric in METRICS)} |"
    return "\n".join([f"against `{other}`, paired by text:\n", head, "|" + "---|" * (len(METRICS) + 1), *lines])


def signed(difference: "Interval | None") -> str:
    if difference is None:
        return "–"
    return f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
