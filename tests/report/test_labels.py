"""Which labels of a multi-label model are on, wherever a prediction is shown."""

import pytest

from explainers import explain
from explainers.models.frozen_model import FrozenModel
from explainers.report.document import document
from explainers.report.terminal import comparison_lines
from explainers.report.wording import labels_line, labels_on
from explainers.results.decision import ModelCard

NAMES = ("joy", "anger", "love")


@pytest.mark.parametrize(
    ("probabilities", "on", "line"),
    [
        ((0.6, 0.2, 0.9), [2, 0], "On, with a probability of at least 0.5: love and joy."),
        ((0.1, 0.5, 0.2), [1], "On, with a probability of at least 0.5: anger."),
        ((0.1, 0.4, 0.2), [], "No label reaches 0.5: none is on."),
    ],
)
def test_labels_are_on_from_one_half(probabilities: tuple[float, ...], on: list[int], line: str) -> None:
    card = ModelCard("emotions", "1", NAMES, multi_label=True)
    assert labels_on(card, probabilities) == on
    assert labels_line(card, probabilities) == line
    single = ModelCard("emotions", "1", NAMES)
    assert labels_on(single, probabilities) == []
    assert labels_line(single, probabilities) == ""


def test_a_prediction_says_which_are_on(bert: FrozenModel) -> None:
    bert.multi_label = True
    comparison = explain(bert, "the good film", methods="occlusion")
    assert comparison.decision.card.multi_label
    line = labels_line(comparison.decision.card, comparison.probabilities)
    assert line
    assert line in "\n".join(comparison_lines(comparison))
    assert line in document(comparison)
