"""A over φ's own sentence: the third way to close the leak."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from explainers.narrative import reconstruction
from explainers.narrative.generation import generate
from explainers.narrative.language import Language
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.reconstruction import (
    class_positions,
    read_own_sentence,
    reading,
    reconstruct,
)

Made = Callable[..., Narrator]


@pytest.fixture
def network(narrator: Made) -> Narrator:
    network = narrator()
    network.leak = "sentence"
    return network


def test_the_class_is_what_stands_between_the_opening_and_because(language: Language) -> None:
    rows = [
        language.ids(sentence)
        for sentence in ("The answer is neutral because the film was good.", "The answer is neutral")
    ]
    opening, name = len(language.opening), len(language.pieces_within("neutral"))
    for row in rows:
        named = class_positions(torch.tensor([row]), language)[0].tolist()
        assert named == [opening <= at < opening + name for at in range(len(row))]


def test_the_class_name_neither_reaches_phi_nor_a(network: Narrator, states: Tensor) -> None:
    inputs = NarratorInput(states[:1].expand(2, -1))
    texts = [f"The answer is {name} because the film was good." for name in ("neutral", "contradiction")]
    first, second = reading(network, inputs, [network.language.ids(text) for text in texts])
    assert torch.allclose(first, second, atol=1e-5)
    other = network.language.ids("The answer is neutral because the film was bad.")
    third = reading(network, inputs[:1], [other])[0]
    assert not torch.allclose(first, third, atol=1e-3)


def test_a_counts_the_words_that_were_chosen(network: Narrator, states: Tensor) -> None:
    """The forward value is that of the words themselves, and every one of them passes a gradient to φ."""
    inputs = NarratorInput(states[:1])
    row = network.language.ids("The answer is neutral because the film was good.")
    ids = torch.tensor([row])
    counted = [id for id, named in zip(row, class_positions(ids, network.language)[0], strict=True) if not named]
    weight, bias = network.aggregator.weight, network.aggregator.bias
    read = read_own_sentence(network, inputs, [row])
    assert torch.allclose(read[0], weight[:, counted].mean(1) + bias, atol=1e-4)
    (gradient,) = torch.autograd.grad(read.sum(), [network.psi.weight])
    assert gradient.abs().sum() > 0


def test_during_a_training_its_own_sentence_is_generated_without_dropout(
    network: Narrator, states: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.train()
    modes = []

    def watched(narrator: Narrator, inputs: NarratorInput) -> list[list[int]]:
        modes.append(narrator.training)
        return generate(narrator, inputs)

    monkeypatch.setattr(reconstruction, "generate", watched)
    assert reconstruct(network, NarratorInput(states)).shape == states.shape
    assert modes == [False]
    assert network.training
