"""The papers' data sets, from files in the folder `--data`: the classifier trained on each, the learned methods fitted
to it, and the papers' metrics of them all.

FOLDER/trainings/      the classifiers that were trained, each in a folder of its own
FOLDER/store/          what was fitted to them
FOLDER/inputs/         what was measured, by input: an interrupted measurement goes on
assets/papers/<data set>.json    the results
"""

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from explainers.datasets import tables, text_sets
from explainers.datasets.example import Example, Splits
from explainers.errors import DataUnavailable
from explainers.installation import STORE_VARIABLE
from explainers.learned.fit import fit_to
from explainers.methods.registry import method_spec, select
from explainers.models import bundle_cards, catalog, tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.bundle import load_bundle
from explainers.models.text.recipe import TextModelRecipe
from explainers.models.text.training import CHECKPOINT, make_text_bundle
from explainers.report.paper_definitions import PublishedMetric
from explainers.report.paper_tables import METRICS, STORED, PublishedTable, read_tables
from explainers.results.decision import EVALUATED_SAMPLING, Settings
from explainers.results.manifest import libraries
from explainers.studies.published_metrics import KeptInputs, PublishedValues, measure_published
from explainers.training.artifacts import available_artifacts
from explainers.training.spec import FitSpec

TRAIN, VALIDATION, TEST, UNLABELLED = 8000, 400, 1000, 900  # texts at most of each part
SHORTEST = 2  # words
LONGEST = 60  # words of a text; longer ones are left out
WORLD, SCIENCE = "1", "4"  # of AG News' test file
Note = Callable[[str], None]
EMBEDDED = {"sst2": "sst2", "nli": "esnli"}  # models that are shipped, and the folder of their data
RECIPE = TextModelRecipe(epochs=3, batch=32, averaging=0.99, longest=96)
WATCHED = 100  # of the unlabelled texts
FITTED = ("aml", "cimi", "cimi:zero", "ciem", "ivra", "cxplain")


@dataclass(frozen=True)
class PaperSet:
    """`read` yields (part, example) for every row of the files below a folder; the part is "train" or "test", or ""
    where the files have no parts of their own."""

    name: str
    title: str
    labels: tuple[str, ...]
    source: str
    licence: str
    read: Callable[[Path], Iterator[tuple[str, Example]]]

    def splits(self, folder: Path | None) -> Splits:
        """Parts without common texts (but for case, spaces and punctuation), in an order that depends on nothing but
        the files.

        Raises `DataUnavailable` without a folder, and if a file is missing or has other columns.
        """
        if folder is None:
            raise DataUnavailable(f"Give the folder with the files of {self.title}: --data DIR.")
        parts: dict[str, list[Example]] = {"": [], "train": [], "test": []}
        seen: set[str] = set()
        for part, example in sorted(self.read(folder), key=lambda row: row[0] != "test"):
            key = text_sets.letters(example.text)
            if SHORTEST <= len(example.text.split()) <= LONGEST and key not in seen:
                seen.add(key)
                parts[part].append(example)
        for some in parts.values():
            random.Random(0).shuffle(some)
        test, rest = parts["test"], [*parts["train"], *parts[""]]
        if not test:
            test, rest = rest[:TEST], rest[TEST:]
        unlabelled, rest = rest[:UNLABELLED], rest[UNLABELLED:]
        validation, train = rest[:VALIDATION], rest[VALIDATION : VALIDATION + TRAIN]
        return Splits(tuple(train), tuple(validation), tuple(test[:TEST]), explainer=tuple(unlabelled))


def read_table(file: str, text: str, label: str, folder: Path) -> Iterator[tuple[str, Example]]:
    for number, row in tables.rows(folder / file, quoted=True):
        if not row.get(text, "").strip() or not row.get(label, "").strip().isdecimal():
            raise DataUnavailable(f"{file}, line {number}: expected {text} and {label}, got {row}.")
        yield "", Example(row[text].strip(), label=int(row[label]))


def read_ag_news(folder: Path) -> Iterator[tuple[str, Example]]:
    """World against science and technology, as in CIEM; the description alone, which both files have."""
    classes = {"World": 0, "Sci/Tech": 1, WORLD: 0, SCIENCE: 1}
    for _, row in tables.rows(folder / "ag_news/train.tsv.gz", header=("text", "class"), quoted=True):
        if row["class"] in classes:
            yield "train", Example(row["text"].strip(), label=classes[row["class"]])
    for _, row in tables.rows(folder / "ag_news/test.tsv.gz", quoted=True):
        if row["class"] in classes:
            yield "test", Example(row["description"].strip(), label=classes[row["class"]])


PAPER_SETS = {
    paper_set.name: paper_set
    for paper_set in (
        PaperSet(
            "rotten_tomatoes",
            "Rotten Tomatoes",
            ("negative", "positive"),
            "Rotten Tomatoes (Pang and Lee, 2005)",
            "research use",
            partial(read_table, "rotten_tomatoes/all.tsv.gz", "text", "label"),
        ),
        PaperSet(
            "clickbait",
            "Clickbait",
            ("news", "clickbait"),
            "Clickbait headlines (Chakraborty et al., 2016)",
            "MIT",
            partial(read_table, "clickbait/all.tsv.gz", "text", "label"),
        ),
        PaperSet(
            "ag_news",
            "AG News",
            ("world", "science and technology"),
            "AG News (Zhang et al., 2015), world against science and technology",
            "research use",
            read_ag_news,
        ),
        PaperSet(
            "yelp",
            "Yelp",
            ("negative", "positive"),
            "Single Yelp sentences, tokenised",
            "Apache-2.0",
            partial(read_table, "yelp/sentences.tsv.gz", "text", "label"),
        ),
        PaperSet(
            "hate",
            "Hate",
            ("hate speech", "offensive language", "neither"),
            "Tweets (Davidson et al., 2017)",
            "MIT",
            partial(read_table, "hate_offensive/all.tsv.gz", "text", "class"),
        ),
    )
}


METHODS = (
    "faml",
    *FITTED,
    "integrated_gradients",
    "gradient_x_input",
    "gradient_shap",
    "deeplift",
    "lime",
    "kernel_shap",
    "occlusion",
    "solvex",
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
    os.environ[STORE_VARIABLE] = str(folder.resolve() / "store")  # of this process, which does nothing else
    model, splits, about = (_embedded if name in EMBEDDED else _trained)(name, data, folder, note)
    fit_missing(model, splits.explainer, folder / "fits" / f"{name}-{model.version}", note)
    inputs = list(splits.test)
    random.Random(seed).shuffle(inputs)
    inputs = [example for example in inputs if model.encode(example).units][:n]
    settings = Settings(seed=seed, sampling=EVALUATED_SAMPLING)
    metrics = [METRICS[id] for id in dict.fromkeys(id for table in tables_of(name) for id in table.metrics)]
    kept = _kept(folder / "inputs" / f"{name}.jsonl", model, inputs, settings, metrics)
    measured = measure_published(model, inputs, select(METHODS), settings, note, metrics, kept)
    results = {
        "data": {"name": name, "inputs": len(inputs), "seed": seed, **about},
        "model": {"name": model.name, "version": model.version},
        "settings": settings.as_dict(),
        "command": f".venv/bin/python -m explainers study papers-measure {name} --data DIR --n {n} --seed {seed}",
        "libraries": libraries(),
        "rows": measured.rows(),
        "gains": gains_of(name, measured),
        "warnings": warnings_of(model),
    }
    STORED.mkdir(parents=True, exist_ok=True)
    (STORED / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def _kept(
    path: Path, model: FrozenModel, inputs: Sequence[Example], settings: Settings, metrics: Sequence[PublishedMetric]
) -> KeptInputs:
    content = json.dumps([(example.text, example.pair) for example in inputs])
    fitted = available_artifacts(model.name, model.version)
    return KeptInputs(
        path,
        {
            "model": [model.name, model.version],
            "weights": sorted(artifact.card["sha256"] for artifact in fitted),
            "inputs": hashlib.sha256(content.encode()).hexdigest(),
            "methods": METHODS,
            "metrics": [metric.id for metric in metrics],
            "settings": settings.as_dict(),
        },
    )


def warnings_of(model: FrozenModel) -> dict[str, list[str]]:
    """Return what the cards of the fitted methods warn of, by method; only of those that warn."""
    found: dict[str, list[str]] = {}
    for artifact in available_artifacts(model.name, model.version):
        default = artifact.variant == method_spec(artifact.method).default_variant
        id = artifact.method if default else f"{artifact.method}:{artifact.variant}"
        if id in METHODS and artifact.card["warnings"]:
            found[id] = list(artifact.card["warnings"])
    return found


def tables_of(name: str) -> list[PublishedTable]:
    """Return the tables that have numbers on this data set."""
    return [table for table in read_tables() if name in table.sets]


def gains_of(name: str, measured: PublishedValues) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the paired differences of the papers' own methods to all others, by the metrics of their tables."""
    gains: dict[str, dict[str, dict[str, Any]]] = {}
    for table in tables_of(name):
        for own in table.own:
            if own in measured.reasons:
                continue
            for other, by_metric in measured.gains(own).items():
                kept = {metric: asdict(by_metric[metric]) for metric in table.metrics if metric in by_metric}
                gains.setdefault(own, {}).setdefault(other, {}).update(kept)
    return gains


def _embedded(name: str, data: Path, _folder: Path, note: Note) -> tuple[FrozenModel, Splits, dict[str, Any]]:
    note(f"{name}: reading its data")
    card = json.loads((bundle_cards.BUNDLES / name / bundle_cards.CARD).read_text(encoding="utf-8"))
    about = {"title": card["data"]["name"], "classes": card["labels"], "accuracy": card["accuracy"]}
    return catalog.load(name, device="cpu"), tasks.TASKS[name].read(data / EMBEDDED[name]), about


def _trained(name: str, data: Path, folder: Path, note: Note) -> tuple[FrozenModel, Splits, dict[str, Any]]:
    """Another recipe, or other texts, make another folder, so that nothing of an earlier training is taken for this."""
    paper_set = PAPER_SETS[name]
    splits = paper_set.splits(data)
    content = json.dumps([asdict(RECIPE), [(example.text, example.label) for example in splits.train]])
    run = folder / "trainings" / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    bundle = run / "bundle"
    if (
        not (bundle / bundle_cards.CARD).is_file()
        or not json.loads((bundle / bundle_cards.CARD).read_text(encoding="utf-8"))["accuracy"]
    ):
        note(f"{name}: training on {len(splits.train):,} texts")
        resume = (run / CHECKPOINT).is_file()
        make_text_bundle(name, _training_data(paper_set), data, RECIPE, bundle, run, resume=resume)
    card = json.loads((bundle / bundle_cards.CARD).read_text(encoding="utf-8"))
    note(f"{name}: {card['accuracy']}")
    about = {
        "title": paper_set.source,
        "classes": card["labels"],
        "accuracy": card["accuracy"],
        "splits": {key: value for key, value in card["splits"].items() if key != "rule"},
        "recipe": card["recipe"],
        "fitted on": UNLABELLED - WATCHED,
    }
    return load_bundle(bundle, torch.device("cpu")), splits, about


def _training_data(paper_set: PaperSet) -> tasks.TrainingData:
    return tasks.TrainingData(
        labels=paper_set.labels,
        data=paper_set.source,
        licence=paper_set.licence,
        split_rule="random parts; the test part is that of the data set where it has one",
        read=paper_set.splits,
    )


def fit_missing(
    model: FrozenModel, texts: Sequence[Example], runs: Path, note: Note, methods: Sequence[str] = FITTED
) -> None:
    """Fit those of the methods that are not fitted to the model yet, with their default settings."""
    unlabelled = [Example(example.text, example.pair) for example in texts][:UNLABELLED]
    fitted = {(artifact.method, artifact.variant) for artifact in available_artifacts(model.name, model.version)}
    for id in methods:
        method, _, variant = id.partition(":")
        spec = FitSpec(method, model.name, variant=variant)
        if (method, spec.name) in fitted:
            continue
        learned_from, watched = tuple(unlabelled[WATCHED:]), tuple(unlabelled[:WATCHED])
        card = fit_to(spec, model, learned_from, watched, runs / f"{method}-{spec.name}", resume=True)
        note(f"{model.name}: {id} fitted in {card['seconds']['all']:.0f} s, {card['validation']} {card['warnings']}")
