"""Comparisons whose figures follow by hand: p(label) = 0.1 + 0.8 · (the weight of the words that are kept)."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from explainers.api import Comparison
from explainers.comparison import Failed, Measured, Question, chance
from explainers.datasets.picture import Picture
from explainers.explanation import Attribution
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.masking import Asked, masking_path
from explainers.models.encoding import Encoding, Unit
from explainers.models.words import words
from explainers.settings import Settings

Compared = Callable[..., Comparison]


def stub(weights: np.ndarray, labels: tuple[str, ...], name: str) -> Any:
    def probabilities(_encoding: Encoding, keeps: np.ndarray, _erasure: str) -> np.ndarray:
        p = 0.1 + 0.8 * np.asarray(keeps, dtype=float) @ weights
        return np.stack([1 - p, p], axis=1)

    module = SimpleNamespace(state_dict=dict)
    return SimpleNamespace(
        name=name,
        labels=labels,
        asks=(),
        version="1",
        device=torch.device("cpu"),
        module=module,
        probabilities=probabilities,
    )


def encoded(texts: tuple[str, ...], notice: str = "", picture: Picture | None = None) -> Encoding:
    """Every word is a unit, and of a picture each quarter."""
    spans = [(segment, *span) for segment, text in enumerate(texts) for span in words(text)]
    units = tuple(Unit(texts[segment][start:end], start, end, segment) for segment, start, end in spans)
    units += quarters(picture) if picture is not None else ()
    positions = tuple(range(len(units)))
    return Encoding(texts, units, positions, (0,) * len(units), positions, notice=notice, picture=picture)


def quarters(picture: Picture) -> tuple[Unit, ...]:
    wide, high = (side // 2 for side in picture.size)
    return tuple(
        Unit(f"row {row + 1}, column {column + 1}", 0, 0, segment=1, box=(left, top, left + wide, top + high))
        for row, top in enumerate((0, high))
        for column, left in enumerate((0, wide))
    )


@pytest.fixture
def compared() -> Compared:
    """By default the first word carries all the weight and LIME finds it."""

    def make(
        *texts: str,
        methods: dict[str, tuple[float, ...]] | None = None,
        weights: tuple[float, ...] | None = None,
        labels: tuple[str, str] = ("negative", "positive"),
        name: str = "stub",
        failures: tuple[Failed, ...] = (),
        notice: str = "",
        picture: Picture | None = None,
    ) -> Comparison:
        encoding = encoded(texts, notice, picture)
        given = weights or (1.0, *(0.0,) * (len(encoding.units) - 1))
        question = Question(stub(np.asarray(given), labels, name), encoding, 1, Settings())
        asked = Asked(question.model, encoding, "mask")
        results = []
        for method, scores in (methods or {"lime": given}).items():
            found = Attribution(method, encoding, 1, scores, "attention" not in method, seconds=0.5, model_calls=7)
            path = masking_path(asked, scores, 1)
            noise = dict.fromkeys((metric.id for metric in METRICS), 0.0)
            results.append(Measured(found, path, {metric.id: metric.score(path) for metric in METRICS}, noise))
        return Comparison(question, (0.1, 0.9), tuple(results), chance(asked, 1, 0), failures)

    return make
