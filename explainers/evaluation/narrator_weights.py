"""The weights of narrators that an evaluation takes: shipped, fitted earlier, or fitted now.

A narrator's settings are those with which its fitted weights were made, changed by those of the evaluation. The first
seed uses the fitted weights themselves if that changes nothing.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from explainers.datasets.images.sets import ImageFiles
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.bundle_cards import is_generated
from explainers.models.frozen_model import FrozenModel
from explainers.narrative.fit import make, recipe_for, run_folder
from explainers.narrative.recipe import NarratorRecipe
from explainers.training.artifacts import Artifact, available_artifacts
from explainers.training.spec import FitSpec, recipe_on_card

Progress = Callable[[str], None]


@dataclass(frozen=True)
class NarratorEvaluationSpec:
    """`n` test inputs, 0 for all; `settings` as typed change those of every narrator, such as leak=leaky."""

    data: Path | None
    n: int
    seeds: int
    methods: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    images: ImageFiles | None = None  # a published set, whose annotations are `data`
    tournament: int = 0  # of the inputs are those of the tournament
    once: tuple[str, ...] = ()  # narrators of which one training is measured, whatever `seeds` is
    reasons: int | None = None  # test inputs whose reasons are judged by rules, at least `n`; 0 for all, None for `n`

    def command(self, model: str) -> str:
        """What to type to repeat the evaluation."""
        words = [f"python -m explainers study narratives --model {model} --n {self.n} --seeds {self.seeds}"]
        words += [] if self.methods == NARRATORS.ids else [f"--methods {','.join(self.methods)}"]
        words += [f"--once {','.join(self.once)}"] if self.once else []
        words += [f"--set {name}={value}" for name, value in self.settings]
        words += [f"--format {self.images.format} --pictures DIR"] if self.images else []
        words += [f"--reasons {self.reasons}"] if self.reasons is not None else []
        words += [f"--tournament {self.tournament}"] if self.tournament else []
        words += [] if is_generated(model) and self.data is None else ["--data DATA"]
        return " ".join(words)

    def seeds_of(self, method: str) -> range:
        return range(1 if method in self.once else self.seeds)

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


def narrator_artifact(
    spec: NarratorEvaluationSpec, model: FrozenModel, method: str, seed: int, progress: Progress
) -> Artifact:
    """The weights of one narrator with one seed: shipped, fitted earlier below runs, or fitted now."""
    fit_spec = spec.fit_spec(model.name, method, seed)
    for artifact in available_artifacts(model.name, model.version, "narrative"):
        if artifact.method != method or image_set_of(artifact) != fit_spec.format:
            continue
        fit_spec = replace(fit_spec, settings=tuple((settings_of(artifact) | dict(fit_spec.settings)).items()))
        if recipe_on_card(NarratorRecipe, method, artifact.card["recipe"]) == recipe_for(fit_spec):
            return artifact
    folder = run_folder(fit_spec)
    path = folder / "weights" / f"{method}.safetensors"
    fitted = Artifact(method, "", path)
    if not path.is_file() or fitted.card["model"]["version"] != model.version:
        progress(f"{method}, seed {seed}: is fitted first; log in {folder}")
        make(fit_spec, model, folder, path.parent, resume=not path.is_file())  # another model's starts from scratch
    return fitted


def settings_of(artifact: Artifact) -> dict[str, str]:
    """With which the weights were fitted, as typed."""
    words = shlex.split(artifact.card.get("command", ""))
    typed = (word.partition("=") for before, word in pairwise(words) if before == "--set")
    return {name: value for name, _, value in typed}


def image_set_of(artifact: Artifact) -> str:
    """The published set with the reasons that a narrator was fitted on; "" for those of its model's own data."""
    words = shlex.split(artifact.card.get("command", ""))
    return words[words.index("--format") + 1] if "--format" in words else ""
