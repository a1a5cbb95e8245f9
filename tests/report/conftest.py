"""Comparisons whose metrics can be computed by hand: p(label) = 0.1 + 0.8 · (the weight of the words that are kept)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from explainers.comparison.measuring import run_random_control
from explainers.datasets.example import InputImage
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import METRICS, all_metrics
from explainers.models.calls import PredictionCache
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.words import word_spans
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, ModelCard, Settings
from explainers.results.events import Failure, MethodResult

Compared = Callable[..., Comparison]


def stub(weights: np.ndarray, labels: tuple[str, ...], name: str) -> Any:
    def probabilities(_encoding: Encoding, keeps: np.ndarray, _erasure: str) -> np.ndarray:
        p = 0.1 + 0.8 * np.asarray(keeps, dtype=float) @ weights
        return np.stack([1 - p, p], axis=1)

    module = SimpleNamespace(state_dict=dict)
    return SimpleNamespace(
        name=name,
        labels=labels,
        input_names=(),
        version="1",
        device=torch.device("cpu"),
        module=module,
        probabilities=probabilities,
        pool=PredictionCache(),
    )


def encoded(texts: tuple[str, ...], warning: str = "", image: InputImage | None = None) -> Encoding:
    """Every word is a unit, and so is each quarter of the image."""
    spans = [(segment, *span) for segment, text in enumerate(texts) for span in word_spans(text)]
    units = tuple(Unit(texts[segment][start:end], start, end, segment) for segment, start, end in spans)
    units += quarters(image) if image is not None else ()
    positions = tuple(range(len(units)))
    return Encoding(texts, units, positions, (0,) * len(units), positions, warning=warning, image=image)


def quarters(image: InputImage) -> tuple[Unit, ...]:
    wide, high = (side // 2 for side in image.size)
    return tuple(
        Unit(f"row {row + 1}, column {column + 1}", 0, 0, segment=1, box=(left, top, left + wide, top + high))
        for row, top in enumerate((0, high))
        for column, left in enumerate((0, wide))
    )


@pytest.fixture
def compared() -> Compared:
    """By default the first word has all the weight, and LIME gives the same scores."""

    def make(
        *texts: str,
        methods: dict[str, tuple[float, ...]] | None = None,
        weights: tuple[float, ...] | None = None,
        labels: tuple[str, str] = ("negative", "positive"),
        name: str = "stub",
        failures: tuple[Failure, ...] = (),
        warning: str = "",
        image: InputImage | None = None,
    ) -> Comparison:
        encoding = encoded(texts, warning, image)
        by_unit = weights or (1.0, *(0.0,) * (len(encoding.units) - 1))
        decision = Decision(ModelCard(name, "1", labels), encoding, 1, Settings())
        answers = MaskedPredictor(stub(np.asarray(by_unit), labels, name), encoding, "mask")
        results = []
        for method, scores in (methods or {"lime": by_unit}).items():
            attribution = Attribution(
                method, encoding, 1, scores, "attention" not in method, seconds=0.5, model_calls=7
            )
            curves = erasure_curves(answers, scores, 1)
            noise = dict.fromkeys(METRICS.ids, 0.0)
            results.append(MethodResult(attribution, curves, all_metrics(curves), noise))
        return Comparison(decision, (0.1, 0.9), tuple(results), run_random_control(answers, 1, 0), failures)

    return make
