"""`python -m explainers consistency`: whether inputs that the model represents alike are explained alike."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import (
    AsJson,
    DeviceName,
    ModelName,
    Samples,
    SamplingName,
    Seed,
    Steps,
    UnitName,
    show_progress,
    split_ids,
    user_errors,
)
from explainers.results.sampling import EVALUATED_SAMPLING


def consistency_command(
    model: ModelName = "sst2",
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the model's data, or a file with texts unseen in training."),
    ] = None,
    split: Annotated[str, typer.Option(help="test or validation.")] = "test",
    n: Annotated[int, typer.Option(min=0, help="Number of inputs, taken at random by the seed; 0 takes all.")] = 150,
    methods: Annotated[
        str, typer.Option(help="Method ids, separated by commas; by default all with weights that need few passes.")
    ] = "",
    erasure: Annotated[str, typer.Option(help="Erasure operator with which the explanations are made.")] = "mask",
    unit: UnitName = "word",
    samples: Samples = 500,
    sampling: SamplingName = EVALUATED_SAMPLING,
    steps: Steps = 50,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/consistency"),
    device: DeviceName = "auto",
    json_: AsJson = False,
) -> None:
    """Measure CONS of every method: are inputs that the model represents alike explained alike?"""
    with user_errors():
        from dataclasses import asdict

        from explainers.evaluation.consistency import consistency_rows
        from explainers.evaluation.data_set import EvaluationSpec, check_erasures, evaluated_methods, split_inputs
        from explainers.methods.registry import select
        from explainers.models.catalog import load
        from explainers.report.consistency_tables import CONSISTENCY, consistency_markdown
        from explainers.results.manifest import libraries
        from explainers.results.settings import checked_settings
        from explainers.results.strict_json import strict_json
        from explainers.training.artifacts import check_fitted

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        frozen = load(model, device=device)
        check_erasures((settings.erasure,), frozen.erasures)
        ids = tuple(filter(None, split_ids(methods)))
        specs = select(ids) if ids else tuple(spec for spec in evaluated_methods(frozen) if spec.repeatable)
        check_fitted(frozen.name, frozen.version, specs)
        inputs = split_inputs(EvaluationSpec(model, data, split, n, ids, ()), frozen.input_names, seed)
        words = [f"python -m explainers consistency --model {frozen.name} --split {split} --n {n}"]
        words += [f"--methods {methods}"] if ids else []
        table = {
            "model": {"name": frozen.name, "version": frozen.version},
            "data": {"split": split, "inputs": len(inputs), "seed": seed},
            "settings": asdict(settings),
            "command": " ".join([*words, *([] if data is None else ["--data DIR"])]),
            "libraries": libraries(),
            "rows": consistency_rows(frozen, inputs, specs, settings, show_progress),
        }
        out.mkdir(parents=True, exist_ok=True)
        (out / CONSISTENCY).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else consistency_markdown(table))
