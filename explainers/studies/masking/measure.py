"""A model beside the same model trained with masking rates uniform in 0–100 %: is it as accurate, and what do erasure
metrics say of it?

Erasure keeps one to twenty per cent of a text's units, or removes them. A model that has seen 15 % of its tokens masked
is asked about inputs far from its training when nearly all are (Hase et al., 2021; Madsen et al., 2024).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.evaluation.record_file import Record, appending, read_records, resume_records
from explainers.methods.registry import default_methods, select
from explainers.methods.spec import MethodSpec
from explainers.models.frozen_model import FrozenModel
from explainers.models.prediction_cache import PredictionCache
from explainers.results.settings import Settings
from explainers.studies.answers.measure import DRAWS, explained_with, named_by_luck

RATES = (0.0, 0.15, 0.5, 0.8, 0.9, 1.0)  # shares of the units that are masked
FILE = "{}.jsonl"  # a row per input, by the name of the model


def without_weights() -> tuple[MethodSpec, ...]:
    """Return the default methods that need no fit to a model and can take part in a consensus."""
    return tuple(
        spec for spec in select(default_methods()) if spec.comparable and not spec.is_random and not spec.weights_of
    )


def masked_keeps(units: int, seed: int) -> NDArray[np.bool_]:
    """Return one mask per rate (len(RATES), units), true = kept, each of the rate's size as nearly as possible."""
    order = np.random.default_rng(seed).permutation(units)
    ranks = np.argsort(order)
    return np.stack([ranks >= round(rate * units) for rate in RATES])


def masking_row(model: FrozenModel, example: Example, number: int, settings: Settings, *, explained: bool) -> Record:
    """Return the predicted class and that of the label at each rate, and what a comparison answers."""
    model = model.pooled(PredictionCache())
    decision, probabilities = decide(model, example, settings=settings)
    keeps = masked_keeps(len(decision.encoding.units), number)
    masked = model.probabilities(decision.encoding, keeps, settings.erasure)
    row: Record = {
        "input": number,
        "units": len(decision.encoding.units),
        "right": [int(label == example.label) for label in masked.argmax(1).tolist()],
        "largest": masked.max(1).tolist(),
        "seeds": [],
        "luck": [],
    }
    if explained:
        row["luck"] = [named_by_luck(model, decision, probabilities, draw) for draw in range(DRAWS)]
        row["seeds"] = [explained_with(model, decision, probabilities, without_weights(), ())[1]]
    return row


def record_masking(
    model: FrozenModel, name: str, inputs: Sequence[Example], explained: int, settings: Settings, out: Path
) -> Iterator[int]:
    """Append the rows that are missing in `out`; yield how many inputs are done.

    Raises `ExplanationError` if the rows there belong to another run.
    """
    path = out / FILE.format(name)
    methods = [spec.id for spec in without_weights()]
    signature = {"model": model.version, "inputs": [example.text for example in inputs], "methods": methods}
    done = {row["input"] for row in resume_records(path, {**signature, "explained": explained})}
    with appending(path) as append:
        for number, example in enumerate(inputs):
            if number not in done:
                append(masking_row(model, example, number, settings, explained=number < explained))
            yield number + 1


def rows_of(out: Path, name: str) -> list[Record]:
    """Return the rows of a model in the order of the inputs."""
    return sorted(read_records(out / FILE.format(name)), key=lambda row: row["input"])
