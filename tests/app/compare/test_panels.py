"""The line below the sheet says what the removal of units does to what is explained."""

from types import SimpleNamespace
from typing import Any

import pytest

from app.compare.panels import flip


def run_with(before: tuple[float, ...], now: tuple[float, ...], label: str | None = None) -> Any:
    decision = SimpleNamespace(card=SimpleNamespace(labels=("nega\ntive", "positive")))
    return SimpleNamespace(
        current=SimpleNamespace(decision=decision),
        request=SimpleNamespace(label=label),
        whole_probabilities=before,
        probabilities=now,
    )


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (run_with((0.2, 0.8), (0.6, 0.4)), " The model now predicts nega tive, so nega tive is explained."),
        (run_with((0.2, 0.8), (0.4, 0.6)), ""),
        (run_with((0.2, 0.8), (0.6, 0.4), "positive"), ""),  # the class that was chosen stays
        (run_with((), (0.6, 0.4)), ""),
        (SimpleNamespace(current=None), ""),
    ],
)
def test_a_removal_that_flips_the_prediction_says_which_class_is_explained_now(run: Any, sentence: str) -> None:
    assert flip(run) == sentence
