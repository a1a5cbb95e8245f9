"""A CUDA GPU gives the numbers of the CPU: methods, metrics, narrators, fits, precision and memory.

Needs nothing of the other tests, so that it runs without the app's libraries, by
`python -m pytest --noconftest tests/models/test_cuda.py`.
"""

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from explainers.api import explain
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.fit import fit_to
from explainers.methods.registry import METHODS
from explainers.models.batching import TOO_LITTLE_MEMORY
from explainers.models.catalog import load, resolve_device
from explainers.models.frozen_model import FrozenModel
from explainers.models.tasks import TASKS
from explainers.results.comparison import Comparison
from explainers.studies.speed.sizes import ModelSize, random_model, text_of
from explainers.training.spec import FitSpec

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")

ENCODER = ModelSize("small encoder", 64, 2, 4, 128)
DECODER = ModelSize("small decoder", 64, 2, 4, 128, causal=True)
CLOSE = 1e-3  # sums of fp32 in another order, through some layers and the methods' own arithmetic
COUNTED = {"dffot"}  # metrics that count units, which a near tie changes by a whole one
TRAINED = {"faml"}  # fine-tuned on the input by some steps, in which rounding grows
TEXT = text_of(9)


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    """Nothing of a test stays on the GPU."""
    yield
    torch.cuda.empty_cache()


def on_both(size: ModelSize) -> tuple[FrozenModel, FrozenModel]:
    """The same weights on the CPU and on the GPU."""
    model = random_model(size, torch.device("cpu"))
    other = random_model(size, torch.device("cpu"))
    return model, replace(other, device=resolve_device("cuda"))


def assert_alike(cpu: Comparison, gpu: Comparison) -> None:
    assert [result.method for result in gpu.results] == [result.method for result in cpu.results]
    assert not gpu.failures
    assert gpu.probabilities == pytest.approx(cpu.probabilities, abs=1e-5)
    for one, other in zip(cpu.results, gpu.results, strict=True):
        if one.method in TRAINED:
            assert np.corrcoef(one.attribution.scores, other.attribution.scores)[0, 1] > 0.95
            continue
        scale = max(np.abs(one.attribution.scores).max(), 1e-6)
        np.testing.assert_allclose(
            np.array(other.attribution.scores) / scale,
            np.array(one.attribution.scores) / scale,
            atol=5 * CLOSE,
            err_msg=one.method,
        )
        for name, value in one.metrics.items():
            if name not in COUNTED:
                assert other.metrics[name] == pytest.approx(value, abs=CLOSE, nan_ok=True), (one.method, name)


def every_method() -> list[str]:
    """All that need neither a fit nor a person, also those that are not chosen unless somebody asks."""
    return [spec.id for spec in METHODS if not spec.weights_of and not spec.is_supplied and not spec.is_joint]


@pytest.mark.parametrize("size", [ENCODER, DECODER], ids=lambda size: size.name)
def test_every_method_gives_on_the_gpu_what_it_gives_on_the_cpu(size: ModelSize) -> None:
    cpu, gpu = (explain(model, TEXT, methods=every_method(), samples=60, steps=10) for model in on_both(size))
    assert_alike_or_refused(cpu, gpu)


def assert_alike_or_refused(cpu: Comparison, gpu: Comparison) -> None:
    """A method that cannot explain the model says so on both."""
    assert [failure.method for failure in gpu.failures] == [failure.method for failure in cpu.failures]
    assert_alike(replace(cpu, failures=()), replace(gpu, failures=()))


def test_a_pair_and_every_operator_on_the_gpu() -> None:
    cpu, gpu = on_both(ENCODER)
    pair = (text_of(5), text_of(4))
    for erasure in cpu.erasures:
        assert_alike_or_refused(*(explain(model, pair, erasure=erasure, samples=40, steps=5) for model in (cpu, gpu)))


def test_an_image_with_its_text_is_explained_on_the_gpu_with_what_was_fitted() -> None:
    example = TASKS["scenes"].example()
    cpu, gpu = (explain(load("scenes", device=device), example, samples=60, steps=10) for device in ("cpu", "cuda"))
    assert {"aml", "cimi", "ciem", "ivra"} <= {result.method for result in gpu.results}
    assert_alike(cpu, gpu)
    assert [one.text for one in gpu.narratives] == [one.text for one in cpu.narratives]


@pytest.mark.parametrize("size", [ENCODER, DECODER], ids=lambda size: size.name)
def test_bfloat16_is_used_where_its_check_passes_and_is_close(size: ModelSize) -> None:
    _, gpu = on_both(size)
    encoding = gpu.encode(TEXT)
    masks = np.random.default_rng(0).random((50, len(encoding.units))) > 0.5
    for erasure in gpu.erasures:
        exact = gpu.probabilities(encoding, masks, erasure)
        rounded = replace(gpu, rounds=True).probabilities(encoding, masks, erasure)
        assert not np.array_equal(exact, rounded)
        np.testing.assert_allclose(rounded, exact, atol=0.05)
    asked = gpu.in_precision("bfloat16")
    rounds = asked.used_precision(encoding).precision == "bfloat16"
    assert np.array_equal(
        asked.probabilities(encoding, masks), replace(gpu, rounds=rounds).probabilities(encoding, masks)
    )


@pytest.mark.parametrize("method", ["aml", "cimi", "ciem", "ivra"])
def test_a_fit_on_the_gpu_explains_there_and_on_the_cpu(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path / "store"))
    cpu, gpu = on_both(ENCODER)
    texts = [Example(" ".join(np.random.default_rng(number).permutation(TEXT.split()))) for number in range(24)]
    spec = FitSpec(method, gpu.name, settings=(("epochs", "1"),))
    card = fit_to(spec, gpu, texts[:16], texts[16:], tmp_path / "run", resume=False)
    assert card["machine"]["device"].startswith("cuda")
    assert_alike(*(explain(model, TEXT, methods=[method]) for model in (cpu, gpu)))


def test_batches_shrink_to_the_memory_that_is_free() -> None:
    _, gpu = on_both(ENCODER)
    encoding = gpu.encode(text_of(100))
    masks = np.random.default_rng(0).random((3000, 100)) > 0.5
    wanted, at_most = gpu.probabilities(encoding, masks), gpu.rows_of_masks(encoding, "mask")
    filled = fill(left=40 * 2**20)
    assert gpu.rows_of_masks(encoding, "mask") < at_most
    assert np.allclose(gpu.probabilities(encoding, masks), wanted, atol=1e-5)
    del filled


def test_no_memory_at_all_is_a_sentence() -> None:
    _, gpu = on_both(replace(ENCODER, hidden=2048, wide=8192))
    encoding = gpu.encode(text_of(400))
    filled = fill(left=2 * 2**20)
    with pytest.raises(ExplanationError, match=TOO_LITTLE_MEMORY[:40]):
        gpu.probabilities(encoding, np.random.default_rng(0).random((2, 400)) > 0.5)
    del filled


def fill(left: int) -> list[torch.Tensor]:
    """Tensors that leave about so many bytes of the GPU free."""
    torch.cuda.empty_cache()
    filled = []
    for part in (2**30, 2**24, 2**20):
        while torch.cuda.mem_get_info()[0] - left > part:
            filled.append(torch.empty(part, dtype=torch.uint8, device="cuda"))
    return filled


def test_a_model_that_is_let_go_leaves_the_gpu_as_it_was() -> None:
    def left_behind() -> int:
        _, gpu = on_both(ENCODER)
        explain(gpu, TEXT, samples=20, steps=5)
        weights = sum(weight.nbytes for weight in gpu.module.parameters())
        assert torch.cuda.memory_allocated() > weights
        del gpu
        gc.collect()
        return torch.cuda.memory_allocated()

    workspace = left_behind()  # of cuBLAS, for every thread that has multiplied matrices
    assert left_behind() <= workspace + 2**20
