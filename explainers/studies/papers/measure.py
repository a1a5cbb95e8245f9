"""One data set of the papers: its classifier, the learned methods fitted to it, and the papers' metrics of them all.

FOLDER/<data set>/     the bundle of the classifier that was trained
FOLDER/store/          what was fitted to it
assets/papers/<data set>.json    the results
"""

import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.data_set import EvaluationSpec, split_inputs
from explainers.installation import STORE_VARIABLE
from explainers.learned.fit import fit_to
from explainers.methods.registry import base_id, select
from explainers.methods.spec import MethodSpec
from explainers.models.bundle_cards import BUNDLES, CARD
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.task_spec import Task
from explainers.models.text.bundle import load_bundle
from explainers.models.text.recipe import TextModelRecipe
from explainers.models.text.training import CHECKPOINT, make_text_bundle
from explainers.report.papers.comparison import STORED, read_tables
from explainers.results.manifest import libraries
from explainers.results.settings import EVALUATED_SAMPLING, Settings
from explainers.studies.papers.data_sets import PAPER_SETS, UNLABELLED, PaperSet
from explainers.studies.published_metrics.measure import PublishedValues, measure_published
from explainers.training.artifacts import available_artifacts, own_folder
from explainers.training.fit_spec import FitSpec

Note = Callable[[str], None]
EMBEDDED = {"sst2": "sst2", "nli": "esnli"}  # models that are shipped, and the folder of their data
RECIPE = TextModelRecipe(epochs=3, batch=32, averaging=0.99, longest=96)
WATCHED = 100  # of the unlabelled texts
FITTED = ("aml", "cimi", "cimi:zero", "ciem", "ivra")
METHODS = (
    "faml",
    *FITTED,
    "integrated_gradients",
    "gradient_x_input",
    "gradient_shap",
    "lime",
    "kernel_shap",
    "occlusion",
    "attention_mean",
    "attention_last",
    "decompx",
    "alti",
    "globenc",
)


def measure_paper_set(name: str, data: Path, folder: Path, n: int, seed: int, note: Note) -> dict[str, Any]:
    """Train, fit and measure what is missing in `folder`, and write the results. Returns them.

    Raises `DataUnavailable` for an unknown name, and if the data set's files are missing.
    """
    if name not in (*PAPER_SETS, *EMBEDDED):
        raise DataUnavailable(f"There is no data set {name!r}. Choose one of: {', '.join((*PAPER_SETS, *EMBEDDED))}.")
    os.environ[STORE_VARIABLE] = str(folder.resolve() / "store")
    model, inputs, about = _embedded(name, data, n, seed) if name in EMBEDDED else _trained(name, data, folder, note)
    chosen = list(inputs)
    random.Random(seed).shuffle(chosen)
    specs = fitted_to(model)
    settings = Settings(seed=seed, sampling=EVALUATED_SAMPLING)
    measured = measure_published(model, chosen[:n], specs, settings, note)
    results = {
        "data": {"name": name, "inputs": min(n, len(chosen)), "seed": seed, **about},
        "model": {"name": model.name, "version": model.version},
        "settings": settings.as_dict(),
        "command": f".venv/bin/python -m explainers study papers-measure {name} --data DIR --n {n} --seed {seed}",
        "libraries": libraries(),
        "rows": measured.rows(),
        "gains": _gains(measured),
    }
    STORED.mkdir(parents=True, exist_ok=True)
    (STORED / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def _gains(measured: PublishedValues) -> dict[str, dict[str, dict[str, Any]]]:
    """The paired differences of the papers' own methods to all others, by the metrics of their tables."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for table in read_tables():
        for own in table.own:
            if own not in measured.values or own in measured.reasons:
                continue
            for other, gains in measured.gains(own).items():
                kept = {metric: asdict(gains[metric]) for metric in table.metrics if metric in gains}
                found.setdefault(own, {}).setdefault(other, {}).update(kept)
    return found


def fitted_to(model: FrozenModel) -> tuple[MethodSpec, ...]:
    """The compared methods that can explain the model; learned ones only where they are fitted to it."""
    fitted = {f"{artifact.method}:{artifact.variant}" for artifact in available_artifacts(model.name, model.version)}
    specs = select(METHODS)
    return tuple(spec for spec in specs if not spec.learns or f"{base_id(spec.id)}:{_variant(spec)}" in fitted)


def _variant(spec: MethodSpec) -> str:
    return spec.id.partition(":")[2] or spec.default_variant


def _embedded(name: str, data: Path, n: int, seed: int) -> tuple[FrozenModel, Sequence[Example], dict[str, Any]]:
    model = load(name, device="cpu")
    inputs = split_inputs(EvaluationSpec(name, data / EMBEDDED[name], "test", 0, (), ()), model.input_names, seed)
    card = json.loads((BUNDLES / name / CARD).read_text(encoding="utf-8"))
    return model, inputs, {"title": card["data"]["name"], "classes": card["labels"], "accuracy": card["accuracy"]}


def _trained(name: str, data: Path, folder: Path, note: Note) -> tuple[FrozenModel, Sequence[Example], dict[str, Any]]:
    paper_set = PAPER_SETS[name]
    splits = paper_set.splits(data)
    target = folder / name
    if not (target / CARD).is_file() or not json.loads((target / CARD).read_text(encoding="utf-8"))["accuracy"]:
        note(f"{name}: training on {len(splits.train):,} texts")
        make_text_bundle(
            name, _task(paper_set), data, RECIPE, target, resume=(Path("runs") / name / CHECKPOINT).is_file()
        )
    model = load_bundle(target, torch.device("cpu"))
    card = json.loads((target / CARD).read_text(encoding="utf-8"))
    note(f"{name}: {card['accuracy']}")
    _fit_missing(model, splits.explainer, folder / "fits" / name, note)
    return (
        model,
        splits.test,
        {
            "title": paper_set.source,
            "classes": card["labels"],
            "accuracy": card["accuracy"],
            "splits": {key: value for key, value in card["splits"].items() if key != "rule"},
            "recipe": card["recipe"],
            "fitted on": UNLABELLED - WATCHED,
        },
    )


def _task(paper_set: PaperSet) -> Task:
    return Task(
        labels=paper_set.labels,
        data=paper_set.source,
        licence=paper_set.licence,
        split_rule="random parts; the test part is that of the data set where it has one",
        read=paper_set.splits,
        make=lambda options: {},
        example=lambda: Example(""),
        position=0,
    )


def _fit_missing(model: FrozenModel, texts: Sequence[Example], runs: Path, note: Note) -> None:
    unlabelled = tuple(Example(example.text) for example in texts)
    store = own_folder(model.name, model.version)
    for id in FITTED:
        method, _, variant = id.partition(":")
        spec = FitSpec(method, model.name, variant=variant)
        if (store / f"{method}-{spec.name}.json").is_file():
            continue
        card = fit_to(
            spec, model, unlabelled[WATCHED:], unlabelled[:WATCHED], runs / f"{method}-{spec.name}", resume=True
        )
        note(f"{model.name}: {id} fitted in {card['seconds']['all']:.0f} s, {card['validation']} {card['warnings']}")
