"""`crosslight`, also `python -m explainers`: the commands, and below `study` the measurements of whole sets.

Studies write the documents of the repository: the installed package does not have them.
"""

from importlib.util import find_spec

import typer

from explainers.commands.app import app
from explainers.installation import limit_spinning

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
