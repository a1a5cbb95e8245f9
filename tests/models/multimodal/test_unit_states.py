"""Batches of images with texts as the learned methods read them: the model's own patches behind positions of units."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding
from explainers.models.internals import (
    Internals,
    attention_head_count,
    attention_head_size,
    forward_with_internals,
    forward_with_soft_mask,
    hidden_size,
    key_head_count,
    layer_count,
)
from explainers.models.multimodal.model import MultimodalModel, joint_states
from explainers.models.multimodal.network import FusionNetwork
from explainers.models.multimodal.positions import UnitBatch, layout

Erased = Callable[[MultimodalModel, UnitBatch, Tensor], Internals]


def by_soft_mask(model: MultimodalModel, batch: UnitBatch, mask: Tensor) -> Internals:
    return forward_with_soft_mask(model, batch, mask)


def by_scale(model: MultimodalModel, batch: UnitBatch, mask: Tensor) -> Internals:
    return forward_with_internals(model, batch, scale=batch.spread(mask))


@pytest.fixture
def encodings(model: MultimodalModel, image: Callable[..., InputImage]) -> tuple[Encoding, ...]:
    """Texts of different lengths, and images of different forms."""
    texts, forms = ("is the cat red ?", "the cat", "a box on top of the dog ."), ((32, 32), (40, 32), (32, 64))
    return tuple(
        model.encode(Example(text, image=image(seed, *form)))
        for seed, (text, form) in enumerate(zip(texts, forms, strict=True))
    )


@pytest.fixture
def batch(model: MultimodalModel, encodings: tuple[Encoding, ...]) -> UnitBatch:
    return model.padded(encodings)


def answers(model: MultimodalModel, internals: Internals) -> np.ndarray:
    return internals.probabilities(model).detach().double().numpy()


def predicted(model: MultimodalModel, encodings: tuple[Encoding, ...], mask: Tensor, erasure: str) -> np.ndarray:
    return np.concatenate(
        [
            model.probabilities(encoding, row[: len(encoding.units)].bool().numpy(), erasure)  # type: ignore[arg-type]
            for encoding, row in zip(encodings, mask, strict=True)
        ]
    )


@pytest.mark.parametrize("share", [1.0, 0.0, 0.5])
@pytest.mark.parametrize(("erased", "erasure"), [(by_soft_mask, "mask"), (by_scale, "zero")], ids=["mask", "zero"])
def test_a_soft_mask_of_0_and_1_is_the_hard_one(
    model: MultimodalModel,
    encodings: tuple[Encoding, ...],
    batch: UnitBatch,
    erased: Erased,
    erasure: str,
    share: float,
) -> None:
    mask = (torch.rand(batch.units.shape, generator=torch.Generator().manual_seed(0)) < share).float()
    result = answers(model, erased(model, batch, mask))
    assert result == pytest.approx(predicted(model, encodings, mask, erasure), abs=1e-5)
    if share == 1:
        assert result == pytest.approx(answers(model, forward_with_internals(model, batch)), abs=1e-5)


@pytest.mark.parametrize(("erased", "erasure"), [(by_soft_mask, "mask"), (by_scale, "zero")], ids=["mask", "zero"])
def test_between_0_and_1_it_is_the_soft_mask_of_one_input(
    model: MultimodalModel, encodings: tuple[Encoding, ...], batch: UnitBatch, erased: Erased, erasure: str
) -> None:
    mask = torch.rand(batch.units.shape, generator=torch.Generator().manual_seed(1))
    result = erased(model, batch, mask).logits
    for row, encoding in enumerate(encodings):
        alone = model.soft(encoding, mask[row : row + 1, : len(encoding.units)], erasure)  # type: ignore[arg-type]
        assert torch.allclose(result[row], alone[0], atol=1e-4)


def test_states_that_are_put_back_change_nothing(model: MultimodalModel, batch: UnitBatch) -> None:
    plain = forward_with_internals(model, batch)
    assert len(plain.hidden) == layer_count(model) + 1 == 3
    assert {state.shape for state in plain.hidden} == {(*batch.ids.shape, hidden_size(model))}
    for changed in (
        forward_with_internals(model, batch, embedding_output=plain.hidden[0]),
        forward_with_internals(model, batch, layer_output=(1, plain.hidden[1])),
        forward_with_internals(model, batch, layer_output=(2, plain.hidden[2])),
    ):
        assert torch.allclose(changed.logits, plain.logits, atol=1e-4)


def test_words_have_their_own_states_and_patches_the_mean_of_theirs(
    model: MultimodalModel, encodings: tuple[Encoding, ...], batch: UnitBatch
) -> None:
    if len(model.network.streams) > 1:
        pytest.skip("there are no joint states")
    plain = forward_with_internals(model, batch)
    for row, encoding in enumerate(encodings):
        own = joint_states(model, encoding)
        size, count = model.network.grid(model.prepared_size(encoding)), len(encoding.ids)
        words = layout(("other",) * own.hidden[0].shape[1], 0, 0).others[own.words]  # their numbers
        mine = batch.owners[row].lt(batch.units.shape[1]) & ~batch.is_patch[row]
        of_words = [number for number, owner in zip(words, encoding.owners, strict=True) if owner >= 0]
        for here, there in zip(plain.hidden[:-1], own.hidden[: len(plain.hidden) - 1], strict=True):
            assert torch.allclose(here[row, mine], there[0, of_words].float(), atol=1e-4)
            area = batch.areas[row]
            means = area @ there[0, own.patches].float() / area.sum(1, keepdim=True).clamp(min=1e-6)
            assert torch.allclose(here[row, batch.is_patch[row]], means, atol=1e-4)
        assert (size[0] * size[1], count) == (batch.areas[row].shape[1], len(words))


def test_queries_and_keys_are_read_where_words_and_patches_attend_to_each_other(
    model: MultimodalModel, batch: UnitBatch
) -> None:
    plain = forward_with_internals(model, batch)
    if len(model.network.streams) > 1:
        assert plain.queries == plain.keys == ()
        with pytest.raises(ExplanationError, match="words and patches never attend to each other"):
            attention_head_count(model)
        return
    size = attention_head_size(model)
    assert [query.shape[-1] for query in plain.queries] == [size * attention_head_count(model)] * 2
    assert [key.shape[-1] for key in plain.keys] == [size * key_head_count(model)] * 2


def test_tokens_attend_to_those_behind_them_unless_the_model_is_causal(
    model: MultimodalModel, encodings: tuple[Encoding, ...]
) -> None:
    if len(model.network.streams) > 1:
        pytest.skip("words and patches go through layers apart from each other")
    (whole,) = batch = encodings[:1]
    without_last = torch.ones(1, len(whole.units))
    words = [number for number, unit in enumerate(whole.units) if unit.kind == "word"]
    without_last[0, words[-1]] = 0
    padded = model.padded(batch)
    first = int((padded.owners[0] == 0).nonzero()[0])
    before, after = (
        forward_with_soft_mask(model, padded, mask).hidden[-1][0, first]
        for mask in (torch.ones_like(without_last), without_last)
    )
    assert torch.allclose(before, after, atol=1e-6) == model.causal


def test_what_a_person_erased_stays_erased_in_every_pass(
    model: MultimodalModel, encodings: tuple[Encoding, ...]
) -> None:
    whole = encodings[0]
    erasures = ("mask", "blur", "delete", "zero")
    removed = [1, len(whole.units) - 1, len(whole.units) - 8]
    left = tuple(model.without(whole, removed, erasure) for erasure in erasures)
    words_only = model.without(whole, range(5, len(whole.units)), "mask")
    everything = (*left, words_only)
    batch = model.padded(everything)
    ones = torch.ones(batch.units.shape)
    expected = pytest.approx(predicted(model, everything, ones, "mask"), abs=1e-5)
    assert answers(model, forward_with_internals(model, batch)) == expected
    assert answers(model, by_soft_mask(model, batch, ones)) == expected
    assert answers(model, by_scale(model, batch, ones)) == expected


@pytest.mark.parametrize("change", ["mask", "scale", "embedding_output", "layer_output"])
def test_the_gradient_reaches_words_and_patches_and_nothing_of_the_model(
    model: MultimodalModel, batch: UnitBatch, change: str
) -> None:
    shapes = {"mask": batch.units.shape, "scale": batch.ids.shape}
    value = torch.rand(shapes.get(change, (*batch.ids.shape, hidden_size(model))), requires_grad=True)
    if change == "mask":
        result = forward_with_soft_mask(model, batch, value)
    else:
        replaced = (1, value) if change == "layer_output" else value
        result = forward_with_internals(model, batch, **{change: replaced})  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(result.logits[:, 0].sum(), value)
    assert (gradient != 0).any()
    if change in shapes:
        of_units = gradient if change == "mask" else batch.reduce_to_units(gradient.abs(), "max")
        assert (of_units[batch.units] != 0).float().mean() > 0.6  # the crop of some models cuts units off
    assert all(parameter.grad is None for parameter in model.network.parameters())


def test_hooks_go_even_if_the_pass_raises(
    model: MultimodalModel, batch: UnitBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hooks() -> int:
        return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.network.modules())

    before = hooks()
    forward_with_soft_mask(model, batch, torch.ones(batch.units.shape))
    assert hooks() == before
    with monkeypatch.context() as patch:
        patch.setattr(FusionNetwork, "forward", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forward_with_soft_mask(model, batch, torch.ones(batch.units.shape))
    assert hooks() == before


def test_an_unknown_architecture_says_that_its_states_cannot_be_read(
    model: MultimodalModel, encodings: tuple[Encoding, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(model.network), "streams", FusionNetwork.streams)
    with pytest.raises(ExplanationError, match="The states of this architecture's layers cannot be read"):
        replace(model).padded(encodings)


def test_doubling_repeats_what_a_pass_reads(model: MultimodalModel, batch: UnitBatch) -> None:
    both = batch.doubled()
    assert isinstance(both, UnitBatch)
    assert both.encodings == batch.encodings * 2
    assert len(both.areas) == both.rows == 6
