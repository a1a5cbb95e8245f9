import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from captum.attr import DeepLift as OfCaptum
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
)

from explainers.attribution.deeplift import DeepLift
from explainers.attribution.multipliers import Multipliers
from explainers.errors import ExplanationError
from explainers.models.decoder import decoder_classifier
from explainers.models.frozen_model import FrozenModel
from explainers.models.function_model import wrap_function
from explainers.models.inputs.encoding import Erasure
from explainers.models.target import Target

Build = Callable[..., FrozenModel]
TEXT = "the film was not unwatchable"
SIZE: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32,
    "num_labels": 3, "initializer_range": 0.5, "attn_implementation": "eager",
}  # fmt: skip


@pytest.fixture
def large(bert: FrozenModel) -> FrozenModel:
    """With weights for which every nonlinear part matters."""
    return with_network(bert, lambda: BertForSequenceClassification(BertConfig(**SIZE)))


def with_network(bert: FrozenModel, network: Callable[[], nn.Module]) -> FrozenModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        bert.module = network().requires_grad_(False).eval()
    bert.segmented = False
    return bert


def rise(model: FrozenModel, text: str, label: int, erasure: Erasure = "mask") -> float:
    encoding = model.encode(text)
    units = len(encoding.units)
    everything, nothing = model.probabilities(encoding, [[1] * units, [0] * units], erasure)[:, label]
    return float(everything - nothing)


def gradients(function: Callable[[Tensor], Tensor], ends: Tensor) -> Tensor:
    """The multipliers of a function of rows (2, …), the input and its baseline, for its sum at the input."""
    ends = ends.clone().requires_grad_(True)
    with Multipliers():
        (found,) = torch.autograd.grad(function(ends)[0].sum(), ends)
    return found[0]


def test_the_rise_is_shared_in_proportion_to_the_weights(bag: Build) -> None:
    model = bag({"great": 2.0, "dull": -1.0, "the": 0.0})
    attribution = DeepLift().attribute(model, model.encode("great dull the"), 1)
    share = 1 / (1 + math.exp(-1)) - 0.5  # (σ(z) - σ(0)) / z, here z = 1
    assert attribution.scores == pytest.approx((2 * share, -share, 0.0), abs=1e-6)
    assert attribution.gap == pytest.approx(0, abs=1e-6)


def test_a_sure_model_has_multipliers_where_it_has_no_gradient(bag: Build) -> None:
    model = bag({"great": 40.0, "dull": -10.0})
    attribution = DeepLift().attribute(model, model.encode("great dull"), 1)
    assert attribution.scores == pytest.approx((40 / 30 * 0.5, -10 / 30 * 0.5), abs=1e-5)  # σ(30) is 1 in fp32


def test_it_is_captums_where_captum_has_rules() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
        ends = torch.randn(2, 5)
    network.requires_grad_(False)
    with pytest.warns(UserWarning, match="Setting forward, backward hooks"):
        expected = OfCaptum(network).attribute(ends[:1].clone().requires_grad_(True), ends[1:])[0].detach()
    found = gradients(network, ends) * (ends[0] - ends[1])
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert float(found.sum()) == pytest.approx(float(network(ends[:1]) - network(ends[1:])), abs=1e-6)


@pytest.mark.parametrize(
    ("function", "ends", "expected"),
    [
        (torch.relu, [[3.0], [-1.0]], [0.75]),  # 3 of 4
        (functional.relu, [[3.0], [-1.0]], [0.75]),
        (nn.ReLU(inplace=True), [[3.0], [-1.0]], [0.75]),
        (lambda x: x**2, [[3.0], [1.0]], [4.0]),  # 8 of 2
        (lambda x: 6 / x, [[3.0], [1.0]], [-2.0]),  # -4 of 2
        (torch.tanh, [[1.0], [1.0]], [1 - math.tanh(1) ** 2]),  # no difference: the derivative
        (lambda x: x[:, :1] * x[:, 1:], [[4.0, 5.0], [2.0, 1.0]], [3.0, 3.0]),  # 18 = 2 · 3 + 4 · 3
        (lambda x: x[:, :1] / x[:, 1:], [[6.0, 3.0], [2.0, 1.0]], [0.5, -1.0]),  # 0 = 4 / 2 - 2 · 2 / 2
    ],
)  # fmt: skip
def test_a_multiplier_is_the_difference_of_the_values_by_that_of_the_inputs(
    function: Callable[[Tensor], Tensor], ends: list[list[float]], expected: list[float]
) -> None:
    assert gradients(function, torch.tensor(ends)).tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("hidden", [0.0, -math.inf, torch.finfo(torch.float32).min])
def test_a_softmax_hands_on_the_whole_difference_also_where_it_is_sure(hidden: float) -> None:
    ends = torch.tensor([[60.0, 0.0, 1.0], [-1.0, 2.0, 1.0]])
    fixed = torch.tensor([0.0, 0.0, hidden])
    multipliers = gradients(lambda x: (x + fixed).softmax(-1)[:, :1], ends)
    difference = (ends + fixed).softmax(-1)[:, 0].diff()
    assert float((multipliers * (ends[0] - ends[1])).sum()) == pytest.approx(-float(difference), abs=1e-6)
    if hidden != 0:
        assert multipliers[2] == 0


@pytest.mark.parametrize("sure", [2.0, 95.0, 104.0, 300.0])  # e^-104 is 0 in fp32
@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
def test_probabilities_and_their_logarithms_add_up_however_small(function: Any, sure: float) -> None:
    ends = torch.tensor([[sure, 1.0, 0.0], [0.5, 0.0, 2.0]])
    for number in range(3):
        multipliers = gradients(lambda x, at=number: function(x, -1)[:, at : at + 1], ends)
        difference = function(ends[:1], -1)[0, number] - function(ends[1:], -1)[0, number]
        assert float((multipliers * (ends[0] - ends[1])).sum()) == pytest.approx(float(difference), rel=1e-5, abs=1e-6)


def test_a_denominator_that_crosses_zero_keeps_its_value_and_derivative() -> None:
    ends = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    with Multipliers():
        values = 1 / ends
        (slopes,) = torch.autograd.grad(values[0].sum(), ends)
    assert values.tolist() == [[1.0], [-1.0]]
    assert float(slopes[0]) == pytest.approx(-1.0)


def test_a_mixture_of_experts_is_refused(bert: FrozenModel) -> None:
    model = with_network(bert, lambda: BertForSequenceClassification(BertConfig(**SIZE)))
    model.base.encoder.layer[0].experts = nn.Linear(1, 1)
    with pytest.raises(ExplanationError, match="sends them to different experts"):
        DeepLift().attribute(model, model.encode(TEXT), 0)


@pytest.mark.parametrize("erasure", ["mask", "zero", "delete"])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_the_scores_add_up_to_the_rise_from_the_baseline(large: FrozenModel, erasure: Erasure, label: int) -> None:
    attribution = DeepLift(erasure).attribute(large, large.encode(TEXT), label)
    expected = rise(large, TEXT, label, "mask" if erasure == "delete" else erasure)
    assert abs(expected) > 0.005
    assert sum(attribution.scores) == pytest.approx(expected, abs=1e-5)
    assert attribution.gap == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("erasure", ["mask", "zero"])
def test_gates_and_root_mean_square_norms_have_rules(bert: FrozenModel, erasure: Erasure) -> None:
    config = LlamaConfig(**SIZE, pad_token_id=0)
    model = with_network(bert, lambda: decoder_classifier("llama", LlamaForSequenceClassification(config)))
    attribution = DeepLift(erasure).attribute(model, model.encode(TEXT), 0)
    assert attribution.gap == pytest.approx(0, abs=1e-5)
    assert max(map(abs, attribution.scores)) < 10  # a norm of nothing is not divided by nothing


def test_what_has_no_rule_is_in_the_gap(bag: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    model = bag({"great": 2.0})
    whole = model.module.forward

    def sines(**inputs: Any) -> Tensor:
        return torch.sin(whole(**inputs))

    monkeypatch.setattr(model.module, "forward", sines)
    attribution = DeepLift().attribute(model, model.encode("great"), 1)
    probability = 1 / (1 + math.exp(-math.sin(2)))
    slope = (probability - 0.5) / math.sin(2) * 2 * math.cos(2)  # the sine keeps its derivative
    assert attribution.scores == pytest.approx((slope,), abs=1e-5)
    assert attribution.gap == pytest.approx(abs(slope - (probability - 0.5)), abs=1e-5)


def test_one_class_rather_than_another_is_its_share_of_both(large: FrozenModel) -> None:
    model = large.aimed(Target(0, 2))
    attribution = DeepLift().attribute(model, model.encode(TEXT), 0)
    assert sum(attribution.scores) == pytest.approx(rise(model, TEXT, 0), abs=1e-5)
    assert attribution.gap == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_text_in_windows_adds_up_too(large: FrozenModel, multi_label: bool) -> None:
    large.multi_label = multi_label
    large.tokenizer.enable_truncation(6)
    encoding = large.encode("good film but dull plot the bad very good film", windows=True)
    assert encoding.windows
    attribution = DeepLift().attribute(large, encoding, 1)
    assert any(attribution.scores[8:])
    assert attribution.gap == pytest.approx(0, abs=1e-5)


def test_other_threads_and_later_passes_have_derivatives() -> None:
    slopes: list[float] = []

    def slope() -> None:
        value = torch.tensor([[3.0], [-1.0]], requires_grad=True)
        slopes.append(float(torch.autograd.grad(torch.relu(value)[0].sum(), value)[0][0]))

    with Multipliers():
        other = threading.Thread(target=slope)
        other.start()
        other.join()
        slope()
    slope()
    assert slopes == [1.0, 0.75, 1.0]


def test_a_function_without_gradients_is_refused() -> None:
    model = wrap_function(lambda texts: [[0.5, 0.5]] * len(texts), ["no", "yes"], "half", "___")
    with pytest.raises(ExplanationError, match="it has no embeddings, states or gradients"):
        DeepLift().attribute(model, model.encode("good film"), 0)


def test_too_little_memory_is_a_sentence(bag: Build) -> None:
    model = bag({"great": 2.0})
    model.module.memory = 1
    with pytest.raises(ExplanationError, match="not enough memory"):
        DeepLift().attribute(model, model.encode("great"), 1)
