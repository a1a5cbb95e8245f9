"""`python -m explainers study peers`: speed and accuracy beside other packages on the same sentences."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import ModelName, Yes, downloads, show_progress, user_errors
from explainers.studies.sampling.command import sampling_texts


def peers_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: ModelName = "sst2",
    threads: Annotated[int, typer.Option(help="Threads of torch; 0 keeps torch's default.")] = 0,
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 10 to 13 units.")] = 8,
    data: Annotated[Path | None, typer.Option(help="A data set, as for evaluate; by default a few sentences.")] = None,
    environments: Annotated[
        Path | None, typer.Option(help="Where the packages' virtual environments are; by default in the store.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Compare with other packages on the same sentences; each runs in a virtual environment of its own."""
    with user_errors(), downloads(yes=yes):
        typer.echo(write_peers(out, model, threads, texts, data, environments))


def write_peers(path: Path, name: str, threads: int, most: int, data: Path | None, environments: Path | None) -> str:
    """Writes the document, and returns it."""
    import os

    from explainers.installation import STORE_VARIABLE
    from explainers.models.catalog import load
    from explainers.studies.peers.measure import compare_with_peers
    from explainers.studies.peers.table import peer_document
    from explainers.studies.speed.measure import example_for

    model = load(name, device="cpu")
    folder = environments or Path(os.environ.get(STORE_VARIABLE, "store")) / "peers"
    texts = sampling_texts(name, model.input_names, data)
    comparison = compare_with_peers(model, texts, example_for(model), most, threads, folder.absolute(), show_progress)
    command = f".venv/bin/python -m explainers study peers --model {name} --out {path} --texts {most}"
    command += (f" --threads {threads}" if threads else "") + (" --data DATA" if data else "")
    document = peer_document(comparison, command)
    path.write_text(document, encoding="utf-8")
    return document
