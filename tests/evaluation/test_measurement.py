from collections.abc import Callable

import numpy as np
import pytest

from explainers.evaluation.measurement import metrics_of_scores, predicted_class
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import METRICS
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, Erasure

LONG = "the film was not good , but a very dull plot ! the unwatchable film was very very bad , a dull film !"


@pytest.mark.parametrize("erasure", ERASURES)
@pytest.mark.parametrize("text", ["good", "not good", "unwatchable film , dull plot", LONG])
def test_metrics_are_those_of_the_whole_curves(bert: FrozenModel, text: str, erasure: Erasure) -> None:
    encoding = bert.encode(text)
    units, generator = len(encoding.units), np.random.default_rng(0)
    for _ in range(2):
        scores = tuple(generator.standard_normal(units).tolist())
        for label in range(3):
            curves = erasure_curves(MaskedPredictor(bert, encoding, erasure), scores, label)
            expected = {metric.id: metric.score(curves) for metric in METRICS}
            answers = MaskedPredictor(bert, encoding, erasure)
            assert metrics_of_scores(answers, scores, label) == pytest.approx(expected, abs=1e-4, nan_ok=True)


def test_a_decision_that_flips_late_or_never_is_searched_to_the_end(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.0, "bad": -3.0, "the": 0.0})
    encoding = model.encode("bad the the the the the good good")  # negative, because 2 - 3 < 0
    first_words_last = tuple(float(position) for position in range(8))
    goods_last = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 0.1, 0.2)

    def flip(scores: tuple[float, ...]) -> float:
        return metrics_of_scores(MaskedPredictor(model, encoding, "mask"), scores, 0)["dffot"]

    assert flip(first_words_last) == 1  # with no word left it is 1/2
    assert flip(first_words_last[::-1]) == 1 / 8  # without "bad"
    assert flip(goods_last) == 6 / 8  # "bad" is the sixth to be erased


def test_flips_in_long_texts_are_exact_not_in_steps(bert: FrozenModel) -> None:
    bert.tokenizer.enable_truncation(64)
    encoding = bert.encode(" ".join(["good", "bad", "dull", "very"] * 20), "token")  # 62 units: sampled in steps of 2 %
    units, generator = len(encoding.units), np.random.default_rng(0)
    exact = 0
    for _ in range(3):
        scores = tuple(generator.standard_normal(units).tolist())
        label = predicted_class(bert, encoding)
        curves = erasure_curves(
            MaskedPredictor(bert, encoding, "mask"), scores, label, tuple(range(units + 1)), kept=False
        )
        classes = curves.removed.argmax(axis=1)
        first = int(np.flatnonzero(classes != classes[0])[0]) if len(set(classes)) > 1 else units
        searched = metrics_of_scores(MaskedPredictor(bert, encoding, "mask"), scores, label)["dffot"]
        assert searched == pytest.approx(first / units)
        exact += first < units
    assert exact
