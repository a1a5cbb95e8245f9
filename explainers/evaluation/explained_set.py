"""What the measurements of whole sets of explanations share: the model, inputs, methods, and the head of the record."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from explainers.datasets.example import Example
from explainers.evaluation.data_set import (
    EvaluationSpec,
    changed_options,
    check_erasures,
    evaluated_methods,
    split_inputs,
)
from explainers.methods.registry import select
from explainers.methods.spec import MethodSpec
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.results.manifest import libraries
from explainers.results.settings import Settings
from explainers.training.artifacts import check_fitted


@dataclass(frozen=True)
class ExplainedSet:
    model: FrozenModel
    inputs: tuple[Example, ...]
    specs: tuple[MethodSpec, ...]
    settings: Settings
    record: dict[str, Any]  # which model, data and settings these are, and the command


def explained_set(
    command: str,
    model: str,
    data: Path | None,
    split: str,
    n: int,
    ids: Sequence[str],
    settings: Settings,
    device: str,
) -> ExplainedSet:
    """By default the methods that are repeatable and need few passes. Raises `ExplanationError` for what cannot be."""
    frozen = load(model, device=device)
    check_erasures((settings.erasure,), frozen.erasures)
    specs = select(ids) if ids else tuple(spec for spec in evaluated_methods(frozen) if spec.repeatable)
    check_fitted(frozen.name, frozen.version, specs)
    inputs = split_inputs(EvaluationSpec(model, data, split, n, tuple(ids), ()), frozen.input_names, settings.seed)
    words = [f"python -m explainers {command} --model {frozen.name} --split {split} --n {n}"]
    words += [f"--methods {','.join(ids)}"] if ids else []
    words += changed_options(settings)
    record = {
        "model": {"name": frozen.name, "version": frozen.version},
        "data": {"split": split, "inputs": len(inputs), "seed": settings.seed},
        "settings": asdict(settings),
        "command": " ".join([*words, *([] if data is None else ["--data DIR"])]),
        "libraries": libraries(),
    }
    return ExplainedSet(frozen, tuple(inputs), tuple(specs), settings, record)
