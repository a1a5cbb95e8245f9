"""`python -m explainers study speed` and `study sizes`: seconds and memory on this machine."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from explainers.commands import options
from explainers.errors import ExplanationError
from explainers.installation import ASSETS

KEY = ("device", "threads", "size", "words")  # of a row of sizes
SIZES_DOCUMENT, SIZES_STORED = ASSETS / "docs" / "sizes.md", ASSETS / "studies" / "sizes.json"


def speed_command(
    model: options.ModelName = "sst2",
    threads: Annotated[int, typer.Option(help="Threads of torch; 0 keeps torch's default.")] = 0,
    browser: Annotated[bool, typer.Option(help="Also start the app and open it in Chromium.")] = True,
    fits: Annotated[
        Path | None,
        typer.Option(help="Only what fits cost a BERT-base of random weights, on this file's texts, as for fit."),
    ] = None,
    batches: Annotated[
        bool, typer.Option("--batches", help="Only what several comparisons could gain from sharing batches.")
    ] = False,
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Measure speed on this machine: against Captum's defaults, cold start, memory."""
    with options.user_errors(), options.downloads(yes=yes):
        if fits is not None:
            from explainers.studies.speed.sizes import fit_times

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


def sizes_command(
    sizes: Annotated[str, typer.Option(help="Sizes, separated by commas.")] = "MiniLM-L6,BERT-base,BERT-large",
    words: Annotated[str, typer.Option(help="Numbers of words of the text, separated by commas.")] = "25,200,500",
    device: options.DeviceName = "cpu",
    threads: Annotated[int, typer.Option(min=0, help="Threads of torch; 0 keeps torch's default.")] = 0,
) -> None:
    """Measure methods and comparisons on models of several sizes with random weights, as assets/docs/sizes.md.

    Rows of other devices, threads, sizes and texts stay as they are.
    """
    with options.user_errors():
        import torch

        from explainers.studies.speed.sizes import rows, sizes_document

        if threads:
            torch.set_num_threads(threads)
        chosen = options.split_ids(words)
        if not all(count.isdecimal() and int(count) for count in chosen):
            raise ExplanationError(f"--words needs numbers such as 25,200, not {words!r}.")
        old = json.loads(SIZES_STORED.read_text(encoding="utf-8")) if SIZES_STORED.is_file() else []
        stored = {tuple(row[field] for field in KEY): row for row in old}
        for row in rows(options.split_ids(sizes), [int(count) for count in chosen], device, options.show_progress):
            options.show_progress(f"{row['size']}, {row['words']} words: {row['float32']['settled']['seconds']:.1f} s")
            stored[tuple(row[field] for field in KEY)] = row
            kept = list(stored.values())
            SIZES_STORED.write_text(json.dumps(kept) + "\n", encoding="utf-8")
            SIZES_DOCUMENT.write_text(sizes_document(kept), encoding="utf-8")
