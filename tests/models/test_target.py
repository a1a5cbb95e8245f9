import numpy as np
import pytest
import torch

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.target import Target, target_of

LABELS = ("joy", "anger", "fear")
ITSELF = "it cannot be compared with itself."
ROW = (0.2, 0.6, 0.2)


def test_a_class_is_its_probability_and_a_contrast_its_share_of_both() -> None:
    assert Target(0).of(ROW) == 0.2
    assert Target(0, 1).of(ROW) == pytest.approx(0.2 / 0.8)
    assert Target(1, 0).of(ROW) == pytest.approx(0.6 / 0.8)
    assert Target(0, 2).of(ROW) == pytest.approx(0.5)


def test_of_two_exclusive_classes_the_contrast_is_the_class() -> None:
    assert Target(1, 0).of((0.3, 0.7)) == pytest.approx(0.7)


def test_two_classes_without_any_probability_are_equally_likely() -> None:
    assert Target(0, 1).of((0.0, 0.0, 1.0)) == pytest.approx(0.5)


def test_rows_are_the_probabilities_of_a_model_that_knows_two_classes() -> None:
    rows = np.array([ROW, (0.1, 0.1, 0.8)])
    assert Target(0, 1).rows(rows) == pytest.approx(np.array([(0.25, 0.75, 0), (0.5, 0.5, 0)]))
    assert Target(2).rows(rows) is rows
    assert rows[0].tolist() == list(ROW)  # the pool's rows stay as they are


def test_the_differentiable_form_has_the_gradient_of_the_share() -> None:
    p = torch.tensor([ROW], requires_grad=True)
    share = Target(0, 1).rows(p)[0, 0]
    (gradient,) = torch.autograd.grad(share, p)
    assert share.item() == pytest.approx(0.25)
    assert gradient[0].tolist() == pytest.approx([0.6 / 0.64, -0.2 / 0.64, 0.0])  # p(B) / (p(A) + p(B))², -p(A) / …


def test_a_target_has_the_name_of_what_it_explains() -> None:
    assert Target(0).name(LABELS) == "joy"
    assert Target(0, 1).name(LABELS) == "joy rather than anger"


def test_classes_are_found_by_their_names() -> None:
    assert target_of("m", LABELS, 2, None, None) == Target(2)
    assert target_of("m", LABELS, 2, "joy", "anger") == Target(0, 1)
    assert target_of("m", LABELS, 2, None, "anger") == Target(2, 1)


@pytest.mark.parametrize(
    ("label", "versus", "sentence"),
    [
        ("awe", None, "m has no class 'awe'. Choose one of: joy, anger, fear."),
        ("joy", "awe", "m has no class 'awe'. Choose one of: joy, anger, fear."),
        ("joy", "joy", f"The class to explain is joy, and {ITSELF} Choose one of: anger, fear."),
        (None, "fear", f"The predicted class is fear, and {ITSELF} Choose one of: joy, anger."),
    ],
)
def test_what_cannot_be_explained_has_a_sentence(label: str | None, versus: str | None, sentence: str) -> None:
    with pytest.raises(ExplanationError) as error:
        target_of("m", LABELS, 2, label, versus)
    assert str(error.value) == sentence


def test_a_model_that_is_aimed_answers_about_its_target_and_the_model_itself_as_before(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not good")
    masks = np.tril(np.ones((5, 5), dtype=bool))
    before, aimed = bert.probabilities(encoding, masks), bert.aimed(Target(0, 2))
    expected = before[:, 0] / (before[:, 0] + before[:, 2])
    assert aimed.probabilities(encoding, masks)[:, 0] == pytest.approx(expected)
    soft = aimed.soft_probabilities(encoding, torch.tensor(masks).float())
    assert soft[:, 0].detach().numpy() == pytest.approx(expected, abs=1e-5)
    assert bert.probabilities(encoding, masks) == pytest.approx(before)
