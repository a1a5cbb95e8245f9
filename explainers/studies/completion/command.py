"""`study completion-train` and `study completion`: the adapter of the prompt `completion`, and what the language model
answers with the shipped prompts, as assets/docs/completion.md."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import DeviceName, Seed, show_progress, user_errors
from explainers.evaluation.set_spec import WHOLE, parse_shard
from explainers.installation import ASSETS
from explainers.training.artifacts import available_artifacts, write_artifact

NAME = "completion"
PROMPTS = ("sst2", "sst2-examples", NAME)
DOCUMENT, STORED = ASSETS / "docs" / "completion.md", ASSETS / "studies" / "completion.json"


def completion_train_command(
    data: Annotated[Path, typer.Option(help="Folder with the files of SST-2.")],
    examples: Annotated[int, typer.Option(min=1, help="Number of training sentences.")] = 16_000,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint; an interrupted run goes on.")] = Path(
        "runs/completion"
    ),
) -> None:
    """Train the low-rank adapter of the prompt `completion`, and write it beside the prompt."""
    with user_errors():
        import torch

        from explainers.datasets.text_sets import read_sst2
        from explainers.models.optimisation import accuracy
        from explainers.models.prompt import PROMPTS, SUFFIX
        from explainers.models.prompted.loading import load_prompted
        from explainers.models.smollm2 import HUB_ID, smollm2_folder
        from explainers.models.text.base_weights import sha256
        from explainers.studies.completion.train import AdapterRecipe, chosen_rows, train

        weights = PROMPTS / f"{NAME}.safetensors"
        device, splits = torch.device("cpu"), read_sst2(data, seed=seed)
        model = load_prompted(f"smollm2:{NAME}", device, tuned=False)
        recipe = AdapterRecipe(examples=examples, seed=seed)
        rows = chosen_rows(model, splits.train, recipe)
        adapter = train(model, rows, recipe, out, show_progress)
        folder = smollm2_folder()
        assert folder is not None  # the model was loaded from it
        card = {
            "name": NAME,
            "prompt": {"file": f"{NAME}{SUFFIX}", "key": model.prompt.key},
            "base": {"id": HUB_ID, "sha256": sha256(folder / "model.safetensors"), "licence": "Apache-2.0"},
            "data": {
                "name": "SST-2 (Socher et al., 2013), GLUE's phrases of at least 8 words; half of the Rotten Tomatoes "
                "sentences that are not in SST (Pang and Lee, 2005)",
                "licence": "research use",
            },
            "splits": {"train": len(rows), "validation": len(splits.validation)},
            "recipe": asdict(recipe),
            "command": f"python -m explainers study completion-train --data DIR --examples {examples} --seed {seed}",
        }
        write_artifact(weights, adapter, card)
        tuned = load_prompted(f"smollm2:{NAME}", device)
        measured = {"untuned": accuracy(model, splits.validation), "tuned": accuracy(tuned, splits.validation)}
        write_artifact(weights, adapter, card | {"accuracy": {"validation": measured}})


def completion_command(
    data: Annotated[Path, typer.Option(help="Folder with the files of SST-2.")],
    n: Annotated[int, typer.Option(min=1, help="Number of dev sentences, taken at random by the seed.")] = 872,
    explained: Annotated[int, typer.Option(min=0, help="Of how many of them the methods are measured.")] = 24,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path(
        "runs/completion"
    ),
    device: DeviceName = "cpu",
    shard: Annotated[
        str, typer.Option(help="i/n: only record the rows of this part; a run without it reads those of all parts.")
    ] = WHOLE,
) -> None:
    """Measure SmolLM2 on SST-2 with the shipped prompts, and the methods on the last one, as a document."""
    with user_errors():
        import random

        from explainers.datasets.text_sets import read_sst2
        from explainers.models.catalog import resolve_device
        from explainers.models.prompted.loading import load_prompted
        from explainers.studies.completion.measure import completion_document, prefix_ratio, record_answers, rows_of

        inputs = list(read_sst2(data, seed=seed).test)
        random.Random(seed).shuffle(inputs)
        measured, part = {}, None if shard == WHOLE else parse_shard(shard)
        own = len(inputs[:n] if part is None else part.of(inputs[:n]))
        for name in PROMPTS:
            model = load_prompted(f"smollm2:{name}", resolve_device(device))
            for done in record_answers(model, name, inputs[:n], explained if name == NAME else 0, out, part):
                if done % 10 == 0 or done == own:
                    show_progress(f"{name}: {done} of {own} inputs")
            if part:
                continue
            measured[name] = {
                "prior": dict(zip(model.labels, model.prior, strict=True)),
                "prefix": prefix_ratio(model, inputs[0]),
                "rows": rows_of(out, name),
                "fits": [
                    {**one.card, "shipped": one.path.is_relative_to(ASSETS)}
                    for one in (available_artifacts(model.name, model.version) if name == NAME else ())
                ],
            }
        if part:
            return
        words = f"--data DIR --n {n} --explained {explained} --seed {seed}"
        result = {
            "command": f".venv/bin/python -m explainers study completion {words}",
            "card": json.loads((ASSETS / "prompts" / f"{NAME}.json").read_text(encoding="utf-8")),
            "prompts": measured,
        }
        STORED.write_text(json.dumps(result) + "\n", encoding="utf-8")
        DOCUMENT.write_text(completion_document(result), encoding="utf-8")
