"""The studies of models: families, fused attention, training for erasure, answers, and those of the papers' tables."""

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands import options
from explainers.installation import ASSETS, STORE_VARIABLE


def architectures_command(
    families: Annotated[str, typer.Option(help="Families, separated by commas; by default all of them.")] = "",
    inputs: Annotated[int, typer.Option(min=1, help="Texts per family.")] = 20,
    seed: options.Seed = 0,
) -> None:
    """Train a small model of every family in which a planted word decides, and rank that word by every method."""
    with options.user_errors(), tempfile.TemporaryDirectory() as folder:
        from explainers.errors import ExplanationError
        from explainers.studies import architectures

        known = {family.kind: family for family in architectures.FAMILIES}
        chosen = options.split_ids(families) if families else tuple(known)
        if unknown := sorted(set(chosen) - set(known)):
            raise ExplanationError(f"Unknown family {unknown[0]!r}. Choose from: {', '.join(known)}.")
        os.environ[STORE_VARIABLE] = str(Path(folder) / "store")
        old = json.loads(architectures.STORED.read_text(encoding="utf-8"))["rows"] if families else []
        rows = {row["family"]: row for row in old}
        command = f".venv/bin/python -m explainers study architectures --inputs {inputs} --seed {seed}"
        architectures.STORED.parent.mkdir(parents=True, exist_ok=True)
        for kind in chosen:
            options.show_progress(kind)
            rows[kind] = architectures.measured(known[kind], Path(folder), inputs, seed)
            stored = {"command": command, "rows": [rows[name] for name in known if name in rows]}
            architectures.STORED.write_text(json.dumps(stored) + "\n", encoding="utf-8")
        architectures.DOCUMENT.write_text(architectures.documented(stored), encoding="utf-8")


def attention_command() -> None:
    """Measure masks with plain and with fused attention at several lengths, and write the document."""
    with options.user_errors():
        from explainers.models.states import LONG
        from explainers.studies import attention

        measured = []
        for row in attention.rows():
            measured.append(row)
            options.show_progress(
                f"{row['size']}, {row['tokens']} tokens, {row['erasure']}: {row['ratio']:.2f} times as quick"
            )
        attention.STORED.write_text(
            json.dumps({"command": attention.COMMAND, "rows": measured}) + "\n", encoding="utf-8"
        )
        attention.DOCUMENT.write_text(attention.attention_document(measured, LONG), encoding="utf-8")


def masking_command(
    other: Annotated[Path, typer.Argument(help="Folder of the model that `train-model … --uniform-masking` wrote.")],
    model: options.ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for study evaluation.")] = None,
    n: Annotated[int, typer.Option(min=1, help="Number of test inputs, taken at random by the seed.")] = 800,
    explained: Annotated[int, typer.Option(min=0, help="Number of them that are explained.")] = 60,
    seed: options.Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path("runs/masking"),
    yes: options.Yes = False,
) -> None:
    """Compare a model with one trained on masking rates uniform in 0–100 %: accuracy, luck, power, operators."""
    with options.user_errors(), options.downloads(yes=yes):
        import torch

        from explainers.evaluation.data_set import split_inputs
        from explainers.models.bundle_cards import CARD
        from explainers.models.catalog import load, load_bundle
        from explainers.results.decision import Settings
        from explainers.studies import masking

        models = {masking.EMBEDDED: load(model, device="cpu"), masking.UNIFORM: load_bundle(other, torch.device("cpu"))}
        inputs = split_inputs(model, data, "test", n, models[masking.EMBEDDED].input_names, seed)
        for name, frozen in models.items():
            for done in masking.record_masking(frozen, name, inputs, explained, Settings(seed=seed), out / model):
                if done % 50 == 0 or done == len(inputs):
                    options.show_progress(f"{name}: {done} of {len(inputs)} inputs")
        words = f"DIR --model {model} --data DATA --n {n} --explained {explained} --seed {seed}"
        stored = {
            "command": f".venv/bin/python -m explainers study masking {words}",
            "training": json.loads((other / CARD).read_text(encoding="utf-8"))["command"],
            "rows": {name: masking.rows_of(out / model, name) for name in models},
        }
        masking.STORED.mkdir(parents=True, exist_ok=True)
        (masking.STORED / f"{model}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")
        paths = sorted(masking.STORED.glob("*.json"))
        results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
        masking.DOCUMENT.write_text(masking.masking_document(results), encoding="utf-8")


def answers_command(
    model: options.ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for study evaluation.")] = None,
    split: options.SplitName = "test",
    n: Annotated[int, typer.Option(help="Number of inputs, taken at random by the seed; 0 takes all.")] = 300,
    explained: Annotated[int, typer.Option(help="Number of them that are explained; of the others only luck.")] = 100,
    seed: options.Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path("runs/answers"),
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
) -> None:
    """Answer many inputs: how often luck is named, how often the consensus passes, what another seed changes."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.evaluation.data_set import split_inputs
        from explainers.evaluation.measurement import Plan
        from explainers.methods.registry import select
        from explainers.models.catalog import load
        from explainers.results.decision import Settings
        from explainers.studies import answers

        frozen = load(model, device=device)
        inputs = split_inputs(model, data, split, n, frozen.input_names, seed)
        plan = Plan(select(answers.tested_methods()), Settings(seed=seed), frozen.erasures)
        for done in answers.record_answers(frozen, inputs, explained, plan, out / model):
            if done % 10 == 0 or done == len(inputs):
                options.show_progress(f"{done} of {len(inputs)} inputs")
        words = f"--model {model} --split {split} --n {n} --explained {explained}{' --data DIR' if data else ''}"
        stored = {
            "command": f".venv/bin/python -m explainers study answers {words}",
            "rows": answers.rows_of(out / model),
        }
        answers.STORED.mkdir(parents=True, exist_ok=True)
        (answers.STORED / f"{model}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")
        answers.DOCUMENT.write_text(answers.document(), encoding="utf-8")


def papers_measure_command(
    name: Annotated[str, typer.Argument(help="The data set, such as clickbait.")],
    data: Annotated[Path, typer.Option(help="The folder with the folders of the data sets.")],
    n: Annotated[int, typer.Option(min=1, help="Number of test inputs, taken at random by the seed.")] = 150,
    seed: options.Seed = 0,
    folder: Annotated[Path, typer.Option(help="Folder for models and fits; an interrupted run goes on.")] = Path(
        "runs/papers"
    ),
) -> None:
    """Train a classifier on a data set of the papers, fit the methods to it, and measure them as the papers do."""
    with options.user_errors():
        from explainers.studies.papers import measure_paper_set

        measure_paper_set(name, data, folder, n, seed, options.show_progress)


def papers_table_command(
    out: Annotated[Path, typer.Option(help="The document to write.")] = ASSETS / "docs" / "papers.md",
) -> None:
    """Write the document of the papers' tables from the stored results."""
    with options.user_errors():
        from explainers.report.paper_tables import papers_document

        document = papers_document()
        out.write_text(document, encoding="utf-8")
        typer.echo(document)
