"""In which precision is learned."""

import pytest
import torch

from explainers.models.optimisation import computes_in_bfloat16


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
