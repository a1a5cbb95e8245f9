"""Which inputs, methods and explanations a measurement of a data set has, and the head of its record."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explainers.datasets import user_texts
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation.explanation_store import explaining
from explainers.evaluation.measurement import Explain, precision_counts
from explainers.methods.registry import METHODS, MethodSpec, select, using_weights_of
from explainers.models import catalog, tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.precision import checked_precision
from explainers.results.decision import EVALUATED_SAMPLING, SETTLED_BY, Settings
from explainers.results.manifest import libraries
from explainers.training.artifacts import available_artifacts, check_fitted

DEFAULTS = Settings(samples=SETTLED_BY, sampling=EVALUATED_SAMPLING)  # of the commands that measure data sets


def changed_options(settings: Settings) -> list[str]:
    """The options of a command that measures a data set, where they are not the default ones."""
    defaults = DEFAULTS.as_dict()
    return [f"--{name} {value}" for name, value in settings.as_dict().items() if value != defaults[name]]


def check_erasures(erasures: Sequence[str], available: Sequence[Erasure]) -> None:
    for erasure in erasures:
        if erasure not in available:
            raise ExplanationError(f"Unknown erasure operator {erasure!r}. Choose one of: {', '.join(available)}.")


def evaluated_methods(model: FrozenModel) -> tuple[MethodSpec, ...]:
    """Every method except single random orders, which are a control anyway; every variant of those that learn."""
    ids = [spec.id for spec in METHODS if not spec.is_random and not spec.learns and spec.suits(model.name)]
    for artifact in available_artifacts(model.name, model.version):
        for spec in using_weights_of(artifact.method):
            default = artifact.variant == spec.default_variant
            ids.append(spec.id if default else f"{spec.id}:{artifact.variant}")
    return select(ids)


def split_inputs(
    model: str, data: Path | None, split: str, n: int, input_names: tuple[str, ...], seed: int
) -> tuple[Example, ...]:
    """Return `n` inputs at random, 0 for all, of the file `data` or of a split of the model's own data.

    Raises `DataUnavailable` where there are none.
    """
    if data is not None and not data.exists():
        raise DataUnavailable(f"The file or folder {data} does not exist.")
    if data is not None and data.is_file():
        inputs = list(user_texts.read_texts(data, input_names, user_texts.logged))
    else:
        inputs = list(tasks.split_of(model, data, split))
    random.Random(seed).shuffle(inputs)
    return tuple(inputs[:n] if n > 0 else inputs)


@dataclass(frozen=True)
class ExplainedSet:
    model: FrozenModel
    inputs: tuple[Example, ...]
    specs: tuple[MethodSpec, ...]
    settings: Settings
    record: dict[str, Any]  # which model, data and settings these are, and the command
    explain: Explain

    def precisions(self) -> dict[str, dict[str, int]]:
        """Return how many inputs are answered in which precision, as an entry of the results; nothing for float32."""
        if self.model.precision == "float32":
            return {}
        encodings = (self.model.encode(example, self.settings.unit) for example in self.inputs)
        used = ((number, self.model.used_precision(encoding).precision) for number, encoding in enumerate(encodings))
        return {"precisions": precision_counts(used)}


def explained_set(
    command: str,
    model: str,
    data: Path | None,
    split: str,
    n: int,
    ids: Sequence[str],
    settings: Settings,
    device: str,
    explanations: Path | None = None,
    *,
    costly: bool = False,
    precision: str = "float32",
) -> ExplainedSet:
    """Return the model, the inputs, the methods, and how they explain: with the explanations of a folder, or anew.

    By default the methods are those that are repeatable and need few passes, or with `costly` all.

    Raises `ExplanationError` for what cannot be explained.
    """
    frozen = catalog.load(model, device=device, precision=checked_precision(precision))
    check_erasures((settings.erasure,), frozen.erasures)
    specs = select(ids) if ids else tuple(spec for spec in evaluated_methods(frozen) if costly or spec.repeatable)
    check_fitted(frozen.name, frozen.version, specs)
    inputs = split_inputs(model, data, split, n, frozen.input_names, settings.seed)
    words = [f"python -m explainers study {command} --model {frozen.name} --split {split} --n {n}"]
    words += [f"--methods {','.join(ids)}"] if ids else []
    words += changed_options(settings)
    words += ["--precision", frozen.precision] if frozen.precision != "float32" else []
    words += ["--explanations DIR"] if explanations is not None else []
    record = {
        "model": {"name": frozen.name, "version": frozen.version},
        "data": {"split": split, "inputs": len(inputs), "seed": settings.seed},
        "settings": settings.as_dict(),
        "command": " ".join([*words, *([] if data is None else ["--data DIR"])]),
        "libraries": libraries(),
    }
    return ExplainedSet(frozen, tuple(inputs), tuple(specs), settings, record, explaining(explanations))
