"""φ, φ + TS and CAuSE on unseen inputs over several seeds: what to fit, what to load, and what comes out.

The first seed uses the shipped weights if their settings are those of the evaluation.
"""

import random
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from explainers.datasets.example import Example
from explainers.datasets.images.sets import ImageFiles
from explainers.errors import ExplanationError
from explainers.evaluation.narrators import (
    CounterfactualItems,
    NarratorRun,
    counterfactual_items,
    narrator_rows,
    run_narrator,
)
from explainers.models.bundle_cards import is_generated
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.models.tasks import TASKS, reason_truth
from explainers.narrative.fit import make, recipe_for, run_folder
from explainers.narrative.loading import read_narrator
from explainers.narrative.reason_sources import reason_source
from explainers.narrative.sentences import NarratorItem, narrator_items, reason_of, sentence, shortened
from explainers.training.artifacts import Artifact, available_artifacts
from explainers.training.fit_spec import FitSpec

Progress = Callable[[str], None]


@dataclass(frozen=True)
class NarratorEvaluationSpec:
    """`n` test inputs, 0 for all; `settings` as typed for every narrator, such as leak=leaky."""

    data: Path | None
    n: int
    seeds: int
    methods: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    images: ImageFiles | None = None  # a published set, whose annotations are `data`

    def command(self, model: str) -> str:
        """What to type to repeat the evaluation."""
        words = [f"python -m explainers narratives --model {model} --n {self.n} --seeds {self.seeds}"]
        words += [f"--set {name}={value}" for name, value in self.settings]
        words += [f"--format {self.images.format} --pictures DIR"] if self.images else []
        words += [] if is_generated(model) and self.data is None else ["--data DATA"]
        return " ".join(words)

    def fit_spec(self, model: str, method: str, seed: int) -> FitSpec:
        """The training of one narrator."""
        return FitSpec(
            method,
            model,
            data=str(self.data or ""),
            seed=seed,
            settings=self.settings,
            format=self.images.format if self.images else "",
            images=str(self.images.folder) if self.images else "",
        )


@dataclass(frozen=True)
class NarratorEvaluation:
    """The table, a record per input, and what is needed to repeat the evaluation."""

    model: FrozenModel
    inputs: tuple[Example, ...]
    rows: list[dict[str, Any]]
    items: list[dict[str, Any]]
    about: dict[str, Any]
    generated: bool  # whether a generator gave the reasons, and not people


def evaluate_narrators(spec: NarratorEvaluationSpec, model: FrozenModel, progress: Progress) -> NarratorEvaluation:
    """Fits narrators that are missing, and measures all on the test split."""
    source = reason_source(model, spec.data, spec.images)
    inputs = list(source.test)
    random.Random(0).shuffle(inputs)
    inputs = inputs[: spec.n] if spec.n > 0 else inputs
    if len(inputs) < 2:
        raise ExplanationError("Counterfactuals need at least two pairs. Give a larger --n.")
    data = _with_counterfactuals(model, inputs, narrator_items(model, inputs))
    runs = with_truths(_run_all(spec, model, data, progress), inputs, model.name)
    reasons = {"", *(shortened(reason) for example in source.training for reason in example.explanations)}
    training_sentences = [sentence(label, reason) for reason in reasons for label in model.labels]
    about = {
        "model": {"name": model.name, "version": model.version},
        "data": {"split": "test", "pairs": len(inputs), "seed": 0},
        "settings": dict(spec.settings),
        "command": spec.command(model.name),
        "torch": torch.__version__,
    }
    return NarratorEvaluation(
        model,
        tuple(inputs),
        narrator_rows(data, runs, training_sentences),
        item_records(inputs, data.predicted, runs, model.labels),
        about,
        generated=source.generated,
    )


def evaluate_fitted_narrators(model: FrozenModel, inputs: Sequence[Example], draws: int = 3) -> list[dict[str, Any]]:
    """The table of the narrators that were fitted to the model; empty if there are none or only one class is predicted.

    Seeds are those of the sampled sentences. The training data are not known here, so no sentence counts as copied.
    """
    artifacts = available_artifacts(model.name, model.version, "narrative")
    items = narrator_items(model, inputs) if artifacts and len(inputs) > 1 else []
    if len({item.label for item in items}) < 2:  # a counterfactual needs another class
        return []
    data = _with_counterfactuals(model, inputs, items)
    runs = {
        artifact.method: [run_narrator(read_narrator(artifact, model)[1], data, seed) for seed in range(draws)]
        for artifact in artifacts
    }
    return narrator_rows(data, runs, ())


def with_truths(
    runs: dict[str, list[NarratorRun]], inputs: Sequence[Example], model: str
) -> dict[str, list[NarratorRun]]:
    """The runs with the truth of every reason, about its own input and about the next one; where rules can tell it."""
    task = TASKS.get(model)
    if task is None or task.check_reason is None:
        return runs

    def truths(run: NarratorRun, about: Sequence[Example]) -> tuple[bool | None, ...]:
        reasons = map(reason_of, run.sentences)
        return tuple(reason_truth(model, reason, each).true for reason, each in zip(reasons, about, strict=True))

    elsewhere = [*inputs[1:], inputs[0]]
    return {
        method: [replace(run, truths=truths(run, inputs), truths_elsewhere=truths(run, elsewhere)) for run in mine]
        for method, mine in runs.items()
    }


def input_text(example: Example) -> str:
    """All words of an example."""
    return " ".join(filter(None, (example.text, example.pair)))


def item_records(
    inputs: Sequence[Example], predicted: Sequence[int], runs: dict[str, list[NarratorRun]], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Per input: its texts, true and predicted class, human reasons, and the first seed's sentence of each narrator."""
    return [
        {
            "text": example.text,
            "pair": example.pair,
            "pictured": example.image is not None,
            "label": labels[example.label or 0],
            "predicted": labels[predicted[number]],
            "people": list(example.explanations),
            **{method: mine[0].sentences[number] for method, mine in runs.items()},
            **({"true": truths} if (truths := _truths_of(number, runs)) else {}),
        }
        for number, example in enumerate(inputs)
    ]


def _truths_of(number: int, runs: dict[str, list[NarratorRun]]) -> dict[str, bool | None]:
    """By narrator, whether its reason for this input is true; empty where that was not checked."""
    return {method: mine[0].truths[number] for method, mine in runs.items() if mine[0].truths}


def narrator_artifact(
    spec: NarratorEvaluationSpec, model: FrozenModel, method: str, seed: int, progress: Progress
) -> Artifact:
    """The weights of one narrator with one seed: shipped, fitted earlier below runs, or fitted now."""
    fit_spec = spec.fit_spec(model.name, method, seed)
    for artifact in available_artifacts(model.name, model.version, "narrative"):
        card = artifact.card if artifact.method == method else {}
        if card.get("recipe") == asdict(recipe_for(fit_spec)) and image_set_of(artifact) == fit_spec.format:
            return artifact
    folder = run_folder(fit_spec)
    path = folder / "weights" / f"{method}.safetensors"
    fitted = Artifact(method, "", path)
    if not path.is_file() or fitted.card["model"]["version"] != model.version:
        progress(f"{method}, seed {seed}: is fitted first; log in {folder}")
        make(fit_spec, model, folder, path.parent, resume=not path.is_file())  # another model's starts from scratch
    return fitted


def image_set_of(artifact: Artifact) -> str:
    """The published set with the reasons that a narrator was fitted on; "" for those of its model's own data."""
    words = shlex.split(artifact.card.get("command", ""))
    return words[words.index("--format") + 1] if "--format" in words else ""


def _with_counterfactuals(
    model: FrozenModel, inputs: Sequence[Example], items: Sequence[NarratorItem]
) -> CounterfactualItems:
    texts = [input_text(example) for example in inputs]
    return counterfactual_items(classifier_head(model), items, texts, model.labels)


def _run_all(
    spec: NarratorEvaluationSpec, model: FrozenModel, data: CounterfactualItems, progress: Progress
) -> dict[str, list[NarratorRun]]:
    """A run per seed for every narrator."""
    runs: dict[str, list[NarratorRun]] = {}
    for method in spec.methods:
        for seed in range(spec.seeds):
            started = time.monotonic()
            _, narrator = read_narrator(narrator_artifact(spec, model, method, seed, progress), model)
            runs.setdefault(method, []).append(run_narrator(narrator, data, seed))
            progress(f"{method}, seed {seed}: {len(data.items)} pairs in {time.monotonic() - started:.0f} s")
    return runs
