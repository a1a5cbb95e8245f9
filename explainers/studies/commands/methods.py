"""The studies of methods: ablations, loss weights, CIEM's claim, equal passes, samplers, planted truth, other tools."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands import options
from explainers.errors import ExplanationError

VALIDATION_TEXTS = 100
PLANTED_INTO = ("sst2", "nli")

SomeData = Annotated[Path | None, typer.Option(help="As for study evaluation; by default a few sentences.")]


def ablate_command(
    method: Annotated[str, typer.Argument(help="aml, cimi, ciem or ivra.")],
    model: options.ModelName = "sst2",
    data: options.FitData = None,
    texts: Annotated[int, typer.Option(help="Texts to learn from; 0 takes all.", min=0)] = 0,
    steps: Annotated[int, typer.Option(help="Steps of each training, rounded up to whole epochs.", min=1)] = 300,
    seeds: Annotated[int, typer.Option(help="Trainings of each part.", min=1)] = 3,
    sensitive: Annotated[int, typer.Option(help="Texts on which AvgSen is measured.", min=0)] = 20,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter of all parts: name=value.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for logs and the table.")] = Path("runs/ablations"),
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
) -> None:
    """Repeat the paper's ablation of a method, and print its tables."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.learned.batches import encode_for_learning
        from explainers.learned.fit import read_examples
        from explainers.models.catalog import load
        from explainers.studies import ablations
        from explainers.studies.ablations import ablation_markdown

        changed = dict(options.parse_settings(set_))
        ablations.checked(method, changed)  # before data are fetched
        frozen, plan = load(model, device=device), ablations.AblationPlan(steps, seeds, sensitive)
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, 0))
        some, watched = training[: texts or None], validation[:VALIDATION_TEXTS]
        results: list[ablations.Ablated] = []
        for row in ablations.ablate(method, frozen, some, watched, out, changed, plan):
            results.append(row)
            typer.echo(f"{row.part}: measured", err=True)
            records = json.dumps(ablations.ablation_records(results), indent=2)
            (out / f"{method}.json").write_text(records + "\n", encoding="utf-8")
        typer.echo(ablation_markdown(method, results))


def tune_command(
    model: options.ModelName = "sst2",
    data: options.FitData = None,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try besides those of the shipped weights.")] = 20,
    seed: options.Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the table and the log of the trials.")] = Path("runs/tune"),
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Search AML's loss weights λ on validation texts, for every selection criterion at once."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.learned.batches import encode_for_learning
        from explainers.learned.fit import read_examples
        from explainers.models.catalog import load
        from explainers.results.manifest import strict_json
        from explainers.studies.tuning import TUNING, search, tuning_markdown

        frozen = load(model, device=device)
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, seed))
        log = out / "trials.jsonl"
        results = search(
            frozen, training, validation, trials=trials, seed=seed, log=log, progress=options.show_progress
        )
        command = f"python -m explainers study tune --model {model} --trials {trials} --seed {seed}"
        table = {
            "model": {"name": frozen.name, "version": frozen.version},
            "command": command + (" --data DATA" if data else ""),
            **results,
        }
        (out / TUNING).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else tuning_markdown(table))


def equal_calls_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: options.ModelName = "sst2",
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 9 and more units.")] = 8,
    data: Annotated[
        Path | None, typer.Option(help="A data set, as for study evaluation; by default a few sentences.")
    ] = None,
    yes: options.Yes = False,
) -> None:
    """Compare fAML with LIME and KernelSHAP at equal passes."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.studies.equal_calls import write_equal_calls

        typer.echo(write_equal_calls(out, model, texts, data))


def identifiability_command(
    seeds: Annotated[int, typer.Option(help="Seeds, each with its own data and networks.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder for result.json and the plot.")] = Path("runs/identifiability"),
) -> None:
    """Test whether CIEM recovers true latent variables, on synthetic data (App. E.5) and against a plain VAE."""
    with options.user_errors():
        from explainers.studies.identifiability import report

        typer.echo(json.dumps(report(seeds, out)["means"], indent=2))


if TYPE_CHECKING:
    pass


def sampling_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: options.ModelName = "sst2",
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 10 to 13 units.")] = 8,
    data: Annotated[
        Path | None, typer.Option(help="A data set, as for study evaluation; by default a few sentences.")
    ] = None,
    yes: options.Yes = False,
) -> None:
    """Measure the error of samplers by passes, against exact values."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.studies.sampling.table import write_sampling_errors

        typer.echo(write_sampling_errors(out, model, texts, data))


def planted_measure_command(
    data: Annotated[Path, typer.Option(help="The folder with the folders of the data sets.")],
    folder: Annotated[Path, typer.Option(help="Folder for models and rows; an interrupted run goes on.")] = Path(
        "runs/planted"
    ),
    inputs: Annotated[int, typer.Option(min=1, help="Inputs of each planted model.")] = 130,
    models: Annotated[str, typer.Option(help="Embedded models, separated by commas.")] = ",".join(PLANTED_INTO),
    seeds: Annotated[
        str, typer.Option(help="Seeds of the planted models of each, separated by commas; rows of others stay.")
    ] = "0,1",
    fitted: Annotated[int, typer.Option(min=0, help="Of how many of them the learned methods are fitted to each.")] = 2,
    scenes: Annotated[int, typer.Option(min=0, help="Scenes to explain.")] = 100,
) -> None:
    """Train planted models, fit the learned methods to them, and explain inputs whose truth is known."""
    with options.user_errors():
        from explainers.studies.planted.run import measure_planted, measure_scenes
        from explainers.studies.planted.shortcuts import WORDS

        chosen, numbers = options.split_ids(models), options.split_ids(seeds)
        if unknown := [name for name in chosen if name not in PLANTED_INTO]:
            raise ExplanationError(f"Nothing is planted into {unknown[0]!r}. Choose from: {', '.join(PLANTED_INTO)}.")
        possible = [str(seed) for seed in range(len(WORDS))]
        if unknown := [number for number in numbers if number not in possible]:
            choice = ", ".join(possible)
            raise ExplanationError(f"There are no words for the seed {unknown[0]!r}. Choose from: {choice}.")
        measure_planted(
            chosen, [int(number) for number in numbers], inputs, data, folder, options.show_progress, fitted=fitted
        )
        measure_scenes(scenes, folder, options.show_progress)


def planted_table_command(
    out: Annotated[Path, typer.Option(help="The document to write.")] = Path("assets/docs/planted.md"),
    games: Annotated[int, typer.Option(min=1, help="Models whose answers are random numbers.")] = 150,
) -> None:
    """Write the document and assets/confidence.json from the stored rows."""
    with options.user_errors():
        from explainers.comparison.confidence import CONFIDENCE
        from explainers.studies.planted.confidence_document import DIAGRAM, reliability_figure
        from explainers.studies.planted.run import planted_results

        document, content, checked = planted_results(games)
        out.write_text(document, encoding="utf-8")
        reliability_figure(checked.bins).savefig(out.with_name(DIAGRAM), dpi=110, metadata={"Software": None})
        CONFIDENCE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        typer.echo(document)


def usefulness_measure_command(
    data: Annotated[Path, typer.Option(help="The folder with the folders of the data sets.")],
    folder: Annotated[Path, typer.Option(help="Folder for models and rows; an interrupted run goes on.")] = Path(
        "runs/usefulness"
    ),
    seeds: Annotated[str, typer.Option(help="Seeds of the trainings, separated by commas.")] = "0,1,2",
) -> None:
    """Remove the words that explanations name, train again, and test on clean mails."""
    with options.user_errors():
        from explainers.studies.usefulness.run import measure_usefulness

        numbers = options.split_ids(seeds)
        if unknown := [number for number in numbers if not number.isdecimal()]:
            raise ExplanationError(f"{unknown[0]!r} is no seed. Give whole numbers, separated by commas.")
        measure_usefulness(data, folder, [int(number) for number in numbers], options.show_progress)


def usefulness_table_command(
    out: Annotated[Path, typer.Option(help="The document to write.")] = Path("assets/docs/usefulness.md"),
) -> None:
    """Write the document about words to remove from the stored results."""
    with options.user_errors():
        from explainers.studies.usefulness.document import usefulness_document
        from explainers.studies.usefulness.run import STORED

        if not STORED.is_file():
            raise ExplanationError("Nothing is measured yet. Run `study usefulness-measure` first.")
        document = usefulness_document(json.loads(STORED.read_text(encoding="utf-8")))
        out.write_text(document, encoding="utf-8")
        typer.echo(document)


def peers_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: options.ModelName = "sst2",
    threads: Annotated[int, typer.Option(help="Threads of torch; 0 keeps torch's default.")] = 0,
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 10 to 13 units.")] = 8,
    data: Annotated[
        Path | None, typer.Option(help="A data set, as for study evaluation; by default a few sentences.")
    ] = None,
    environments: Annotated[
        Path | None, typer.Option(help="Where the packages' virtual environments are; by default in the store.")
    ] = None,
    yes: options.Yes = False,
) -> None:
    """Compare with other packages on the same sentences; each runs in a virtual environment of its own."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.studies.peers.table import write_peers

        typer.echo(write_peers(out, model, threads, texts, data, environments))
