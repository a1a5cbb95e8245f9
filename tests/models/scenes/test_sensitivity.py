"""AvgSen of images: patches borrow from the same place of the other image, words from its text."""

from dataclasses import replace

import numpy as np
import pytest

from explainers.datasets.example import Example, InputImage
from explainers.metrics.sensitivity import matching_unit, replace_units, sensitivity
from explainers.models.inputs.encoding import Encoding
from explainers.models.scenes.model import SceneModel

WORDS, PATCHES = 9, 48


def noise(seed: int) -> InputImage:
    return InputImage.of(np.random.default_rng(seed).integers(0, 256, (100, 400, 3), dtype=np.uint8))


@pytest.fixture
def encoding(model: SceneModel, example: Example) -> Encoding:
    return model.encode(replace(example, image=noise(0)))


@pytest.fixture
def other(model: SceneModel) -> Encoding:
    return model.encode(Example("one black square", image=noise(1)))


def answer(model: SceneModel, encoding: Encoding) -> np.ndarray:
    return np.asarray(model.probabilities(encoding, np.ones((1, len(encoding.units))))[0])


def test_a_patch_borrows_the_same_place_and_a_word_a_word(encoding: Encoding, other: Encoding) -> None:
    for loan in range(len(other.units)):
        assert matching_unit(encoding, other, WORDS + 20, loan) == 3 + 20
        assert matching_unit(encoding, other, 2, loan) in (0, 1, 2)


def test_a_place_that_the_other_image_does_not_have_borrows_from_another_patch(
    encoding: Encoding, model: SceneModel, square: Example
) -> None:
    smaller = model.encode(square)  # 3 words and the 16 patches of the middle square
    lent = {matching_unit(encoding, smaller, WORDS, loan) for loan in range(len(smaller.units))}
    assert lent == set(range(3, 3 + 16))


def test_with_a_borrowed_patch_it_is_the_image_in_which_that_patch_was_pasted(
    model: SceneModel, example: Example, encoding: Encoding, other: Encoding
) -> None:
    assert encoding.image is not None
    assert other.image is not None
    pixels, lending = encoding.image.pixels(), other.image.pixels()
    left, top, right, bottom = encoding.units[WORDS + 20].box or (0, 0, 0, 0)
    pixels[top:bottom, left:right] = lending[top:bottom, left:right]
    pasted = model.encode(replace(example, image=InputImage.of(pixels)))
    result = replace_units(encoding, other, {WORDS + 20: 3 + 20})
    assert answer(model, result) == pytest.approx(answer(model, pasted), abs=1e-5)
    assert np.abs(answer(model, result) - answer(model, encoding)).max() > 1e-5
    assert result.units == encoding.units
    assert result.owners == encoding.owners


def test_with_a_borrowed_word_it_is_the_sentence_with_that_word(
    model: SceneModel, example: Example, encoding: Encoding, other: Encoding
) -> None:
    result = replace_units(encoding, other, {3: 1})  # "yellow" gives way to "black"
    changed = replace(example, text=example.text.replace("yellow", "black"), image=noise(0))
    assert answer(model, result) == pytest.approx(answer(model, model.encode(changed)), abs=1e-5)


def test_every_perturbed_image_can_be_explained(model: SceneModel, encoding: Encoding, other: Encoding) -> None:
    answers: list[np.ndarray] = []

    def explain(perturbed: Encoding) -> tuple[float, ...]:
        answers.append(answer(model, perturbed))
        return tuple(float(-position) for position in range(len(perturbed.units)))

    assert sensitivity(explain, encoding, other, seed=0) == 0
    assert len(np.unique(np.round(answers, 6), axis=0)) == 11  # itself and ten draws
