"""Batches of images with texts of different lengths, as the learned methods read them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.learned.batches import encode_for_learning
from explainers.models.inputs.encoding import Encoding
from explainers.models.inputs.padded_batch import PaddedBatch, pad_batch
from explainers.models.internals import (
    attention_head_count,
    forward_with_internals,
    forward_with_soft_mask,
    hidden_size,
    input_embeddings,
    transformer_layers,
    word_embedding_table,
)
from explainers.models.scenes.model import SceneModel

PATCHES = 48


@pytest.fixture
def encodings(model: SceneModel, example: Example, square: Example) -> tuple[Encoding, ...]:
    """9 words with 48 patches, 2 words with 48, 3 words with 16."""
    return model.encode(example), model.encode(replace(example, text="blue circle")), model.encode(square)


@pytest.fixture
def batch(model: SceneModel, encodings: tuple[Encoding, ...]) -> PaddedBatch:
    return pad_batch(encodings, model.pad_token, model.device)


def alone(model: SceneModel, encodings: tuple[Encoding, ...]) -> np.ndarray:
    return np.stack([model.probabilities(encoding, np.ones((1, len(encoding.units))))[0] for encoding in encodings])


def answers(model: SceneModel, states: object) -> np.ndarray:
    return np.asarray(states.probabilities(model).detach())  # type: ignore[attr-defined]


def test_rows_hold_the_positions_and_embeddings_of_patches(batch: PaddedBatch, encodings: tuple[Encoding, ...]) -> None:
    longest = len(encodings[0].ids)
    assert batch.is_patch.shape == (3, longest)
    assert [np.flatnonzero(row).tolist() for row in batch.is_patch] == [list(range(1, 49))] * 3
    for row, encoding in enumerate(encodings):
        assert encoding.patch_embeddings is not None
        length = len(encoding.ids)
        assert np.array_equal(batch.patch_embeddings[row, :length], encoding.patch_embeddings.embeddings)
        assert np.array_equal(batch.patch_replacements[row, :length], encoding.patch_embeddings.replacement("mask"))
        assert not batch.patch_embeddings[row, length:].any()
    assert batch.units.sum(1).tolist() == [9 + 48, 2 + 48, 3 + 16]


def test_doubling_repeats_patches_too(batch: PaddedBatch) -> None:
    both = batch.doubled()
    for name in ("is_patch", "patch_embeddings", "patch_replacements"):
        assert torch.equal(getattr(both, name), torch.cat([getattr(batch, name)] * 2)), name


def test_a_batch_of_texts_alone_has_no_patches(model: SceneModel, batch: PaddedBatch) -> None:
    blind = replace(
        batch,
        is_patch=batch.is_patch[:, :0],
        patch_embeddings=batch.patch_embeddings[..., :0],
        patch_replacements=batch.patch_replacements[..., :0],
    )
    result, replacements = torch.ones(3, batch.ids.shape[1], 32), torch.zeros(32)
    assert blind.with_patches(result, replacements) == (result, replacements)


def test_patches_take_the_place_of_words(model: SceneModel, batch: PaddedBatch) -> None:
    result, replacements = input_embeddings(model, batch)
    weight = word_embedding_table(model).weight
    assert torch.equal(result[batch.is_patch], batch.patch_embeddings[batch.is_patch])
    assert torch.equal(replacements[batch.is_patch], batch.patch_replacements[batch.is_patch])
    assert torch.equal(result[~batch.is_patch], weight[batch.ids[~batch.is_patch]])  # type: ignore[index]
    assert (replacements[~batch.is_patch] == weight[model.mask_token]).all()  # type: ignore[index]
    assert not result.requires_grad


def test_every_row_has_the_answer_that_it_has_alone(
    model: SceneModel, batch: PaddedBatch, encodings: tuple[Encoding, ...]
) -> None:
    expected = pytest.approx(alone(model, encodings), abs=1e-5)
    plain = forward_with_internals(model, batch)
    for states in (
        plain,
        forward_with_internals(model, batch, embeds=input_embeddings(model, batch)[0]),
        forward_with_internals(model, batch, embedding_output=plain.hidden[0]),
        forward_with_internals(model, batch, scale=torch.ones(batch.ids.shape)),
        forward_with_internals(model, batch, layer_output=(2, plain.hidden[2])),
        forward_with_soft_mask(model, batch, torch.ones(batch.units.shape)),
    ):
        assert answers(model, states) == expected
    assert (len(transformer_layers(model)), attention_head_count(model), hidden_size(model)) == (6, 4, 32)
    assert len(plain.hidden) == 7
    assert len(plain.queries) == len(plain.keys) == 6


def test_the_hidden_states_are_those_of_each_input(
    model: SceneModel, batch: PaddedBatch, encodings: tuple[Encoding, ...]
) -> None:
    result = forward_with_internals(model, batch).hidden
    for row, encoding in enumerate(encodings):
        for mine, alone_state in zip(result, model.states(encoding).hidden, strict=True):
            assert np.asarray(mine[row, : len(alone_state)]) == pytest.approx(np.asarray(alone_state), abs=5e-5)


def test_blending_by_0_and_1_is_masking(model: SceneModel, batch: PaddedBatch, encodings: tuple[Encoding, ...]) -> None:
    kept = torch.rand(batch.units.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    result = answers(model, forward_with_soft_mask(model, batch, kept.float()))
    for row, encoding in enumerate(encodings):
        expected = model.probabilities(encoding, kept[row, : len(encoding.units)].numpy())
        assert result[row] == pytest.approx(expected[0], abs=1e-5)


def test_what_a_person_erased_stays_erased_in_every_pass(model: SceneModel, encodings: tuple[Encoding, ...]) -> None:
    left = tuple(model.without(encodings[0], [2, 9 + 12], erasure) for erasure in ("mask", "blur", "delete", "zero"))
    batch = pad_batch(left, model.pad_token, model.device)
    expected = pytest.approx(alone(model, left), abs=1e-5)
    assert answers(model, forward_with_internals(model, batch)) == expected
    assert answers(model, forward_with_internals(model, batch, scale=torch.ones(batch.ids.shape))) == expected
    assert answers(model, forward_with_soft_mask(model, batch, torch.ones(batch.units.shape))) == expected


@pytest.mark.parametrize("argument", ["embeds", "embedding_output", "scale", "layer_output"])
def test_the_gradient_reaches_words_and_patches_and_nothing_of_the_model(
    model: SceneModel, batch: PaddedBatch, argument: str
) -> None:
    value: Tensor = torch.ones(batch.ids.shape) if argument == "scale" else input_embeddings(model, batch)[0].clone()
    value.requires_grad_(True)
    replaced = {argument: (1, value) if argument == "layer_output" else value}
    result = forward_with_internals(model, batch, **replaced)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(result.logits[:, 0].sum(), value)
    real = gradient[batch.attention]
    assert real.reshape(len(real), -1).abs().sum(1).min() > 0
    assert not gradient[~batch.attention].any()
    assert all(weight.grad is None for weight in model.module.parameters())


def test_images_with_the_same_text_keep_their_order(model: SceneModel, example: Example) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (2, 100, 400, 3), dtype=np.uint8)
    assert example.image is not None
    images = [type(example.image).of(pixels) for pixels in noise]
    examples = [
        Example("blue circle", image=images[0]),
        Example("a", image=images[0]),
        Example("blue circle", image=images[1]),
    ]
    result = encode_for_learning(model, examples)
    assert [(item.encoding.texts[0], item.encoding.image) for item in result] == [
        (example.text, example.image) for example in examples
    ]
    for item in result:
        expected = model.probabilities(item.encoding, np.ones((1, len(item.encoding.units))))[0]
        assert np.asarray(item.probabilities) == pytest.approx(expected, abs=1e-5)
