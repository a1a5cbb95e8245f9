"""`python -m explainers study sampling`: the error of LIME and KernelSHAP by sampler and passes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands.options import ModelName, Yes, downloads, show_progress, user_errors

if TYPE_CHECKING:
    from explainers.datasets.example import Example


def sampling_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: ModelName = "sst2",
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 10 to 13 units.")] = 8,
    data: Annotated[Path | None, typer.Option(help="A data set, as for evaluate; by default a few sentences.")] = None,
    yes: Yes = False,
) -> None:
    """Measure the error of samplers by passes, against exact values."""
    with user_errors(), downloads(yes=yes):
        typer.echo(write_sampling_errors(out, model, texts, data))


def write_sampling_errors(path: Path, name: str, most: int, data: Path | None) -> str:
    """Writes the document, and returns it."""
    from explainers.comparison.decision import decide
    from explainers.methods.registry import default_methods, select
    from explainers.models.catalog import load
    from explainers.studies.sampling.measure import default_errors, games_of, pass_costs, path_gaps, sampling_errors
    from explainers.studies.sampling.table import sampling_document
    from explainers.studies.speed.measure import example_for

    model = load(name)
    texts = sampling_texts(name, model.input_names, data)
    decision, _ = decide(model, example_for(model))
    games = games_of(model, texts, most, show_progress)
    about = {
        "command": f".venv/bin/python -m explainers study sampling --model {name} --out {path} --texts {most}"
        + (" --data DATA" if data else ""),
        "model": name,
        "texts": "texts of its test split" if data else "sentences of our own",
        "units": len(decision.encoding.units),
    }
    costs = pass_costs(model, decision, select(default_methods()))
    gaps = list(path_gaps(model, texts))
    document = sampling_document(games, list(sampling_errors(games)), list(default_errors(games)), gaps, costs, about)
    path.write_text(document, encoding="utf-8")
    return document


def sampling_texts(name: str, input_names: tuple[str, ...], data: Path | None) -> "tuple[Example, ...]":
    """The data's in random order, or a few sentences."""
    from explainers.datasets.example import Example
    from explainers.evaluation.data_set import EvaluationSpec, split_inputs
    from explainers.studies.sampling.measure import SENTENCES

    if data is None:
        return tuple(Example(sentence) for sentence in SENTENCES)
    return split_inputs(EvaluationSpec(name, data, "test", 0, (), ()), input_names, seed=0)
