"""In which precision is learned, and which weights: LoRA."""

from copy import deepcopy

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import nn

from explainers.learned.recipe import trained_parameters
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.optimisation import Adapted, adapted, computes_in_bfloat16, frozen_in_half_precision


@pytest.mark.parametrize(
    ("capability", "quick"), [("AVX512", True), ("AVX2", False), ("NO AVX", False), ("DEFAULT", False)]
)
def test_a_processor_without_wide_vectors_learns_in_float32(
    capability: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert computes_in_bfloat16(torch.device("cpu")) is quick


def test_what_a_gpu_can_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: not including_emulation)
    assert computes_in_bfloat16(torch.device("cuda"))
    assert not computes_in_bfloat16(torch.device("mps"))


IDS = torch.tensor([[2, 5, 7, 3], [2, 15, 16, 3]])


def states(module: nn.Module) -> torch.Tensor:
    result: torch.Tensor = module(input_ids=IDS).last_hidden_state
    return result


def drawn(module: nn.Module) -> nn.Module:
    """As training would leave it: B begins at zero."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(3)
        for weight in module.parameters():
            if weight.requires_grad:
                weight.normal_(std=0.3)
    return module


def test_an_adapter_that_was_not_trained_changes_nothing(bert: FrozenModel) -> None:
    assert torch.equal(states(adapted(bert.base, 3)), states(bert.base))


def test_the_adapter_adds_twice_b_a_x() -> None:
    linear = nn.Linear(2, 1)
    result = Adapted(linear.requires_grad_(False), 1)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, 10.0]]))
        linear.bias.copy_(torch.tensor([100.0]))
        result.down.copy_(torch.tensor([[2.0, 3.0]]))
        result.up.copy_(torch.tensor([[0.5]]))
    # 100 + 1 + 10 = 111 of the layer itself, and 2 · 0.5 · (2 + 3) = 5
    assert result(torch.tensor([1.0, 1.0])).tolist() == [116.0]


def test_only_the_adapters_learn_one_pair_per_linear_layer(bert: FrozenModel) -> None:
    names = set(trained_parameters(adapted(bert.base, 3)))
    linear = {name for name, part in bert.base.named_modules() if isinstance(part, nn.Linear)}
    assert names == {f"{name}.{part}" for name in linear for part in ("down", "up")}
    assert len(linear) == 2 * 6 + 1  # query, key, value, attention output, intermediate, output; and the pooler


def test_the_frozen_weights_are_shared_and_get_no_gradient(bert: FrozenModel) -> None:
    adapted_encoder = drawn(adapted(bert.base, 3))
    own = {weight.data_ptr() for weight in bert.base.parameters()}
    fixed = [weight for weight in adapted_encoder.parameters() if not weight.requires_grad]
    assert {weight.data_ptr() for weight in fixed} == own
    states(adapted_encoder).sum().backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is None for weight in bert.base.parameters())
    trained = {name: weight for name, weight in adapted_encoder.named_parameters() if weight.requires_grad}
    assert {name for name, weight in trained.items() if weight.grad is None} == {"pooler.dense.down", "pooler.dense.up"}


def test_the_model_itself_does_not_notice(bert: FrozenModel) -> None:
    before, weights, layers = states(bert.base), fingerprint(bert), [type(part) for part in bert.base.modules()]
    assert not torch.allclose(states(drawn(adapted(bert.base, 3))), before, atol=1e-2)
    assert torch.equal(states(bert.base), before)
    assert fingerprint(bert) == weights
    assert [type(part) for part in bert.base.modules()] == layers


def test_the_same_a_and_b_give_pefts_states(bert: FrozenModel) -> None:
    ours = drawn(adapted(bert.base, 3))
    kinds = ["query", "key", "value", "dense"]
    theirs = inject_adapter_in_model(LoraConfig(r=3, lora_alpha=6, target_modules=kinds), deepcopy(bert.base)).eval()
    with torch.no_grad():
        for name, part in ours.named_modules():
            if isinstance(part, Adapted):
                layer = theirs.get_submodule(name)
                layer.lora_A["default"].weight.copy_(part.down)
                layer.lora_B["default"].weight.copy_(part.up)
    assert states(ours).detach().numpy() == pytest.approx(states(theirs).detach().numpy(), abs=1e-5)


def test_a_is_drawn_from_torchs_generator_and_b_is_zero(bert: FrozenModel) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        first, second = trained_parameters(adapted(bert.base, 2)), trained_parameters(adapted(bert.base, 2))
        torch.manual_seed(5)
        again = trained_parameters(adapted(bert.base, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert all(torch.equal(first[name], second[name]) == name.endswith(".up") for name in first)
    assert not any(weight.any() for name, weight in first.items() if name.endswith(".up"))


def test_in_half_precision_the_frozen_weights_are_exact_again_afterwards(bert: FrozenModel) -> None:
    encoder = drawn(adapted(bert.base, 3))
    before, own = fingerprint(bert), states(encoder)
    with frozen_in_half_precision(encoder):
        types = {name: weight.dtype for name, weight in encoder.named_parameters()}
        half = {name for name, dtype in types.items() if dtype == torch.bfloat16}
        with torch.autocast("cpu", torch.bfloat16):
            rounded = states(encoder)
    assert {name for name in types if name.endswith(".linear.weight")} <= half
    assert half
    assert not any({"embeddings", "LayerNorm", "down", "up"} & set(name.split(".")) for name in half)
    assert not torch.equal(rounded, own)
    assert torch.allclose(rounded.float(), own, atol=0.2)
    assert torch.equal(states(encoder), own)
    assert fingerprint(bert) == before


def test_after_an_error_the_frozen_weights_are_exact_too(bert: FrozenModel) -> None:
    encoder, before = drawn(adapted(bert.base, 3)), fingerprint(bert)
    with pytest.raises(ZeroDivisionError), frozen_in_half_precision(encoder):
        raise ZeroDivisionError
    assert fingerprint(bert) == before
