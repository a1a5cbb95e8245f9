"""`python -m explainers study narratives`: the narrators on unseen inputs, as a table and a page of examples."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands.options import (
    DeviceName,
    FitData,
    ModelName,
    Yes,
    downloads,
    image_files,
    parse_settings,
    show_progress,
    split_ids,
    user_errors,
)
from explainers.methods.narrator_specs import NARRATORS

if TYPE_CHECKING:
    from explainers.datasets.example import Example
    from explainers.evaluation.narrator_runs import NarratorEvaluation


EXAMPLES_ON_PAGE = 20


def narratives_command(
    model: ModelName = "nli",
    data: FitData = None,
    format_: Annotated[str, typer.Option("--format", help="As for fit.")] = "",
    images: Annotated[Path | None, typer.Option("--pictures", help="As for fit.")] = None,
    n: Annotated[int, typer.Option(min=0, help="Number of test pairs, taken at random; 0 takes all.")] = 500,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each narrator; missing ones are fitted.")] = 3,
    once: Annotated[
        str | None, typer.Option(help="Narrators, separated by commas, of which only the first training is measured.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help=f"Narrators, separated by commas; by default {', '.join(NARRATORS.ids)}.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of all narrators: name=value.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table, the items and the page of examples.")] = Path(
        "runs/narratives"
    ),
    reasons: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of test pairs on which the reasons are judged where rules can tell whether they are right; "
            "at least --n, which is the default; 0 takes all.",
        ),
    ] = None,
    tournament: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of these pairs on which the narrators compete, judged by LIME and KernelSHAP (cf. CAuSE's "
            "Table 7); that takes some seconds a pair.",
        ),
    ] = 0,
    device: DeviceName = "auto",
    yes: Yes = False,
) -> None:
    """Measure narratives on unseen inputs: agreement, CCMR, BLEU (CAuSE's Tables 2 and 3), and what they say."""
    with user_errors(), downloads(yes=yes):
        from explainers.evaluation.narrator_runs import evaluate_narrators
        from explainers.evaluation.narrator_weights import NarratorEvaluationSpec
        from explainers.models.catalog import load
        from explainers.report.narrator_tables import narrator_markdown, tournament_parts

        files = image_files(format_, images)
        ids = NARRATORS.ids if methods is None else split_ids(methods)
        spec = NarratorEvaluationSpec(
            data, n, seeds, ids, parse_settings(set_), files, tournament, split_ids(once) if once else (), reasons
        )
        evaluation = evaluate_narrators(spec, load(model, device=device), show_progress)
        write_narratives(evaluation, out)
        typer.echo(narrator_markdown(evaluation.rows, evaluation.baselines))
        for part in tournament_parts(evaluation.tournament):
            typer.echo(f"\n{part}")


def write_narratives(evaluation: "NarratorEvaluation", out: Path) -> None:
    """`table.json`, `items.jsonl`, the page `examples.md` and its images."""
    from explainers.report.narrator_tables import IMAGE_FOLDER, examples_page
    from explainers.results.manifest import strict_json
    from explainers.studies.narratives.errors import SHOWN, error_sections, sentence_errors

    out.mkdir(parents=True, exist_ok=True)
    table = {
        **evaluation.about,
        "rows": evaluation.rows,
        "baselines": evaluation.baselines,
        "examples": evaluation.items[:EXAMPLES_ON_PAGE],
        **({"tournament": evaluation.tournament} if evaluation.tournament else {}),
    }
    content = strict_json(table) + "\n"
    (out / "table.json").write_text(content, encoding="utf-8")
    with (out / "items.jsonl").open("w", encoding="utf-8") as file:
        for record in evaluation.items:
            print(json.dumps(record, ensure_ascii=False), file=file)
    reasons = "The generator" if evaluation.generated else "People"
    names, labels = evaluation.model.input_names, evaluation.model.labels
    errors = sentence_errors(evaluation.items, labels)
    first = evaluation.items[:EXAMPLES_ON_PAGE]
    page = "\n".join(
        [
            examples_page(first, evaluation.about["command"], names, labels, reasons),
            error_sections(errors, evaluation.items, names, labels, reasons),
        ]
    )
    (out / "examples.md").write_text(page, encoding="utf-8")
    numbers = sorted({*range(len(first)), *errors.shown(SHOWN)})
    write_images({number + 1: evaluation.inputs[number] for number in numbers}, out / IMAGE_FOLDER)


def write_images(examples: "Mapping[int, Example]", folder: Path) -> None:
    """The images of the page, by the numbers that its items have."""
    for number, example in examples.items():
        if example.image is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.png").write_bytes(example.image.png())
