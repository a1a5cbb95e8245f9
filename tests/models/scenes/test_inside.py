"""Batches of pictures with texts of different lengths, as the learned methods read them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.learned.batches import seen
from explainers.models.encoding import Encoding
from explainers.models.inside import blended, heads, layers, run, table, width, words
from explainers.models.padded import Padded, padded
from explainers.models.scenes.model import SceneModel

PATCHES = 48


@pytest.fixture
def encodings(model: SceneModel, example: Example, square: Example) -> tuple[Encoding, ...]:
    """9 words with 48 patches, 2 words with 48, 3 words with 16."""
    return model.encode(example), model.encode(replace(example, text="blue circle")), model.encode(square)


@pytest.fixture
def batch(model: SceneModel, encodings: tuple[Encoding, ...]) -> Padded:
    return padded(encodings, model.padding, model.device)


def alone(model: SceneModel, encodings: tuple[Encoding, ...]) -> np.ndarray:
    return np.stack([model.probabilities(each, np.ones((1, len(each.units))))[0] for each in encodings])


def answers(model: SceneModel, states: object) -> np.ndarray:
    return np.asarray(states.probabilities(model).detach())  # type: ignore[attr-defined]


def test_rows_say_where_patches_stand_and_what_is_seen_of_them(batch: Padded, encodings: tuple[Encoding, ...]) -> None:
    longest = len(encodings[0].ids)
    assert batch.at.shape == (3, longest)
    assert [np.flatnonzero(row).tolist() for row in batch.at] == [list(range(1, 49))] * 3
    for row, encoding in enumerate(encodings):
        assert encoding.seen is not None
        length = len(encoding.ids)
        assert np.array_equal(batch.own[row, :length], encoding.seen.own)
        assert np.array_equal(batch.filler[row, :length], encoding.seen.filler("mask"))
        assert not batch.own[row, length:].any()
    assert batch.units.sum(1).tolist() == [9 + 48, 2 + 48, 3 + 16]


def test_twice_repeats_what_is_seen_too(batch: Padded) -> None:
    both = batch.twice()
    for name in ("at", "own", "filler"):
        assert torch.equal(getattr(both, name), torch.cat([getattr(batch, name)] * 2)), name


def test_a_batch_of_texts_alone_sees_nothing(model: SceneModel, batch: Padded) -> None:
    blind = replace(batch, at=batch.at[:, :0], own=batch.own[..., :0], filler=batch.filler[..., :0])
    found, filler = torch.ones(3, batch.ids.shape[1], 32), torch.zeros(32)
    assert blind.looking(found, filler) == (found, filler)


def test_patches_take_the_place_of_words(model: SceneModel, batch: Padded) -> None:
    found, filler = words(model, batch)
    weight = table(model).weight
    assert torch.equal(found[batch.at], batch.own[batch.at])
    assert torch.equal(filler[batch.at], batch.filler[batch.at])
    assert torch.equal(found[~batch.at], weight[batch.ids[~batch.at]])  # type: ignore[index]
    assert (filler[~batch.at] == weight[model.filler]).all()  # type: ignore[index]
    assert not found.requires_grad


def test_every_row_has_the_answer_that_it_has_alone(
    model: SceneModel, batch: Padded, encodings: tuple[Encoding, ...]
) -> None:
    expected = pytest.approx(alone(model, encodings), abs=1e-5)
    plain = run(model, batch)
    for states in (
        plain,
        run(model, batch, embeds=words(model, batch)[0]),
        run(model, batch, embedded=plain.hidden[0]),
        run(model, batch, scale=torch.ones(batch.ids.shape)),
        run(model, batch, instead=(2, plain.hidden[2])),
        blended(model, batch, torch.ones(batch.units.shape)),
    ):
        assert answers(model, states) == expected
    assert (len(layers(model)), heads(model), width(model)) == (6, 4, 32)
    assert len(plain.hidden) == 7
    assert len(plain.queries) == len(plain.keys) == 6


def test_the_hidden_states_are_those_of_each_input(
    model: SceneModel, batch: Padded, encodings: tuple[Encoding, ...]
) -> None:
    found = run(model, batch).hidden
    for row, encoding in enumerate(encodings):
        for mine, its in zip(found, model.states(encoding).hidden, strict=True):
            assert np.asarray(mine[row, : len(its)]) == pytest.approx(np.asarray(its), abs=1e-5)


def test_blending_by_0_and_1_is_masking(model: SceneModel, batch: Padded, encodings: tuple[Encoding, ...]) -> None:
    kept = torch.rand(batch.units.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    found = answers(model, blended(model, batch, kept.float()))
    for row, encoding in enumerate(encodings):
        expected = model.probabilities(encoding, kept[row, : len(encoding.units)].numpy())
        assert found[row] == pytest.approx(expected[0], abs=1e-5)


def test_what_a_person_erased_stays_erased_in_every_pass(model: SceneModel, encodings: tuple[Encoding, ...]) -> None:
    left = tuple(model.without(encodings[0], [2, 9 + 12], erasure) for erasure in ("mask", "blur", "delete", "zero"))
    batch = padded(left, model.padding, model.device)
    expected = pytest.approx(alone(model, left), abs=1e-5)
    assert answers(model, run(model, batch)) == expected
    assert answers(model, run(model, batch, scale=torch.ones(batch.ids.shape))) == expected
    assert answers(model, blended(model, batch, torch.ones(batch.units.shape))) == expected


@pytest.mark.parametrize("place", ["embeds", "embedded", "scale", "instead"])
def test_the_gradient_reaches_words_and_patches_and_nothing_of_the_model(
    model: SceneModel, batch: Padded, place: str
) -> None:
    given: Tensor = torch.ones(batch.ids.shape) if place == "scale" else words(model, batch)[0].clone()
    given.requires_grad_(True)
    replaced = {place: (1, given) if place == "instead" else given}
    found = run(model, batch, **replaced)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(found.logits[:, 0].sum(), given)
    real = gradient[batch.attention]
    assert real.reshape(len(real), -1).abs().sum(1).min() > 0
    assert not gradient[~batch.attention].any()
    assert all(weight.grad is None for weight in model.module.parameters())


def test_pictures_with_the_same_text_keep_their_order(model: SceneModel, example: Example) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (2, 100, 400, 3), dtype=np.uint8)
    assert example.picture is not None
    pictures = [type(example.picture).of(each) for each in noise]
    given = [
        Example("blue circle", picture=pictures[0]),
        Example("a", picture=pictures[0]),
        Example("blue circle", picture=pictures[1]),
    ]
    found = seen(model, given)
    assert [(each.encoding.texts[0], each.encoding.picture) for each in found] == [
        (each.text, each.picture) for each in given
    ]
    for each in found:
        expected = model.probabilities(each.encoding, np.ones((1, len(each.encoding.units))))[0]
        assert np.asarray(each.probabilities) == pytest.approx(expected, abs=1e-5)
