import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.errors import Cancelled, ExplanationError
from explainers.models.batching import (
    MIN_ROWS,
    bytes_per_row,
    free_memory,
    halved_until_it_fits,
    in_batches,
    map_rows_in_threads,
    memory_errors,
    rows_per_batch,
    single_thread_pool,
)
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel


@pytest.mark.parametrize(
    ("length", "device", "rows"),
    [(16, "cpu", 128), (2048, "cpu", 1), (5000, "cpu", 1), (0, "cpu", 2048), (64, "cuda", 1024), (64, "mps", 128)],
)
def test_a_batch_holds_as_many_rows_as_fit(length: int, device: str, rows: int) -> None:
    assert rows_per_batch(length, device) == rows


CONFIG = SimpleNamespace(hidden_size=100, intermediate_size=400, num_attention_heads=1, num_hidden_layers=3)


def test_a_row_takes_what_its_layer_holds_and_with_a_gradient_what_all_hold() -> None:
    # 10 tokens · (8 · 100 + 2 · 400 + 2 · 1 · 10) numbers of 4 bytes
    assert bytes_per_row(CONFIG, 10, gradient=False) == 64_800
    assert bytes_per_row(CONFIG, 10, gradient=True) == 3 * 64_800
    assert bytes_per_row(object(), 10, gradient=False) == 0  # not known: then the usual number


@pytest.mark.parametrize(
    ("named", "heads"), [({"decoder_layers": 2, "decoder_attention_heads": 2}, 2), ({"num_decoder_layers": 2}, 1)]
)
def test_a_row_takes_what_the_decoder_of_an_encoder_decoder_holds(named: dict[str, int], heads: int) -> None:
    config = SimpleNamespace(**vars(CONFIG), **named)
    # 10 tokens · (13 · 100 + 2 · 400 + 4 · heads · 10) numbers of 4 bytes
    reading = 84_000 + 1_600 * heads
    assert bytes_per_row(config, 10, gradient=False) == reading
    assert bytes_per_row(config, 10, gradient=True) == 3 * 64_800 + 2 * reading


def test_a_gpu_s_batch_fits_into_half_of_its_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (1_000_000, 80_000_000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _device: 500_000)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _device: 200_000)
    free = free_memory(torch.device("cuda:0"))
    assert free == 1_300_000
    assert free_memory(torch.device("cpu")) is None
    assert rows_per_batch(10, "cuda", 64_800, free) == 10  # 650,000 / 64,800
    assert rows_per_batch(10, "cuda", 0, free) == rows_per_batch(10, "cuda") == 6553
    assert rows_per_batch(10, "cuda", 64_800, 100) == 1


def test_a_model_asks_for_the_memory_of_its_device(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = bert.encode("the film was long")
    length = len(encoding.ids)
    usual = bert.rows_at_once(encoding)
    assert usual == bert.rows_of_masks(encoding, "mask") == 2048 // length
    row = bytes_per_row(bert.base.config, length, gradient=False)
    monkeypatch.setattr("explainers.models.batching.free_memory", lambda _device: 20 * row)
    assert bert.rows_of_masks(encoding, "mask") == 10
    assert bert.rows_at_once(encoding) == 5  # two layers


class Memory:
    """A model that holds `fits` rows at most and remembers the sizes of the batches that it received."""

    def __init__(self, fits: int) -> None:
        self.fits = fits
        self.sizes: list[int] = []

    def __call__(self, rows: Sequence[int]) -> Tensor:
        self.sizes.append(len(rows))
        if len(rows) > self.fits:
            raise torch.OutOfMemoryError("injected")
        return torch.tensor(rows) * 10


def test_without_trouble_the_batches_have_the_size_asked_for() -> None:
    model = Memory(fits=100)
    batches = [(list(rows), result.tolist()) for rows, result in in_batches([4, 2, 0, 1, 3], 2, model)]
    assert batches == [([4, 2], [40, 20]), ([0, 1], [0, 10]), ([3], [30])]


@pytest.mark.parametrize(
    ("fits", "sizes"),
    [(3, [8, 4, 2, 2, 2, 2, 2]), (1, [8, 4, 2, *[1] * 10]), (4, [8, 4, 4, 2]), (8, [8, 2])],
)
def test_a_batch_that_does_not_fit_is_halved_and_nothing_is_lost(fits: int, sizes: list[int]) -> None:
    model = Memory(fits)
    batches = [row for rows, _ in in_batches(range(10), 8, model) for row in rows]
    assert batches == list(range(10))
    assert model.sizes == sizes


def test_when_not_even_one_row_fits_a_sentence_says_what_to_do() -> None:
    model = Memory(fits=0)
    with pytest.raises(ExplanationError, match=r"not enough memory.*Shorten the text"):
        list(in_batches(range(10), 8, model))
    assert model.sizes == [8, 4, 2, 1]


def test_another_error_is_not_taken_for_a_lack_of_memory() -> None:
    def broken(_rows: Sequence[int]) -> Tensor:
        raise RuntimeError("a shape is wrong")

    with pytest.raises(RuntimeError, match="a shape is wrong"):
        list(in_batches(range(10), 8, broken))


@pytest.mark.parametrize(("fits", "sizes"), [(8, [8]), (3, [8, 4, 2]), (1, [8, 4, 2, 1])])
def test_passes_with_a_gradient_are_halved_too(fits: int, sizes: list[int]) -> None:
    model = Memory(fits)
    assert halved_until_it_fits(8, lambda size: model(range(size))).tolist()[:1] == [0]
    assert model.sizes == sizes


def test_passes_with_a_gradient_end_with_the_same_sentence() -> None:
    with pytest.raises(ExplanationError, match="not enough memory"):
        halved_until_it_fits(8, lambda size: Memory(fits=0)(range(size)))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), ExplanationError),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), ExplanationError),
        (RuntimeError("a shape is wrong"), RuntimeError),
        (ExplanationError("another sentence"), ExplanationError),
    ],
)
def test_only_a_lack_of_memory_becomes_the_sentence_about_it(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected) as raised, memory_errors():
        raise error
    assert ("not enough memory" in str(raised.value)) == ("memory" in str(error))


def test_a_classifier_short_of_memory_gives_the_same_answers(
    bag: Callable[..., FrozenModel], masks_of: Callable[[int], np.ndarray]
) -> None:
    model, meter = bag({"good": 2.0, "bad": -1.0}), Meter()
    encoding = model.encode("good bad good bad")
    expected = model.probabilities(encoding, masks_of(4))
    model.module.memory = 3
    assert (model.metered(meter).probabilities(encoding, masks_of(4)) == expected).all()
    assert meter.calls == 16  # what did not fit is not counted


def test_a_stopped_run_ends_before_its_next_batch(
    bag: Callable[..., FrozenModel], masks_of: Callable[[int], np.ndarray], small_batches: None, stopping: Meter
) -> None:
    model = bag({"good": 2.0, "bad": -1.0})
    encoding = model.encode("good bad good bad")  # 6 tokens: 5 rows fit into 32 tokens
    with pytest.raises(Cancelled):
        model.metered(stopping).probabilities(encoding, masks_of(4))
    assert model.module.attention_received.rows == [5]
    assert stopping.calls == 5


@pytest.fixture(params=[2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(1)


@pytest.mark.parametrize("rows", [1, MIN_ROWS, 2 * MIN_ROWS, 2 * MIN_ROWS + 1, 37])
def test_the_results_of_all_rows_come_in_order(threads: int, rows: int) -> None:
    inputs, calls = torch.arange(rows), []

    def work(part: slice) -> torch.Tensor:
        calls.append((len(inputs[part]), threading.current_thread().name))
        return inputs[part] ** 2

    assert torch.equal(map_rows_in_threads(work, rows), inputs**2)
    assert len(calls) == max(1, min(threads, rows // MIN_ROWS))
    assert sum(count for count, _ in calls) == rows
    assert max(count for count, _ in calls) - min(count for count, _ in calls) <= 1
    assert all(name.startswith("row") for _, name in calls) == (len(calls) > 1)


def test_a_pool_thread_has_one_torch_thread_and_all_others_keep_theirs(threads: int) -> None:
    thread_counts: list[int] = []

    def work(part: slice) -> torch.Tensor:
        thread_counts.append(torch.get_num_threads())
        return torch.zeros(part.stop - part.start)

    for _ in range(3):
        map_rows_in_threads(work, 40)
    assert set(thread_counts) == {1}
    assert torch.get_num_threads() == threads
    with ThreadPoolExecutor(1) as later:
        assert later.submit(torch.get_num_threads).result() == threads


def test_with_one_thread_nothing_is_distributed() -> None:
    assert torch.get_num_threads() == 1
    names = []

    def work(part: slice) -> torch.Tensor:
        names.append(threading.current_thread().name)
        return torch.zeros(part.stop - part.start)

    assert len(map_rows_in_threads(work, 100)) == 100
    assert names == [threading.current_thread().name]


def test_an_error_in_a_thread_reaches_the_caller(threads: int) -> None:
    def work(part: slice) -> torch.Tensor:
        if part.start:
            raise RuntimeError("can't allocate memory")
        return torch.zeros(part.stop)

    with pytest.raises(RuntimeError, match="can't allocate memory"):
        map_rows_in_threads(work, 40)


def test_the_pool_is_created_once(threads: int) -> None:
    assert single_thread_pool(threads) is single_thread_pool(threads)
