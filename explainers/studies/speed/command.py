"""`python -m explainers study speed`: seconds and memory on this machine."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from explainers.commands.options import AsJson, ModelName, Yes, downloads, user_errors


def speed_command(
    model: ModelName = "sst2",
    threads: Annotated[int, typer.Option(help="Threads of torch; 0 keeps torch's default.")] = 0,
    browser: Annotated[bool, typer.Option(help="Also start the app and open it in Chromium.")] = True,
    fits: Annotated[
        Path | None,
        typer.Option(help="Only what fits cost a BERT-base of random weights, on this file's texts, as for fit."),
    ] = None,
    batches: Annotated[
        bool, typer.Option("--batches", help="Only what several comparisons could gain from sharing batches.")
    ] = False,
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Measure speed on this machine: against Captum's defaults, cold start, memory."""
    with user_errors(), downloads(yes=yes):
        if fits is not None:
            from explainers.studies.speed.fits import fit_times

            results: dict[str, Any] = fit_times(fits, threads)
        elif batches:
            from explainers.studies.speed.batches import batches as batch_sizes

            results = batch_sizes(model, threads)
        else:
            from explainers.studies.speed.measure import benchmark

            results = benchmark(model, threads, browser=browser)
        typer.echo(json.dumps(results, indent=2) if json_ else benchmark_lines(results))


def benchmark_lines(results: dict[str, object]) -> str:
    """The measurements as lines of text, those of a group indented."""
    lines = []
    for name, value in results.items():
        if isinstance(value, dict):
            lines += [name, *(f"  {key:34} {rounded(content)}" for key, content in value.items())]
        else:
            lines.append(f"{name:36} {rounded(value)}")
    return "\n".join(lines)


def rounded(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
