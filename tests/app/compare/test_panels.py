"""The line below the prediction says what is explained where that is another class."""

from types import SimpleNamespace
from typing import Any

import pytest

from app.compare.panels import explained_line
from explainers.models.target import Target

STAYS = "the explanations stay with positive, predicted for the whole input"


def run_with(predicted: int, *, label: str | None = None, removed: tuple[int, ...] = (3,)) -> Any:
    """Explains positive, whatever is predicted."""
    decision = SimpleNamespace(card=SimpleNamespace(labels=("nega\ntive", "positive")), target=Target(1))
    current = SimpleNamespace(decision=decision, predicted=predicted, explains_predicted=predicted == 1)
    return SimpleNamespace(current=current, request=SimpleNamespace(label=label, versus=None, removed=removed))


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (run_with(0), f"The model now predicts nega tive; {STAYS}."),
        (run_with(0, label="positive"), "The model predicts nega tive; the explanations are for positive."),
        (run_with(1), ""),
        (SimpleNamespace(current=None), ""),
    ],
)
def test_after_a_flip_it_is_said_that_the_class_of_the_whole_stays(run: Any, line: str) -> None:
    assert explained_line(run) == line
