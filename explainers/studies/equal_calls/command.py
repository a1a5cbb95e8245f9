"""`python -m explainers study equal-calls`: fAML beside LIME and KernelSHAP at equal passes."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import ModelName, Yes, downloads, show_progress, user_errors
from explainers.studies.sampling.command import sampling_texts


def equal_calls_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: ModelName = "sst2",
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 9 and more units.")] = 8,
    data: Annotated[Path | None, typer.Option(help="A data set, as for evaluate; by default a few sentences.")] = None,
    yes: Yes = False,
) -> None:
    """Compare fAML with LIME and KernelSHAP at equal passes."""
    with user_errors(), downloads(yes=yes):
        typer.echo(write_equal_calls(out, model, texts, data))


def write_equal_calls(path: Path, name: str, most: int, data: Path | None) -> str:
    """Writes the document, and returns it."""
    from explainers.models.catalog import load
    from explainers.studies.equal_calls.measure import equal_calls, equal_calls_document

    model = load(name)
    rows = equal_calls(model, sampling_texts(name, model.input_names, data), most, show_progress)
    command = f".venv/bin/python -m explainers study equal-calls --model {name} --out {path} --texts {most}"
    source = "texts of its test split" if data else "sentences of our own"
    document = equal_calls_document(rows, name, source, command + (" --data DATA" if data else ""))
    path.write_text(document, encoding="utf-8")
    return document
