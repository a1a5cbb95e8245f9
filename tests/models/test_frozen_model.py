import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from explainers.attribution.gradient import IntegratedGradients
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure

Build = Callable[..., FrozenModel]
PAD, UNK, CLS, SEP, MASK, GOOD, BAD, UN, WATCH = range(9)
WEIGHTS = {"good": 2.0, "bad": -1.0, "un": -0.5, "##watch": 0.25}


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.fixture
def model(bag: Build) -> FrozenModel:
    return bag(WEIGHTS)


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
@pytest.mark.parametrize(
    ("kept", "z"), [((1, 1, 1), 0.75), ((0, 1, 1), -1.25), ((1, 0, 1), 1.75), ((1, 1, 0), 1.0), ((0, 0, 0), 0.0)]
)
def test_the_probability_of_what_is_kept(model: FrozenModel, kept: tuple[int, ...], z: float, erasure: Erasure) -> None:
    # good 2 + bad -1 + unwatch (-0.5 + 0.25) = 0.75
    result = model.probabilities(model.encode("good bad unwatch"), [kept], erasure)
    assert result == pytest.approx(np.array([[1 - sigmoid(z), sigmoid(z)]]))


def test_the_operator_mask_puts_the_mask_token_in_the_place(model: FrozenModel) -> None:
    model.probabilities(model.encode("good unwatch bad"), [[1, 0, 1]], "mask")
    assert model.module.attention_received.ids == [[CLS, GOOD, MASK, MASK, BAD, SEP]]
    assert model.module.attention_received.attention == [None]


def test_the_operator_delete_closes_the_gap_and_pads_shorter_rows(model: FrozenModel) -> None:
    model.probabilities(model.encode("good unwatch bad"), [[1, 0, 1], [1, 1, 0]], "delete")
    assert model.module.attention_received.ids == [[CLS, GOOD, BAD, SEP, PAD], [CLS, GOOD, UN, WATCH, SEP]]
    assert model.module.attention_received.attention == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_the_operator_zero_keeps_the_ids_and_zeroes_the_embeddings(model: FrozenModel) -> None:
    model.probabilities(model.encode("good unwatch bad"), [[1, 0, 1]], "zero")
    assert model.module.attention_received.ids == [[CLS, GOOD, UN, WATCH, BAD, SEP]]
    assert model.module.attention_received.embeddings == [[0, 2, 0, 0, -1, 0]]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_what_was_removed_for_good_stays_removed(model: FrozenModel, erasure: Erasure) -> None:
    left = model.without(model.encode("good unwatch bad"), [0], erasure)
    result = model.probabilities(left, [[1, 1], [0, 1]], erasure)[:, 1]
    assert result == pytest.approx([sigmoid(-1.25), sigmoid(-1.0)])
    assert model.states(left).hidden[0][:, 0].sum() == pytest.approx(-1.25)


def test_equal_masks_are_computed_once(model: FrozenModel) -> None:
    meter = Meter()
    masks = [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1]]
    result = model.metered(meter).probabilities(model.encode("good bad"), masks)
    assert meter.calls == sum(model.module.attention_received.rows) == 2
    assert result[:, 1] == pytest.approx([sigmoid(z) for z in (2, -1, 2, 2, -1)])


def test_no_masks_are_no_answers(model: FrozenModel) -> None:
    assert model.probabilities(model.encode("good bad"), np.zeros((0, 2))).shape == (0, 2)
    assert model.module.attention_received.rows == []


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_a_text_without_words_still_has_a_probability(model: FrozenModel, text: str) -> None:
    encoding = model.encode(text)
    assert model.probabilities(encoding, np.ones((1, 0), dtype=bool)).tolist() == [[0.5, 0.5]]


def test_an_unknown_operator_is_refused_with_those_that_exist(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"'blur'.*mask, delete, zero"):
        model.probabilities(model.encode("good"), [[1]], "blur")  # type: ignore[arg-type]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_batches_change_nothing(bert: FrozenModel, masks_of: Callable[[int], np.ndarray], erasure: Erasure) -> None:
    encoding = bert.encode("the film was not unwatchable")
    together = bert.probabilities(encoding, masks_of(5), erasure)
    alone = np.vstack([bert.probabilities(encoding, [mask], erasure) for mask in masks_of(5)])
    assert together == pytest.approx(alone, abs=1e-5)


def test_deleting_is_reading_the_shorter_text(bert: FrozenModel) -> None:
    shorter = bert.encode("the good film")
    expected = bert.probabilities(shorter, [[1, 1, 1]])
    result = bert.probabilities(bert.encode("the very good bad film"), [[1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], "delete")
    assert result[:1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("erasure", ["mask", "zero"])
def test_a_soft_mask_of_zeros_and_ones_is_the_hard_one(
    bert: FrozenModel, masks_of: Callable[[int], np.ndarray], erasure: Erasure
) -> None:
    encoding = bert.encode(Example("not unwatchable", "good film"))
    masks = masks_of(4)
    soft = bert.soft_probabilities(encoding, torch.from_numpy(masks).float(), erasure)
    assert soft.numpy() == pytest.approx(bert.probabilities(encoding, masks, erasure), abs=1e-5)


def test_a_half_mask_is_half_way_to_the_mask_token(model: FrozenModel) -> None:
    encoding = model.encode("good bad")
    logits = model.soft(encoding, torch.tensor([[0.5, 1.0]], dtype=torch.float64))
    assert logits.tolist() == [[0.0, 0.5 * 2 - 1]]


def test_the_gradient_reaches_the_mask_and_not_the_model(bert: FrozenModel) -> None:
    mask = torch.ones(1, 2, requires_grad=True)
    (gradient,) = torch.autograd.grad(bert.soft(bert.encode("good film"), mask)[0, 0], mask)
    assert gradient.abs().min() > 0
    assert all(weight.grad is None for weight in bert.module.parameters())


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_special_tokens_are_never_removed(model: FrozenModel, erasure: Erasure) -> None:
    model.module.base_model.embeddings.table.weight[CLS] = 3.0
    result = model.probabilities(model.encode("good bad"), [[0, 0]], erasure)
    assert result[0, 1] == pytest.approx(sigmoid(3))


def test_states_have_one_row_per_token_and_attention_sums_to_one(bert: FrozenModel) -> None:
    result = bert.states(bert.encode("good film"))
    assert [layer.shape for layer in result.hidden] == [(4, 16)] * 3
    assert [layer.shape for layer in result.attentions] == [(2, 4, 4)] * 2
    assert torch.stack(result.attentions).sum(dim=-1).numpy() == pytest.approx(np.ones((2, 2, 4)), abs=1e-5)


def test_a_multi_label_model_answers_class_by_class(bag: Build) -> None:
    model = bag({"good": 2.0})
    model.multi_label = True
    # logits (0, 2): each class by itself, they do not add up to 1
    assert model.probabilities(model.encode("good"), [[1]])[0] == pytest.approx([0.5, sigmoid(2)])


def test_meters_count_apart(model: FrozenModel) -> None:
    one, other = Meter(), Meter()
    encoding = model.encode("good bad")
    model.metered(one).probabilities(encoding, [[1, 1], [0, 1]])
    model.metered(other).probabilities(encoding, [[1, 1]])
    assert (one.calls, other.calls, model.meter.calls) == (2, 1, 0)


def test_eight_threads_get_the_answers_of_one(bert: FrozenModel, small_batches: None) -> None:
    texts = ("the film was not good", "a very dull plot", "unwatchable , bad", "good good good film")
    generator = np.random.default_rng(0)
    masks = {text: generator.random((40, len(bert.encode(text).units))) < 0.5 for text in texts}

    def answer(job: int) -> list[float]:
        text, erasure = texts[job % 4], ("mask", "delete", "zero")[job % 3]
        encoding = bert.encode(text)
        probabilities = bert.probabilities(encoding, masks[text], erasure)
        gradients = IntegratedGradients(steps=8, erasure=erasure).attribute(bert, encoding, 0)
        hidden = bert.states(encoding).hidden[-1].flatten()
        return [*probabilities.flatten().tolist(), *gradients.scores, *hidden.tolist()]

    jobs = list(range(24))
    alone = [answer(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(answer, jobs))
    assert together == alone
    assert not bert.base.embeddings._forward_hooks


@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (1, 1, 2)])
def test_masks_of_another_width_than_the_units_are_refused(bert: FrozenModel, shape: tuple[int, ...]) -> None:
    encoding = bert.encode("good film")
    with pytest.raises(ValueError, match=r"keeps must be \(B, 2\)"):
        bert.probabilities(encoding, np.ones(shape))
