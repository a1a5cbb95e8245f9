"""The studies of narrators: their sentences on unseen inputs, as readers judge them, and whether a reason holds."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands import options
from explainers.methods.narrator_specs import NARRATORS


def narratives_command(
    model: options.ModelName = "nli",
    data: options.FitData = None,
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
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
) -> None:
    """Measure narratives on unseen inputs: agreement, CCMR, BLEU (CAuSE's Tables 2 and 3), and what they say."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.evaluation.narrator_runs import evaluate_narrators
        from explainers.evaluation.narrator_weights import NarratorEvaluationSpec
        from explainers.models.catalog import load
        from explainers.report.narrator_tables import narrator_markdown, tournament_parts
        from explainers.studies.narratives import write_narratives

        files = options.image_files(format_, images)
        ids = NARRATORS.ids if methods is None else options.split_ids(methods)
        spec = NarratorEvaluationSpec(
            data,
            n,
            seeds,
            ids,
            options.parse_settings(set_),
            files,
            tournament,
            options.split_ids(once) if once else (),
            reasons,
        )
        evaluation = evaluate_narrators(spec, load(model, device=device), options.show_progress)
        write_narratives(evaluation, out)
        typer.echo(narrator_markdown(evaluation.rows, evaluation.baselines))
        for part in tournament_parts(evaluation.tournament):
            typer.echo(f"\n{part}")


def readings_draw_command(
    model: options.ModelName = "nli",
    data: Annotated[Path | None, typer.Option(help="Folder with the model's data; for images that of NLVR.")] = None,
    n: Annotated[int, typer.Option(min=1, help="Number of inputs.")] = 60,
    methods: Annotated[str, typer.Option(help="Narrators, separated by commas.")] = "cause_phi_tokens,cause_tokens",
    seed: Annotated[int, typer.Option(help="Of the order of inputs and of sentences.")] = 0,
    skip: Annotated[int, typer.Option(min=0, help="Inputs that earlier readings have used.")] = 0,
    name: Annotated[str, typer.Option(help="Of the files; by default the model's.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder; by default assets/readings.")] = None,
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
) -> None:
    """Draw unused inputs and write narrators' and people's sentences about them, unnamed, for readers."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.models.catalog import load
        from explainers.studies.readings import measure as readings

        loaded = load(model, device=device)
        narrators = options.split_ids(methods)
        examples = readings.unused(readings.reading_examples(model, data), n, seed, skip)
        items, key = readings.draw(loaded, examples, narrators, seed)
        typed = f"--model {model} --data DATA --n {n} --methods {','.join(narrators)} --seed {seed} --skip {skip}"
        command = f"python -m explainers study readings-draw {typed} --name {name or model}"
        about = readings.card(loaded, narrators, command)
        readings.write(out or readings.FOLDER, name or model, items, key, about)
        options.show_progress(f"{len(items)} sentences about {n} inputs in {out or readings.FOLDER}")


def readings_table_command(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if the document differs.")] = False,
) -> None:
    """Write the results of all stored readings into assets/docs/readings.md, and into the file that the app reads."""
    with options.user_errors():
        from explainers.report.narrator_overview import SUMMARY
        from explainers.studies.readings.measure import DOCUMENT, document
        from explainers.studies.readings.summary import summary

        present = DOCUMENT.read_text(encoding="utf-8")
        wanted = {DOCUMENT: document(present), SUMMARY: summary()}
        if check:
            same = [path.is_file() and path.read_text(encoding="utf-8") == text for path, text in wanted.items()]
            raise typer.Exit(int(not all(same)))
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")


def prompted_reasons_command(
    model: options.ModelName = "nli",
    reading: Annotated[str, typer.Option(help="Name of the stored reading whose pairs are asked.")] = "nli-3",
    yes: options.Yes = False,
) -> None:
    """Ask SmolLM2 in a prompt for the class and a reason, beside the narrators' sentences of a reading."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.models.catalog import load
        from explainers.narrative.text_metrics import minilm_scorer
        from explainers.studies.prompting import DOCUMENT, document, measure, smollm2_writer

        frozen, write = load(model), smollm2_writer()
        written = measure(frozen, reading, write, options.show_progress)
        command = f"python -m explainers study prompted-reasons --model {model} --reading {reading}"
        DOCUMENT.write_text(document(written, frozen.labels, minilm_scorer(), command), encoding="utf-8")
        options.show_progress(f"written: {DOCUMENT}")


def reliability_command(
    model: options.ModelName = "nli",
    readings: Annotated[str, typer.Option(help="Names of stored readings, separated by commas.")] = "nli,nli-2,nli-3",
    yes: options.Yes = False,
) -> None:
    """Fit a regression on the sentences about half of the inputs, and check it on the others."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.models.catalog import load
        from explainers.studies.reliability import DOCUMENT, document, measure

        frozen, names = load(model), options.split_ids(readings)
        result = measure(frozen, names, options.show_progress)
        command = f"python -m explainers study reliability --model {model} --readings {','.join(names)}"
        result.write(command)
        DOCUMENT.write_text(document(result, command), encoding="utf-8")
        options.show_progress(f"written: {DOCUMENT}")
