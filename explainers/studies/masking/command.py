"""`python -m explainers study masking`: a model beside one trained for erasure, as assets/docs/masking.md."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import ModelName, Seed, Yes, downloads, show_progress, user_errors
from explainers.installation import ASSETS

DOCUMENT, STORED = ASSETS / "docs" / "masking.md", ASSETS / "studies" / "masking"


def masking_command(
    other: Annotated[Path, typer.Argument(help="Folder of the model that `train-model … --uniform-masking` wrote.")],
    model: ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for evaluate.")] = None,
    n: Annotated[int, typer.Option(min=1, help="Number of test inputs, taken at random by the seed.")] = 800,
    explained: Annotated[int, typer.Option(min=0, help="Number of them that are explained.")] = 60,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path("runs/masking"),
    yes: Yes = False,
) -> None:
    """Compare a model with one trained on masking rates uniform in 0–100 %: accuracy, luck, power, operators."""
    with user_errors(), downloads(yes=yes):
        import torch

        from explainers.evaluation.data_set import EvaluationSpec, split_inputs
        from explainers.models.bundle_cards import CARD
        from explainers.models.catalog import load, load_bundle
        from explainers.results.settings import Settings
        from explainers.studies.masking.measure import record_masking, rows_of
        from explainers.studies.masking.table import EMBEDDED, UNIFORM, masking_document

        models = {EMBEDDED: load(model, device="cpu"), UNIFORM: load_bundle(other, torch.device("cpu"))}
        spec = EvaluationSpec(model, data, "test", n, (), models[EMBEDDED].erasures)
        inputs = split_inputs(spec, models[EMBEDDED].input_names, seed)
        for name, frozen in models.items():
            for done in record_masking(frozen, name, inputs, explained, Settings(seed=seed), out / model):
                if done % 50 == 0 or done == len(inputs):
                    show_progress(f"{name}: {done} of {len(inputs)} inputs")
        words = f"DIR --model {model} --data DATA --n {n} --explained {explained} --seed {seed}"
        stored = {
            "command": f".venv/bin/python -m explainers study masking {words}",
            "training": json.loads((other / CARD).read_text(encoding="utf-8"))["command"],
            "rows": {name: rows_of(out / model, name) for name in models},
        }
        STORED.mkdir(parents=True, exist_ok=True)
        (STORED / f"{model}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")
        paths = sorted(STORED.glob("*.json"))
        results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
        DOCUMENT.write_text(masking_document(results), encoding="utf-8")
