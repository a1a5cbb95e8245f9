"""`python -m explainers study reliability`: can it be told, without a reader, whether a reason holds?"""

from typing import Annotated

import typer

from explainers.commands.options import ModelName, Yes, downloads, show_progress, split_ids, user_errors


def reliability_command(
    model: ModelName = "nli",
    readings: Annotated[str, typer.Option(help="Names of stored readings, separated by commas.")] = "nli,nli-2",
    yes: Yes = False,
) -> None:
    """Fit a regression on the sentences about half of the inputs, and check it on the others."""
    with user_errors(), downloads(yes=yes):
        from explainers.models.catalog import load
        from explainers.studies.reliability.measure import DOCUMENT, document, measure

        frozen, names = load(model), split_ids(readings)
        result = measure(frozen, names, show_progress)
        command = f"python -m explainers study reliability --model {model} --readings {','.join(names)}"
        result.write(command)
        DOCUMENT.write_text(document(result, command), encoding="utf-8")
        show_progress(f"written: {DOCUMENT}")
