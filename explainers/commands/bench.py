"""`python -m explainers bench`: speed and memory on this machine, and the error of samplers by passes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands.options import AsJson, ModelName, show_progress, user_errors

if TYPE_CHECKING:
    from explainers.datasets.example import Example


def bench_command(
    model: ModelName = "sst2",
    threads: Annotated[int, typer.Option(help="Threads of torch; 0 keeps torch's default.")] = 0,
    browser: Annotated[bool, typer.Option(help="Also start the app and open it in Chromium.")] = True,
    json_: AsJson = False,
    sampling: Annotated[
        Path | None, typer.Option(help="Write the error of KernelSHAP by sampler and passes to this file instead.")
    ] = None,
    calls: Annotated[
        Path | None,
        typer.Option(help="Compare fAML with LIME and KernelSHAP at equal passes, and write it to this file."),
    ] = None,
    peers: Annotated[
        Path | None, typer.Option(help="Compare with other packages on the same sentences, and write it to this file.")
    ] = None,
    environments: Annotated[
        Path | None, typer.Option(help="With --peers: where their virtual environments are; by default in the store.")
    ] = None,
    texts: Annotated[
        int,
        typer.Option(
            min=1, help="With --sampling and --peers: on how many texts of 10 to 13 units; with --calls: of 9 and more."
        ),
    ] = 8,
    data: Annotated[
        Path | None,
        typer.Option(
            help="With --sampling, --calls and --peers: a data set, as for evaluate; by default a few sentences."
        ),
    ] = None,
) -> None:
    """Measure speed on this machine: against Captum's defaults, cold start, memory. Or samplers, or other packages."""
    with user_errors():
        if peers is not None:
            typer.echo(write_peers(peers, model, threads, texts, data, environments))
            return
        if calls is not None:
            typer.echo(write_equal_calls(calls, model, texts, data))
            return
        if sampling is not None:
            typer.echo(write_sampling_errors(sampling, model, texts, data))
            return
        from explainers.evaluation.speed import benchmark

        results = benchmark(model, threads, browser=browser)
        typer.echo(json.dumps(results, indent=2) if json_ else benchmark_lines(results))


def write_sampling_errors(path: Path, name: str, most: int, data: Path | None) -> str:
    """Writes the document, and returns it."""
    from explainers.comparison.question import ask
    from explainers.evaluation.pass_costs import pass_costs
    from explainers.evaluation.path_nodes import path_gaps
    from explainers.evaluation.sampling_defaults import default_errors
    from explainers.evaluation.sampling_error import games_of, sampling_errors
    from explainers.evaluation.speed import example_for
    from explainers.methods.registry import default_methods, select
    from explainers.models.catalog import load
    from explainers.report.sampling_tables import sampling_document

    model = load(name)
    texts = sampling_texts(name, model.input_names, data)
    question, _ = ask(model, example_for(model))
    games = games_of(model, texts, most, show_progress)
    about = {
        "command": f".venv/bin/python -m explainers bench --model {name} --sampling {path} --texts {most}"
        + (" --data DATA" if data else ""),
        "model": name,
        "texts": "texts of its test split" if data else "sentences of our own",
        "units": len(question.encoding.units),
    }
    costs = pass_costs(question, select(default_methods()))
    gaps = list(path_gaps(model, texts))
    document = sampling_document(games, list(sampling_errors(games)), list(default_errors(games)), gaps, costs, about)
    path.write_text(document, encoding="utf-8")
    return document


def write_equal_calls(path: Path, name: str, most: int, data: Path | None) -> str:
    """Writes the document, and returns it."""
    from explainers.evaluation.equal_calls import equal_calls
    from explainers.models.catalog import load
    from explainers.report.equal_calls_tables import equal_calls_document

    model = load(name)
    rows = equal_calls(model, sampling_texts(name, model.input_names, data), most, show_progress)
    command = f".venv/bin/python -m explainers bench --model {name} --calls {path} --texts {most}"
    source = "texts of its test split" if data else "sentences of our own"
    document = equal_calls_document(rows, name, source, command + (" --data DATA" if data else ""))
    path.write_text(document, encoding="utf-8")
    return document


def write_peers(path: Path, name: str, threads: int, most: int, data: Path | None, environments: Path | None) -> str:
    """Writes the document, and returns it."""
    import os

    from explainers.evaluation.peers.comparison import compare_with_peers
    from explainers.evaluation.speed import example_for
    from explainers.models.catalog import load
    from explainers.report.peer_tables import peer_document
    from explainers.training.artifacts import STORE_VARIABLE

    model = load(name, device="cpu")
    folder = environments or Path(os.environ.get(STORE_VARIABLE, "store")) / "peers"
    texts = sampling_texts(name, model.input_names, data)
    comparison = compare_with_peers(model, texts, example_for(model), most, threads, folder.absolute(), show_progress)
    command = f".venv/bin/python -m explainers bench --model {name} --peers {path} --texts {most}"
    command += (f" --threads {threads}" if threads else "") + (" --data DATA" if data else "")
    document = peer_document(comparison, command)
    path.write_text(document, encoding="utf-8")
    return document


def sampling_texts(name: str, input_names: tuple[str, ...], data: Path | None) -> "tuple[Example, ...]":
    """The data's in random order, or a few sentences."""
    from explainers.datasets.example import Example
    from explainers.evaluation.data_set import EvaluationSpec, split_inputs
    from explainers.evaluation.sampling_error import SENTENCES

    if data is None:
        return tuple(Example(sentence) for sentence in SENTENCES)
    return split_inputs(EvaluationSpec(name, data, "test", 0, (), ()), input_names, seed=0)


def benchmark_lines(results: dict[str, object]) -> str:
    """The measurements as lines of text, those of a group indented."""
    lines = []
    for name, value in results.items():
        if isinstance(value, dict):
            lines += [name, *(f"  {key:34} {rounded(each)}" for key, each in value.items())]
        else:
            lines.append(f"{name:36} {rounded(value)}")
    return "\n".join(lines)


def rounded(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
