"""`python -m app.load`: the load test."""

import json
import os
import platform
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.load.measure import LoadPlan, level, soaked
from app.load.server import ONE_TARGET, target
from app.load.table import soak_lines, table
from explainers.errors import ExplanationError
from explainers.installation import VERSION

LEVELS, PEOPLE = (1, 8, 32), (8,)  # sessions of a load test and of a soak
NO_PROCESS = "A soak watches memory and threads. Give the number of the app's process (--pid), or use --start."


def load_command(
    url: Annotated[str, typer.Option(help="Address of an app that runs on this machine.")] = "",
    start: Annotated[bool, typer.Option("--start", help="Start the app, with a store of its own.")] = False,
    sessions: Annotated[str, typer.Option(help="How many at once, one number after the other.")] = "",
    minutes: Annotated[float, typer.Option(help="Length of the test for each number.", min=0.01, max=120)] = 5.0,
    model: Annotated[Literal["sst2", "one-layer"], typer.Option(help="one-layer: small, random weights.")] = "sst2",
    soak: Annotated[float, typer.Option(help="Instead: open and close tabs for so many minutes.", max=120)] = 0.0,
    think: Annotated[float, typer.Option(help="Seconds between a comparison's end and the next text.")] = 0.0,
    patience: Annotated[float, typer.Option(help="Seconds after which a comparison is an error.")] = 300.0,
    pid: Annotated[int, typer.Option(help="Process of the app at --url, to watch memory and threads.")] = 0,
    store: Annotated[Path | None, typer.Option(help="Folder of its store, for its status file.")] = None,
    seed: Annotated[int, typer.Option(help="Of the texts, and of the moments at which tabs close.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where to write all numbers as JSON.")] = None,
) -> None:
    """Many people at once on the Compare page, over the app's own WebSocket protocol. Exit code 1: it saw errors."""
    try:
        if bool(url) == start:
            raise ExplanationError(ONE_TARGET)
        counts = _counts(sessions) or (PEOPLE if soak else LEVELS)
        with target(url, model, pid, store) as (address, query, server):
            plan = LoadPlan(address, query, 60 * (soak or minutes), think, patience, seed)
            if soak and server is None:
                raise ExplanationError(NO_PROCESS)
            if soak and server is not None:
                results = [soaked(plan, counts[0], server).summary()]
            else:
                # texts of their own for each number: the app remembers the answers to earlier ones
                results = [level(replace(plan, seed=1000 * seed + count), count, server).summary() for count in counts]
    except ExplanationError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    typer.echo("\n".join(soak_lines(results[0])) if soak else table(results))
    for sentence, times in (sentence for result in results for sentence in result["sentences"]):
        typer.echo(f"{times} × {sentence}")
    if out is not None:
        out.write_text(json.dumps({"settings": _settings(plan, model), "results": results}, indent=1), encoding="utf-8")
    raise typer.Exit(any(result["errors"] for result in results))


def _counts(given: str) -> tuple[int, ...]:
    """Raises `ExplanationError` for what is no list of numbers."""
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not all(part.isdecimal() and 1 <= int(part) <= 500 for part in parts):
        raise ExplanationError(f"--sessions is {given!r}. Give numbers from 1 to 500 with commas, such as 1,8,32.")
    return tuple(int(part) for part in parts)


def _settings(plan: LoadPlan, model: str) -> dict[str, Any]:
    return {
        "model": model,
        "minutes": plan.length / 60,
        "think": plan.think,
        "patience": plan.patience,
        "seed": plan.seed,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "code": code_version(),
    }


def code_version() -> str:
    """The version, and the commit where the code lies in a repository; with + if files differ from it."""
    git = ("git", "-C", str(Path(__file__).parent))
    try:
        commit = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        ).stdout
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", ":/app", ":/explainers", ":/pages"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return VERSION
    return f"{VERSION}, commit {commit.strip()}{'+' if changed.strip() else ''}"


if __name__ == "__main__":
    typer.run(load_command)
