"""`python -m explainers study answers`: luck, power and stability of answers, as assets/docs/answers.md."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import (
    DeviceName,
    ModelName,
    Seed,
    SplitName,
    Yes,
    downloads,
    show_progress,
    user_errors,
)
from explainers.installation import ASSETS

DOCUMENT, STORED = ASSETS / "docs" / "answers.md", ASSETS / "studies" / "answers"


def answers_command(
    model: ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for evaluate.")] = None,
    split: SplitName = "test",
    n: Annotated[int, typer.Option(help="Number of inputs, taken at random by the seed; 0 takes all.")] = 300,
    explained: Annotated[int, typer.Option(help="Number of them that are explained; of the others only luck.")] = 100,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path("runs/answers"),
    device: DeviceName = "auto",
    yes: Yes = False,
) -> None:
    """Answer many inputs: how often luck is named, how often the consensus passes, what another seed changes."""
    with user_errors(), downloads(yes=yes):
        from explainers.evaluation.data_set import EvaluationSpec, split_inputs
        from explainers.evaluation.measurement import Plan
        from explainers.methods.registry import select
        from explainers.models.catalog import load
        from explainers.results.settings import Settings
        from explainers.studies.answers.measure import record_answers, rows_of, tested_methods

        frozen = load(model, device=device)
        spec = EvaluationSpec(model, data, split, n, (), frozen.erasures)
        inputs = split_inputs(spec, frozen.input_names, seed)
        plan = Plan(select(tested_methods()), Settings(seed=seed), frozen.erasures)
        for done in record_answers(frozen, inputs, explained, plan, out / model):
            if done % 10 == 0 or done == len(inputs):
                show_progress(f"{done} of {len(inputs)} inputs")
        words = f"--model {model} --split {split} --n {n} --explained {explained}{' --data DIR' if data else ''}"
        stored = {"command": f".venv/bin/python -m explainers study answers {words}", "rows": rows_of(out / model)}
        STORED.mkdir(parents=True, exist_ok=True)
        (STORED / f"{model}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")
        DOCUMENT.write_text(document(), encoding="utf-8")


def document() -> str:
    """Return the document of all stored rows."""
    from explainers.studies.answers.table import answers_document

    paths = sorted(STORED.glob("*.json"))
    return answers_document({path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths})
