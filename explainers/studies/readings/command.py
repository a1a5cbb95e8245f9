"""`python -m explainers study readings-draw` and `readings-table`: reasons, read beside their inputs."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import DeviceName, ModelName, Yes, downloads, show_progress, split_ids, user_errors


def readings_draw_command(
    model: ModelName = "nli",
    data: Annotated[Path | None, typer.Option(help="Folder with the model's data; for images that of NLVR.")] = None,
    n: Annotated[int, typer.Option(min=1, help="Number of inputs.")] = 60,
    methods: Annotated[str, typer.Option(help="Narrators, separated by commas.")] = "cause_phi_tokens,cause_tokens",
    seed: Annotated[int, typer.Option(help="Of the order of inputs and of sentences.")] = 0,
    skip: Annotated[int, typer.Option(min=0, help="Inputs that earlier readings have used.")] = 0,
    name: Annotated[str, typer.Option(help="Of the files; by default the model's.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder; by default assets/readings.")] = None,
    device: DeviceName = "auto",
    yes: Yes = False,
) -> None:
    """Draw unused inputs and write narrators' and people's sentences about them, unnamed, for readers."""
    with user_errors(), downloads(yes=yes):
        from explainers.models.catalog import load
        from explainers.studies.readings import measure as readings

        loaded = load(model, device=device)
        narrators = split_ids(methods)
        examples = readings.unused(readings.reading_examples(model, data), n, seed, skip)
        items, key = readings.draw(loaded, examples, narrators, seed)
        typed = f"--model {model} --data DATA --n {n} --methods {','.join(narrators)} --seed {seed} --skip {skip}"
        command = f"python -m explainers study readings-draw {typed} --name {name or model}"
        about = readings.card(loaded, narrators, command)
        readings.write(out or readings.FOLDER, name or model, items, key, about)
        show_progress(f"{len(items)} sentences about {n} inputs in {out or readings.FOLDER}")


def readings_table_command(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if the document differs.")] = False,
) -> None:
    """Write the results of all stored readings into assets/docs/readings.md, and into the file that the app reads."""
    with user_errors():
        from explainers.report.readings import SUMMARY
        from explainers.studies.readings.measure import DOCUMENT, document
        from explainers.studies.readings.summary import summary

        present = DOCUMENT.read_text(encoding="utf-8")
        wanted = {DOCUMENT: document(present), SUMMARY: summary()}
        if check:
            same = [path.is_file() and path.read_text(encoding="utf-8") == text for path, text in wanted.items()]
            raise typer.Exit(int(not all(same)))
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
